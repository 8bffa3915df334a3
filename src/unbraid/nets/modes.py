"""Networks looked at in evaluation mode while they are in training."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["judged"]


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
