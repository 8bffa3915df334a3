"""Corruptions by name: the two published suites, the hold-outs, and own ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.registry import Registry, summary

__all__ = ["IMAGENET_C", "IMAGENET_C_HOLDOUT", "MNIST_C", "OWN", "SUITES", "Apply", "Corruption", "find", "register"]

Apply = Callable[..., np.ndarray]
"""``apply(images, draws, *setting)``: images uint8 [n,h,w,c], one generator per image; floats in [0,1] or uint8 out."""


@dataclass(frozen=True)
class Corruption:
    """One way of spoiling images, in one or several severities."""

    name: str
    suite: str
    category: str
    """``noise``, ``blur``, ``weather``, ``digital``, ``geometric``, ``strokes`` or what an own one calls itself."""
    settings: tuple[tuple[Any, ...], ...]
    """What each severity hands to the function: lengths in pixels of an image of 224 (of 28 in MNIST-C)."""
    apply: Apply

    @property
    def severities(self) -> tuple[int, ...]:
        """1 is the mildest."""
        return tuple(range(1, len(self.settings) + 1))

    @property
    def about(self) -> str:
        """What it does, in one line."""
        return summary(self.apply)

    @property
    def full_name(self) -> str:
        """A name that no corruption of another suite has: ``mnist-c/fog``."""
        return f"{self.suite}/{self.name}"

    @property
    def short_name(self) -> str:
        """The bare name where :func:`find` gives this one for it, otherwise the full one."""
        first = next((found[self.name] for found in SUITES.values() if self.name in found), None)
        return self.name if first == self else self.full_name


_NOISE = ("gaussian_noise", "shot_noise", "impulse_noise")
_BLUR = ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur")
_WEATHER = ("snow", "frost", "fog", "brightness")
_DIGITAL = ("contrast", "elastic_transform", "pixelate", "jpeg_compression")
_DIGITS = (
    *("shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate", "brightness"),
    *("translate", "stripe", "fog", "spatter", "dotted_line", "zigzag", "canny_edges"),
)
IMAGENET_C: Registry[Corruption] = Registry("corruption of ImageNet-C", first=(*_NOISE, *_BLUR, *_WEATHER, *_DIGITAL))
"""The 15 corruptions of Hendrycks & Dietterich (2019), five severities each."""
IMAGENET_C_HOLDOUT: Registry[Corruption] = Registry(
    "held-out corruption of ImageNet-C", first=("speckle_noise", "gaussian_blur", "spatter", "saturate")
)
"""Their four for validation, five severities each."""
MNIST_C: Registry[Corruption] = Registry("corruption of MNIST-C", first=_DIGITS)
"""The 15 corruptions of Mu & Gilmer (2019), each with the one setting of the published files."""
OWN: Registry[Corruption] = Registry("own corruption")
"""What was made known by :func:`register`."""
SUITES = {"imagenet-c": IMAGENET_C, "imagenet-c-holdout": IMAGENET_C_HOLDOUT, "mnist-c": MNIST_C, "own": OWN}
"""The registries, in the order in which a bare name is looked for."""


def register(
    name: str, category: str, settings: Sequence[Any] = ((),), *, suite: str = "own"
) -> Callable[[Apply], Apply]:
    """Decorator: make ``apply(images, draws, *setting)`` known, with one setting per severity.

    ``images`` are uint8 [n,h,w,c] and not to be changed, ``draws`` holds one generator per image. What comes back has
    the same shape: uint8, or floats, which are clipped to [0,1].

    >>> from unbraid.corruptions import corrupt, register
    >>> @register("darken", "digital", settings=[0.8, 0.5])
    ... def darken(images, draws, factor):
    ...     '''The image times a factor.'''
    ...     return images / 255 * factor
    >>> int(corrupt(np.full((1, 16, 16, 1), 200, np.uint8), "darken", severity=2).max())
    100
    """
    if suite not in SUITES:
        raise unknown_name("suite of corruptions", suite, SUITES)
    table = tuple(entry if isinstance(entry, tuple) else (entry,) for entry in settings)
    if not table:
        raise UsageError(f"settings of the corruption {name!r} are empty; give one per severity, the mildest first")

    def keep(apply: Apply) -> Apply:
        SUITES[suite].add(name, Corruption(name, suite, category, table, apply), home=apply)
        return apply

    return keep


def find(name: str) -> Corruption:
    """The corruption of this name: ``fog``, or ``mnist-c/fog`` where two suites have one. ImageNet-C comes first."""
    if not isinstance(name, str):
        raise UsageError(f"name must be that of a corruption or a Corruption, got {name!r}")
    suite, slash, plain = name.rpartition("/")
    if slash:
        if suite not in SUITES:
            raise unknown_name("suite of corruptions", suite, SUITES)
        return SUITES[suite][plain]
    for registry in SUITES.values():
        if name in registry:
            return registry[name]
    known = {found for registry in SUITES.values() for found in registry}
    raise unknown_name("corruption", name, known, "Own ones are made known by unbraid.corruptions.register")
