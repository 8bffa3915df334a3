"""Any bijection as the tools here see it: forward, inverse, and the split into semantic and nuisance outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import judged

__all__ = ["Bijective", "Split", "as_bijective", "outputs_of", "to_inputs", "to_pictures", "undone"]

BATCH = 256


@runtime_checkable
class Bijective(Protocol):
    """What a network must offer; :class:`unbraid.nets.bijections.FiRevNet` does."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs ``[n, d]`` and log determinants ``[n]``."""
        ...

    def inverse(self, z: Tensor) -> Tensor:
        """The inputs with these outputs."""
        ...

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Semantic and nuisance part of outputs, which joined in this order are the outputs."""
        ...


class Split:
    """A flow by its two directions, with the first ``classes`` numbers of its flat output as logits."""

    def __init__(
        self, forward: Callable[[Tensor], Any], inverse: Callable[[Tensor], Any], classes: int, module: Any = None
    ) -> None:
        if classes < 1:
            raise UsageError(f"classes must be at least 1, got {classes}")
        self.classes, self.module = classes, module
        self._forward, self._inverse = forward, inverse
        self._shape: torch.Size | None = None

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = self._forward(x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise UsageError(f"a flow must give (z, log_det), got {type(found).__name__}")
        z, log_det = found
        self._shape = z.shape[1:]
        return z.flatten(1), log_det

    def inverse(self, z: Tensor) -> Tensor:
        found = self._inverse(z if self._shape is None else z.unflatten(1, self._shape))
        x: Tensor = found[0] if isinstance(found, tuple) else found  # some give the determinant of the way back too
        return x

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        return z[:, : self.classes], z[:, self.classes :]


def as_bijective(net: Any, classes: int | None = None) -> Bijective:
    """A network of this library, a run of ``firevnet`` or ``ice``, or one's own flow, as the tools here take it.

    Of other objects ``classes`` says how many of the first outputs are logits. Known are those that split, those with
    ``forward(x) -> (z, log_det)`` and ``inverse(z)`` (a tensor, or a pair that begins with it), transforms of zuko
    (``call_and_ladj``, ``inv``; a lazy flow is called without a context first), and networks of FrEIA, which go
    backwards with ``rev=True``.
    """
    if hasattr(net, "can") and hasattr(net, "objective"):
        return _of_run(net)
    if all(hasattr(net, name) for name in ("inverse", "split")) and callable(net) and not isinstance(net, Tensor):
        found: Bijective = net
        return found
    if classes is None:
        raise UsageError(
            f"{type(net).__name__} does not say which outputs are logits; give classes, the number of its first "
            "outputs that are"
        )
    module = net if isinstance(net, nn.Module) else None
    if hasattr(net, "inverse"):
        return Split(net, net.inverse, classes, module)
    transform = _zuko_transform(net)
    if transform is not None:
        return Split(transform.call_and_ladj, lambda z: transform.inv(z), classes, module)
    if hasattr(net, "dims_in") or hasattr(net, "module_list"):
        return Split(lambda x: net(x), lambda z: net(z, rev=True), classes, module)
    raise UsageError(
        f"cannot invert {type(net).__name__}: expected forward(x) -> (z, log_det) with inverse(z), a zuko transform "
        "or a FrEIA network; a function of one's own goes into unbraid.invariance.Split(forward, inverse, classes)"
    )


def _of_run(run: Any) -> Bijective:
    model = run.model
    if not isinstance(getattr(model, "net", None), Bijective):
        raise UsageError(
            f"{run.path} is not bijective: a model trained by {run.objective.name!r} cannot be inverted exactly; "
            "`unbraid train firevnet` gives one that can"
        )
    net: Bijective = model.net
    return net


def _zuko_transform(net: Any) -> Any:
    if hasattr(net, "call_and_ladj") and hasattr(net, "inv"):
        return net
    lazy = getattr(net, "transform", None)
    if lazy is None:
        return None
    transform = lazy if hasattr(lazy, "call_and_ladj") else lazy()
    return transform if hasattr(transform, "call_and_ladj") else None


def to_inputs(run: Any, images: np.ndarray) -> Tensor:
    """Images as data sets give them, as the bijection of a run sees them: padded, and bytes brought to [-1, 1]."""
    from unbraid.training import numerics

    with torch.no_grad():
        x: Tensor = run.model.grid(numerics.to_tensor(images, run.device))
    return x


def to_pictures(run: Any, x: Tensor) -> np.ndarray:
    """Inputs of a run's bijection as uint8 images: margins cut off, values rounded and clipped. Vectors stay floats.

    What is cut and clipped is lost: logits of the pictures are no longer exactly those of x.
    """
    from unbraid.training import numerics

    return numerics.to_array(run.model.grid.back(x))


@torch.no_grad()
def outputs_of(net: Bijective, x: Tensor, *, batch_size: int = BATCH) -> Tensor:
    """Outputs ``[n, d]`` of inputs, in evaluation mode."""
    with looked_at(net):
        return torch.cat([net(part)[0] for part in x.split(batch_size)])


@torch.no_grad()
def undone(net: Bijective, z: Tensor, *, batch_size: int = BATCH) -> Tensor:
    """The inputs of outputs ``[n, d]``, in evaluation mode."""
    with looked_at(net):
        return torch.cat([net.inverse(part) for part in z.split(batch_size)])


@contextmanager
def looked_at(net: Any) -> Iterator[None]:
    """Whatever is a module in it is in evaluation mode, and in the mode it was in afterwards."""
    module = net if isinstance(net, nn.Module) else getattr(net, "module", None)
    with judged(module) if isinstance(module, nn.Module) else nullcontext():
        yield


def join(semantic: Tensor, nuisance: Tensor) -> Tensor:
    """Outputs with these parts."""
    return torch.cat([semantic, nuisance], 1)
