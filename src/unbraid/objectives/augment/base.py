"""What an augmentation is. Importing this module does not import torch, so that the command line stays quick."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from unbraid.errors import UsageError
from unbraid.options import Named, check_options
from unbraid.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.base import Inputs, Objective, Terms
    from unbraid.problem import Problem

__all__ = ["Augmentation", "Scene", "clipped", "get", "make", "names", "need_pictures", "register"]


@dataclass(frozen=True)
class Scene:
    """What an augmentation may look at beside the images: who is trained on them, and its own networks."""

    objective: Objective
    model: nn.Module
    step: int
    own: nn.Module | None = None
    """What :meth:`Augmentation.build` gave."""

    def loss(self, inputs: Inputs, noise: torch.Generator) -> Tensor:
        """What the model minimises on these inputs, that of its first player in a game: an adversary raises it."""
        _, terms = next(iter(self.objective.losses(self.model, inputs, self.step, noise)))
        return terms.total


@dataclass(frozen=True)
class Augmentation:
    """A frozen dataclass whose fields are its options; it changes a share of every training batch.

    What is asked of the model stays that of the clean image: its class, its factors, and, where an image is to be given
    back, the clean image itself. A simple one is a function of images and chance, :meth:`__call__`. One that
    looks at the model defines :meth:`apply` instead, and one that learns has networks of its own, too: :meth:`build`,
    :meth:`optimizers` and :meth:`losses`.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    share: float = 0.5
    """Part of every batch that is changed, rounded to whole images."""

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"share must lie between 0 and 1, got {self.share}")

    def __call__(self, images: Tensor, noise: torch.Generator) -> Tensor:
        """What becomes of images ``[n, c, h, w]`` in [0, 1], or of vectors ``[n, d]``; all chance is from ``noise``."""
        raise UsageError(f"augmentation {self.name!r} does nothing: define __call__(images, noise) or apply(...)")

    def apply(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Tensor:
        """The wider form: ``inputs`` are the images of its share with their classes and factors, where known.

        No gradient flows out of what it returns.
        """
        return self(inputs.images, noise)

    def build(self, problem: Problem, generator: torch.Generator) -> nn.Module | None:
        """Networks of its own; they become a part of the model, so that checkpoints hold them."""
        return None

    def optimizers(self, module: nn.Module) -> dict[str, torch.optim.Optimizer]:
        """One optimiser for each player of its own, over parameters of what :meth:`build` gave."""
        return {}

    def prepare(
        self,
        scene: Scene,
        optimizers: dict[str, torch.optim.Optimizer],
        noise: torch.Generator,
        batches: Callable[[int], Inputs],
    ) -> None:
        """Called before every step, for snapshots and restarts of its own players, whose ``optimizers`` come by name.

        What it does must follow from the step, the model, the optimisers and ``noise`` alone: a resumed run repeats it.
        ``batches`` gives the clean batch of any step. The default does nothing.
        """

    def losses(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        """Yield ``(player, terms)`` of its own players, on the whole clean batch, before the objective has its turn."""
        yield from ()


def clipped(images: Tensor) -> Tensor:
    """Pictures within [0, 1]; vectors, which have no range of their own, as they are."""
    return images.clamp(0, 1) if images.ndim == 4 else images


def need_pictures(augmentation: Augmentation, images: Tensor) -> Tensor:
    """The images, which must be pictures ``[n, c, h, w]``: of vectors nothing lies beside anything."""
    if images.ndim != 4:
        raise UsageError(f"augmentation {augmentation.name!r} takes images, got vectors of {images.shape[1]} numbers")
    return images


_AUGMENTATIONS: Registry[type[Augmentation]] = Registry("augmentation")
Class = TypeVar("Class", bound=type[Augmentation])


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make an augmentation known by name, for the option ``augment`` of every objective."""

    def add(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Augmentation) and dataclasses.is_dataclass(cls)):
            raise UsageError(
                f"augmentation {name!r} must be a dataclass derived from unbraid.objectives.augment.Augmentation: put "
                "@dataclass(frozen=True) under @register"
            )
        _AUGMENTATIONS.add(name, cls)
        cls.name = name
        cls.title = cls.__dict__.get("title") or name.replace("-", " ").capitalize()
        return cls

    return add


def names() -> list[str]:
    """All registered augmentations."""
    return _AUGMENTATIONS.names()


def get(name: str) -> type[Augmentation]:
    """The class of a registered augmentation."""
    return _AUGMENTATIONS[name]


def make(text: str | Named) -> Augmentation:
    """An augmentation from its name with options.

    >>> make("gaussian-noise:sigma=0.2,share=1")
    GaussianNoise(share=1, sigma=0.2, sigmas=())
    """
    return _made(text) if isinstance(text, str) else _of(text)


@lru_cache(maxsize=256)  # every step of training asks for it
def _made(text: str) -> Augmentation:
    return _of(Named.read(text))


def _alone(cls: type[Augmentation], key: str, value: object) -> bool:
    """Whether one value stands for a list of one."""
    return isinstance(getattr(cls, key, None), tuple) and not isinstance(value, list | tuple)


def _of(named: Named) -> Augmentation:
    cls = get(named.name)
    given = {key: [value] if _alone(cls, key, value) else value for key, value in named.options.items()}
    found = check_options(f"augmentation {cls.name!r}", cls, given)
    found |= {key: tuple(value) for key, value in found.items() if isinstance(value, list)}
    return cls(**found)
