"""Weights that others released, read without running code in them."""

from pathlib import Path

import torch
from torch import Tensor

from unbraid.errors import UsageError

__all__ = ["read_state_dict"]


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Names and tensors of a state dict: safetensors, or what ``torch.save`` wrote, also in its old format."""
    if not path.is_file():
        raise UsageError(f"weights {str(path)!r} do not exist; give the path of a state dict")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged file does to the readers
        raise UsageError(f"weights {str(path)!r} are not a readable state dict: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise UsageError(f"weights {str(path)!r} must hold a state dict: names and tensors")
    return found
