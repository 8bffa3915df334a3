"""Attacks on representations: how little an image must change for its code to change, or to become another's.

Sabour, Cao, Faghri, Fleet (2016), Adversarial manipulation of deep representations, ICLR.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError, unknown_name
from unbraid.robustness import attacks
from unbraid.robustness.attacks import Changed, Found, Goal, Loss, Moved, Outputs, Reproduced

__all__ = ["change_factor", "match_code", "move_code"]

MOVE = {"l0": "fmn", "l2": "fmn", "linf": "fmn"}
MATCH = {"l0": "fmn", "l2": "apgd", "linf": "apgd"}
"""The attacks taken in each norm if none is named. Where several numbers have to agree, short steps do best."""


def move_code(
    model: Any,
    images: Any,
    amount: float,
    *,
    norm: str = "l2",
    attack: str = "",
    scale: Any = None,
    loss: Loss | None = None,
    **told: Any,
) -> Found:
    """The smallest change of each image that moves its code by ``amount``.

    ``model`` is a torch module from float images ``[n, c, h, w]`` to codes ``[n, d]``, a run, or a function on uint8
    images (which needs an attack on decisions or scores). Distances of codes are Euclidean, each number divided by its
    ``scale`` (standard deviations of codes, say; otherwise 1). The first step goes where the Jacobian is largest.
    ``loss(codes, codes_before)`` is climbed instead of that distance if given. The rest is told to the attack:
    ``bound``, ``seed`` and its options.
    """
    _above(amount=amount)
    asked = _Asked(model, images, scale, attack, norm, MOVE)
    return asked.search(Moved(asked.before, asked.scale, loss, float(amount), asked.loudest()), told)


def match_code(
    model: Any,
    images: Any,
    donors: Any,
    *,
    tolerance: float,
    norm: str = "l2",
    attack: str = "",
    scale: Any = None,
    loss: Loss | None = None,
    **told: Any,
) -> Found:
    """The smallest change of each image that gives it the code of its donor, up to ``tolerance``.

    ``donors`` are as many images, whose codes are reproduced, or codes ``[n, d]``. The rest is as in :func:`move_code`;
    ``loss(codes, codes_of_donors)`` is climbed instead of minus the distance if given.
    """
    _above(tolerance=tolerance)
    asked = _Asked(model, images, scale, attack, norm, MATCH)
    codes = _codes_of(asked.classify, donors, asked.before)
    return asked.search(Reproduced(codes, asked.scale, loss, float(tolerance)), told)


def change_factor(
    model: Any,
    images: Any,
    factor: int,
    by: float,
    *,
    hold: float,
    norm: str = "l2",
    attack: str = "",
    scale: Any = None,
    loss: Loss | None = None,
    **told: Any,
) -> Found:
    """The smallest change of each image that changes one number of the outputs by ``by`` while the others hold.

    Outputs are read-outs of factors, regressed factors, or codes; ``factor`` is the column, ``by`` is signed, and no
    other column may change by more than ``hold``. The rest is as in :func:`move_code`. If such changes are small, what
    is read out does not hang together as factors of images do.
    """
    _above(hold=hold)
    if not (math.isfinite(by) and by):
        raise UsageError(f"by must be a number other than 0, up or down, got {by}")
    asked = _Asked(model, images, scale, attack, norm, MATCH)
    if not 0 <= factor < asked.before.shape[1]:
        raise UsageError(f"factor must be a column of the {asked.before.shape[1]} outputs, from 0, got {factor}")
    return asked.search(Changed(asked.before, asked.scale, loss, int(factor), float(by), float(hold)), told)


class _Asked:
    """A model, the images where it is, their codes, the units of codes, and the attack on them."""

    def __init__(self, model: Any, images: Any, scale: Any, attack: str, norm: str, usual: dict[str, str]) -> None:
        if norm not in usual:
            raise unknown_name("norm", norm, usual)
        self.attack, self.norm = attacks.get(attack or usual[norm]), norm
        if norm not in self.attack.norms:
            raise unknown_name(f"norm of the attack {self.attack.name!r}:", norm, self.attack.norms)
        self.classify = Outputs(model)
        pixels, _ = attacks.float_images(images, [0] * len(images))
        self.images = self.classify.place(pixels)
        self.before = self.classify.scores(self.images)
        self.scale = torch.ones(self.before.shape[1]).to(self.before)
        if scale is not None:
            given = torch.as_tensor(np.asarray(scale)).to(self.before).reshape(-1)
            self.scale = given.expand(self.before.shape[1]).clone()
            if not bool((self.scale > 0).all()):
                raise UsageError(
                    "scale must be numbers above 0, one per number of a code; leave out codes that never move"
                )

    def search(self, goal: Goal, told: dict[str, Any]) -> Found:
        """The nearest images that reach the goal."""
        return self.attack(self.classify, self.images, goal=goal, norm=self.norm, **told)

    def loudest(self) -> Tensor | None:
        """The direction in which each code moves fastest at its image: ``[n, d]``, of length 1."""
        if self.attack.needs != "gradient":
            return None
        self.classify.need_gradient(f"the attack {self.attack.name!r}")
        columns = torch.arange(len(self.scale), device=self.images.device)
        parts = []
        for part in self.images.split(64):
            slopes, _ = self.classify.jacobian(part, columns.expand(len(part), -1))
            rows = slopes.flatten(2) / self.scale[:, None]  # [n, d, pixels]
            parts.append(torch.linalg.eigh((rows @ rows.transpose(1, 2)).double()).eigenvectors[..., -1])
        return torch.cat(parts).to(self.images)


def _codes_of(classify: Outputs, donors: Any, before: Tensor) -> Tensor:
    shape = tuple(np.shape(donors))
    if shape == tuple(before.shape):
        codes = torch.as_tensor(np.asarray(donors)).to(before)
        if not codes.isfinite().all():
            raise UsageError("donors must be finite codes, got NaN or infinity")
        return codes
    if len(shape) != 4 or shape[0] != len(before):
        raise UsageError(
            f"donors must be {len(before)} images, one per image, or codes {list(before.shape)}, got {list(shape)}"
        )
    pixels, _ = attacks.float_images(donors, [0] * len(donors))
    return classify.scores(classify.place(pixels))


def _above(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be a number above 0, in units of codes, got {value}")
