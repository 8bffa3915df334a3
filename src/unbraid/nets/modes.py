"""Networks looked at in evaluation mode while they are in training."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.parameter import is_lazy

__all__ = ["frozen", "judged"]


@contextmanager
def judged(model: nn.Module) -> Iterator[None]:
    """A model in evaluation mode; afterwards each of its modules is in the mode it was in, frozen ones too."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def frozen(model: nn.Module, but: nn.Module | None = None) -> Iterator[None]:
    """No gradient is computed for the weights of a model, except those of one of its parts."""
    kept = set() if but is None else set(but.parameters())
    # What has no shape yet, before the first batch, cannot be frozen and need not be.
    known = (weight for weight in model.parameters() if not is_lazy(weight))
    weights = [weight for weight in known if weight.requires_grad and weight not in kept]
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)
