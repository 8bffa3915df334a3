"""What differs between machines: threads, memory, precision, devices."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from torch import Tensor

__all__ = ["autocast", "device", "setup", "to_tensor"]


def setup(threads: int = 1) -> None:
    torch.set_num_threads(threads)


def device(name: str = "auto") -> torch.device:
    return torch.device("cpu" if name == "auto" else name)


def autocast(device: torch.device) -> contextlib.AbstractContextManager[None]:
    del device
    return contextlib.nullcontext()


def to_tensor(images: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(images).to(device).permute(0, 3, 1, 2).float().div_(255)
