"""What a penalty is. Importing this module does not import torch, so that the command line stays quick."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from unbraid.errors import UsageError, unknown_name
from unbraid.objectives.checks import check_not_negative
from unbraid.options import Named, check_options
from unbraid.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import Autoencoder
    from unbraid.objectives.autoencoder import AutoencoderObjective
    from unbraid.objectives.base import Codes
    from unbraid.problem import Problem

__all__ = ["Penalty", "View", "get", "make", "names", "register"]


@dataclass(frozen=True)
class View:
    """What a penalty may look at: the codes of a batch, the decoder that reads them, and what it keeps itself."""

    objective: AutoencoderObjective
    model: Autoencoder
    codes: Codes
    step: int
    own: nn.Module | None = None
    """What :meth:`Penalty.build` gave."""

    def decode(self, codes: Tensor) -> Tensor:
        """The images of codes, with gradients, as :meth:`Objective.decode` gives them but not clipped to [0, 1].

        Batch norms go by what they have learnt: moved codes are not part of the batch.
        """
        from unbraid import nets

        pixels = nets.likelihood(self.objective.likelihood)
        with nets.judged(self.model.decoder):
            output = self.model.decoder(codes)
        return output if isinstance(pixels, nets.GaussianPixels) else pixels.mean(output)

    def stages(self, codes: Tensor) -> list[Tensor]:
        """What the layers with weights give on their way to the image, all but the first, which is linear, and the
        last; of a sum of decoders, those of each."""
        from unbraid import nets

        decoder, found = self.model.decoder, []
        inner = []
        for part in decoder.decoders if isinstance(decoder, nets.Additive) else [decoder]:
            inner += [one for one in part.modules() if any(w.ndim > 1 for w in one.parameters(recurse=False))][1:-1]
        if not inner:
            raise UsageError(
                f"the decoder of net {self.objective.net!r} has too few layers with weights and so nothing inside; "
                "a penalty on its images has stages=image"
            )
        hooks = [layer.register_forward_hook(lambda _, __, output: found.append(output)) for layer in inner]
        try:
            with nets.judged(decoder):
                decoder(codes)
        finally:
            for hook in hooks:
                hook.remove()
        return found


@dataclass(frozen=True)
class Penalty:
    """A frozen dataclass whose fields are its options; its value, times its weight, is added to a loss.

    A subclass is a function of what it is shown and of chance, :meth:`__call__`. One that remembers something from step
    to step keeps it in buffers of a module of its own, :meth:`build`, so that checkpoints hold it.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """What it is called in a formula."""

    weight: float = 1.0
    """How much its value counts in the loss; with 0 it is not even computed."""
    scale: Literal["sum", "mean"] = "sum"
    """What the weight stands beside: sum, a reconstruction summed over pixels, as here; mean, one averaged over them,
    as many papers have it: then the weight is taken times the numbers of an image, height * width * channels."""

    def __post_init__(self) -> None:
        check_not_negative(self, "weight")
        if self.scale not in ("sum", "mean"):
            raise unknown_name("scale", self.scale, ("sum", "mean"))

    def __call__(self, view: View, noise: torch.Generator) -> Tensor:
        """The value, a scalar, before its weight; all chance is from ``noise``."""
        raise UsageError(f"penalty {self.name!r} has no value: define __call__(view, noise)")

    def build(self, objective: AutoencoderObjective, problem: Problem) -> nn.Module | None:
        """A module with buffers to remember things in, for a penalty that does; also the place to refuse a problem."""
        return None


_PENALTIES: Registry[type[Penalty]] = Registry("penalty")
Class = TypeVar("Class", bound=type[Penalty])


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make a penalty known by name, for the option ``penalties`` of objectives with a decoder."""

    def add(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Penalty) and dataclasses.is_dataclass(cls)):
            raise UsageError(
                f"penalty {name!r} must be a dataclass derived from unbraid.objectives.penalties.Penalty: put "
                "@dataclass(frozen=True) under @register"
            )
        _PENALTIES.add(name, cls)
        cls.name = name
        cls.title = vars(cls).get("title") or name
        return cls

    return add


def names() -> list[str]:
    """All registered penalties."""
    return _PENALTIES.names()


def get(name: str) -> type[Penalty]:
    """The class of a registered penalty."""
    return _PENALTIES[name]


@lru_cache(maxsize=256)  # every step of training asks for it
def make(text: str) -> Penalty:
    """A penalty from its name with options.

    >>> make("bio:weight=10")
    Bio(weight=10, scale='sum', energy=0.01)
    """
    named = Named.read(text)
    cls = get(named.name)
    return cls(**check_options(f"penalty {cls.name!r}", cls, dict(named.options)))
