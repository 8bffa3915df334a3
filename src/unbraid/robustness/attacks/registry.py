"""Attacks by name: functions from a classifier, images and classes to images that it should take for something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unbraid.errors import unknown_name
from unbraid.registry import Registry, summary

__all__ = ["Attack", "get", "names", "register"]

NORMS = ("linf", "l2")
NEEDS = ("gradient", "scores", "decision")


@dataclass(frozen=True)
class Attack:
    """What is known of an attack beside its function."""

    name: str
    norms: tuple[str, ...]
    """In which it measures how far it goes."""
    needs: str
    """What it looks at: the gradient of the loss, scores, or decisions alone."""
    minimal: bool
    """Whether it looks for the nearest image by itself; the others are told how far they may go (``radius``)."""
    function: Callable[..., Any]

    @property
    def about(self) -> str:
        return summary(self.function)


_ATTACKS: Registry[Attack] = Registry("attack")


def register(
    name: str, *, norm: str | tuple[str, ...], needs: str, minimal: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: make ``attack(classify, images, labels, *, norm=..., radius=..., ...)`` known by a name."""
    norms = (norm,) if isinstance(norm, str) else tuple(norm)
    for one in norms:
        if one not in NORMS:
            raise unknown_name("norm", one, NORMS)
    if needs not in NEEDS:
        raise unknown_name("need of an attack", needs, NEEDS)

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _ATTACKS.add(name, Attack(name, norms, needs, minimal, function), home=function)
        return function

    return keep


def names() -> list[str]:
    """All registered attacks."""
    return _ATTACKS.names()


def get(name: str) -> Attack:
    """A registered attack."""
    return _ATTACKS[name]
