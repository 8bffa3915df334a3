"""What differs between machines: threads, memory allocator, device, precision, and the way of images to the device."""

import ctypes
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid import nets
from unbraid.errors import UsageError, unknown_name

__all__ = [
    "PRECISIONS",
    "autocast",
    "block_size",
    "cores",
    "device",
    "in_batches",
    "native_bf16",
    "precision",
    "setup",
    "to_array",
    "to_tensor",
]

PRECISIONS = ("auto", "bf16", "fp32")
MOST_THREADS = 1024
CACHED = 64
"""Images whose features stay in a CPU's cache between two convolutions."""

# Parameters of glibc's mallopt, from malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def setup(threads: int = 1) -> None:
    """Prepare this process for training: how many threads it uses, and an allocator that keeps its memory.

    One thread per process is the default: runs side by side in processes are faster than threads in one, and several
    threads that share cores with other processes collapse. Calling it again is harmless.
    """
    if threads < 1:
        raise UsageError(f"threads must be at least 1, got {threads}")
    if threads > MOST_THREADS:
        raise UsageError(f"threads must be at most {MOST_THREADS}, got {threads}; this machine has {cores()} cores")
    torch.set_num_threads(threads)
    _keep_memory()


@cache
def _keep_memory() -> bool:
    """Let freed memory be used again instead of going back to the system; whether the C library could be told so.

    A training step allocates the same few megabytes over and over. By default glibc maps and unmaps every large block,
    and a fifth of the step goes into page faults. Other C libraries are left alone.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # Older versions refuse a threshold above 32 MB.
    mapped = mallopt(_MMAP_THRESHOLD, 1 << 30) or mallopt(_MMAP_THRESHOLD, 1 << 25)
    return bool(mapped and mallopt(_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_TOP_PAD, 1 << 26))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device(name: str = "auto") -> torch.device:
    """The device by name (``cpu``, ``cuda``, ``cuda:1``, ``mps``), or the best there is."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, there in available.items() if there))
    kind = name.partition(":")[0]
    if kind not in available:
        raise unknown_name("device", name, ("auto", *available))
    if not available[kind]:
        raise UsageError(f"device {name!r} is not available here; try 'auto' or 'cpu'")
    number = name.partition(":")[2]
    if ":" in name and not number.isdecimal():
        raise UsageError(f"device {name!r}: expected a number after the colon, as in '{kind}:0'")
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise UsageError(
            f"device {name!r} is not available here: there are {torch.cuda.device_count()}, from cuda:0 on"
        )
    return torch.device(name)


@cache
def native_bf16() -> bool:
    """Whether this CPU multiplies bfloat16 numbers itself (AVX-512 BF16 or AMX); emulated, float32 is faster."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text(encoding="utf-8").split() if info.exists() else []
    return "avx512_bf16" in flags or "amx_bf16" in flags


def precision(where: torch.device, name: str = "auto") -> torch.dtype:
    """The number type of matrix products and convolutions: bfloat16 where the hardware has it, else float32.

    Weights, optimiser state, posteriors and losses are float32 in both cases.
    """
    if name not in PRECISIONS:
        raise unknown_name("precision", name, PRECISIONS)
    if name == "auto":
        cuda = where.type == "cuda" and torch.cuda.is_bf16_supported()
        name = "bf16" if cuda or (where.type == "cpu" and native_bf16()) else "fp32"
    return torch.bfloat16 if name == "bf16" else torch.float32


@contextmanager
def autocast(where: torch.device, name: str = "auto") -> Iterator[None]:
    """Forward passes inside run in the given :func:`precision` and with this library's fast convolutions.

    Wrap the forward pass and the loss, not ``backward()``. For evaluation at full precision use ``"fp32"``.
    """
    dtype = precision(where, name)
    with nets.fast_kernels(), torch.autocast(where.type, torch.bfloat16, enabled=dtype is torch.bfloat16):
        yield


def to_tensor(images: np.ndarray, where: torch.device | str = "cpu") -> Tensor:
    """Images uint8 ``[n, h, w, c]`` as networks see them: float32 ``[n, c, h, w]`` in [0, 1].

    The memory stays channels last, which the convolutions want anyway. Vectors, floats ``[n, d]``, stay as they are.
    """
    if images.ndim == 2 and images.dtype.kind == "f":
        return torch.tensor(images, dtype=torch.float32, device=where)
    if images.dtype != np.uint8 or images.ndim != 4:
        raise UsageError(
            f"images must be uint8 [n, h, w, c], or vectors floats [n, d]; got {images.dtype} {list(images.shape)}"
        )
    if not images.flags.writeable or min(images.strides) < 0:
        images = images.copy()  # torch tensors cannot be read-only, nor run backwards
    return torch.from_numpy(images).to(where).permute(0, 3, 1, 2).to(torch.float32).div_(255)


def to_array(images: Tensor) -> np.ndarray:
    """The way back from [0, 1] to uint8 ``[n, h, w, c]``, rounded; values outside are clipped. Vectors stay floats."""
    if images.ndim == 2:
        return images.float().cpu().numpy()
    scaled = images.detach().float().mul(255).round_().clamp_(0, 255)
    return scaled.to(torch.uint8).permute(0, 2, 3, 1).contiguous().cpu().numpy()


def block_size(model: nn.Module, size: int, where: torch.device) -> int:
    """How many images go through a network at a time: on the CPU, torch's convolutions want what fits its cache."""
    own = {layer for part in model.modules() if isinstance(part, nets.Convs) and part.in_cache() for layer in part}
    convolves = any(isinstance(layer, nn.Conv2d) and layer not in own for layer in model.modules())
    return min(size, CACHED) if where.type == "cpu" and convolves else size


def in_batches(function: Callable[[np.ndarray], Any], rows: np.ndarray, size: int, where: torch.device) -> Any:
    """Apply a function to rows in batches, in full precision and without gradients, and join what it gives.

    It may return tensors, arrays, or dictionaries of either; arrays come back.
    """
    if size < 1:
        raise UsageError(f"batch_size must be at least 1, got {size}")
    with torch.inference_mode(), autocast(where, "fp32"):
        parts = [_arrays(function(rows[start : start + size])) for start in range(0, len(rows), size)]
    if isinstance(parts[0], dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)


def _arrays(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _arrays(value) for key, value in found.items()}
    return found.float().cpu().numpy() if isinstance(found, Tensor) else found
