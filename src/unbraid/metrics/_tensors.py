"""Networks of others as encoders: modules, and functions on float tensors. torch is used here, but never imported."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from unbraid.errors import UsageError

__all__ = ["adapted", "takes_tensors"]


def takes_tensors(thing: Any) -> bool:
    """Whether something is a torch module, a method of one, or says of its first argument that it is a tensor."""
    if _module_of(thing) is not None:
        return True
    hints = getattr(thing, "__annotations__", {})
    return "Tensor" in str(next(iter(hints.values()), ""))


def adapted(function: Callable[[Any], Any], owner: Any = None) -> Callable[[np.ndarray], Any]:
    """A function from images uint8 ``[n, h, w, c]`` to arrays, whichever of two kinds of input it takes.

    Modules see float tensors ``[n, c, h, w]`` in [0, 1] on their device, in evaluation mode and without gradients.
    Any other function sees the arrays; where it refuses these, it sees such tensors. ``owner`` is the module that
    ``function`` is a part of, where it does not say so itself.
    """
    if takes_tensors(function) or takes_tensors(owner):
        return lambda images: _on_tensors(function, images, owner)
    tensors = False

    def call(images: np.ndarray) -> Any:
        nonlocal tensors
        if tensors:
            return _on_tensors(function, images)
        try:
            return function(images)
        except UsageError:
            raise
        except Exception as refused:
            if "torch" not in sys.modules:
                raise
            try:
                found = _on_tensors(function, images)
            except Exception as error:
                raise UsageError(
                    f"{function!r} takes neither uint8 images {list(images.shape)} ({refused!r}) nor float tensors "
                    f"[n, c, h, w] ({error!r})"
                ) from refused
            tensors = True
            return found

    return call


def _module_of(thing: Any) -> Any:
    """The torch module that something is, or is a method of; ``None`` if there is none."""
    torch = sys.modules.get("torch")
    owner = getattr(thing, "__self__", thing)
    return owner if torch is not None and isinstance(owner, torch.nn.Module) else None


def _on_tensors(function: Callable[[Any], Any], images: np.ndarray, owner: Any = None) -> Any:
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise UsageError(f"{function!r} takes tensors, and torch is not imported")
    module = _module_of(function if owner is None else owner)
    like = None if module is None else next((p for p in module.parameters() if p.is_floating_point()), None)
    floats = images if images.dtype.kind == "f" else np.moveaxis(images, -1, 1).astype(np.float32) / np.float32(255)
    inputs = torch.from_numpy(np.array(floats, dtype=np.float32, order="C"))
    modes = [] if module is None else [(part, part.training) for part in module.modules()]
    try:
        if module is not None:
            module.eval()
        with torch.no_grad():
            found = function(inputs if like is None else inputs.to(device=like.device, dtype=like.dtype))
    finally:
        for part, training in modes:
            part.training = training
    if isinstance(found, tuple | list | dict):
        raise UsageError(
            f"{type(module or function).__name__} gives a {type(found).__name__} of {len(found)}, not codes [n, d]: "
            "pass a function that picks them, such as lambda images: model(images)[0] (after model.eval())"
        )
    return found
