"""Signs that an evaluation by attacks cannot be believed: gradients that are masked look like robustness.

Athalye, Carlini, Wagner (2018), Obfuscated gradients give a false sense of security, ICML. Carlini et al. (2019), On
evaluating adversarial robustness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.robustness.distances import check_distances, nearest_of

__all__ = [
    "Doubt",
    "black_box_is_better",
    "check_masking",
    "flat_loss",
    "masking_doubts",
    "more_steps_help",
    "unbounded_attack_fails",
]

NEARER = 0.95
"""An image is nearer, or a median smaller, if it is less than this share of the other."""
SOME = 0.05
"""Up to this share of images may be odd by chance."""


@dataclass(frozen=True)
class Doubt:
    """One reason not to believe distances, with the share of images that it rests on."""

    kind: str
    share: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def black_box_is_better(white: Mapping[str, np.ndarray], black: Mapping[str, np.ndarray]) -> Doubt | None:
    """Attacks that see no gradient find nearer images than those that do.

    Both are distances ``[n]`` by the attack's name, of one norm. Images that are wrong as they are do not count.
    """
    if not white or not black:
        return None
    best_white, best_black = (
        np.min([check_distances(each) for each in group.values()], axis=0) for group in (white, black)
    )
    if best_white.shape != best_black.shape:
        raise UsageError(f"distances must be of the same images, got {best_white.size} and {best_black.size}")
    counted = best_white > 0
    nearer = (best_black < NEARER * best_white) & counted
    share = float(nearer.sum() / max(counted.sum(), 1))
    if share <= SOME:
        return None
    return Doubt(
        "black-box",
        share,
        f"attacks without gradients ({', '.join(black)}) come nearer than those with ({', '.join(white)}) for "
        f"{100 * share:.0f} % of images: gradients may be masked",
    )


def more_steps_help(by_steps: Mapping[int, np.ndarray]) -> Doubt | None:
    """The attack still finds nearer images when it is given more steps: it was not done.

    ``by_steps`` are distances ``[n]`` by the number of steps; the two largest numbers are compared. With a bound,
    distances of failures are infinite, and an image that falls only with more steps counts.
    """
    if len(by_steps) < 2:
        return None
    few, many = sorted(by_steps)[-2:]
    before, after = check_distances(by_steps[few]), check_distances(by_steps[many])
    counted = before > 0
    share = float(((after < NEARER * before) & counted).sum() / max(counted.sum(), 1))
    if share <= SOME:
        return None
    return Doubt(
        "more-steps",
        share,
        f"{many} steps instead of {few} come nearer for {100 * share:.0f} % of images: give the attack more steps",
    )


def unbounded_attack_fails(name: str, distances: np.ndarray) -> Doubt | None:
    """An attack that may change everything does not succeed for every image, though somewhere each class is named."""
    failed = np.isinf(check_distances(distances))
    share = float(failed.mean())
    if not failed.any():
        return None
    return Doubt(
        "unbounded",
        share,
        f"{name} without a bound fails for {100 * share:.0f} % of images, though it may reach any image of [0, 1]: its "
        "gradients lead nowhere, or the model names one class of everything",
    )


def flat_loss(slopes: np.ndarray, changes: np.ndarray | None = None) -> Doubt | None:
    """The loss does not change around images, so that there is nothing to follow.

    ``slopes`` are lengths ``[n]`` of the gradient of the loss at the images; ``changes``, if given, are the largest
    changes ``[n]`` of the loss at random places near them, relative to its slope's promise or to anything else that is
    0 where it is flat.
    """
    flat = check_distances(slopes) <= 0
    if changes is not None:
        flat = flat | (check_distances(changes) <= 0)
    share = float(flat.mean())
    if share <= SOME:
        return None
    return Doubt(
        "flat",
        share,
        f"the loss is flat around {100 * share:.0f} % of images: attacks along gradients cannot tell where to go",
    )


def masking_doubts(
    white: Mapping[str, np.ndarray],
    black: Mapping[str, np.ndarray],
    by_steps: Mapping[int, np.ndarray] | None = None,
    slopes: np.ndarray | None = None,
) -> list[Doubt]:
    """All reasons to doubt, of the distances (without a bound) that attacks with and without gradients found."""
    doubts = [black_box_is_better(white, black), more_steps_help(by_steps or {})]
    if white:
        doubts.append(unbounded_attack_fails(" and ".join(white), nearest_of(white)))
    if slopes is not None:
        doubts.append(flat_loss(slopes))
    return [doubt for doubt in doubts if doubt is not None]


def check_masking(
    predict: Any,
    images: Any,
    labels: Any,
    norm: str = "linf",
    *,
    steps: int = 20,
    factor: str = "",
    seed: int = 0,
) -> list[Doubt]:
    """Attack a classifier in a few ways and tell the reasons to doubt the distances that gradients find.

    BIM with ``steps`` and with four times as many, without a bound, against noise, Square (linf) or the boundary attack
    (l2), and the slope of cross-entropy at the images. No doubt is no proof.
    """
    from unbraid.robustness import attacks

    if norm not in ("linf", "l2"):
        raise UsageError(f"norm must be linf or l2, where there are attacks of both kinds, got {norm!r}")
    classify = attacks.Classifier(predict, factor=factor)
    classify.need_gradient("this check")
    pixels, truth = attacks.float_images(images, labels)
    x = classify.place(pixels)
    goal = attacks.Misclassified(truth.to(x.device))
    goal.check(classify.scores(x), classify.name)
    slopes = classify.slopes(x, goal).cpu().numpy()
    if not slopes.any():  # there is no gradient to compare anything with
        return masking_doubts({}, {}, slopes=slopes)
    told: dict[str, Any] = {"norm": norm, "seed": seed}
    by_steps = {
        count: attacks.bim(classify, images, labels, steps=count, **told).distances.cpu().numpy()
        for count in (steps, 4 * steps)
    }
    other = attacks.square if norm == "linf" else attacks.boundary
    found = [
        attacks.gaussian(classify, images, labels, **told),
        other(classify, images, labels, steps=10 * steps, **told),
    ]
    black = {each.attack: each.distances.cpu().numpy() for each in found}
    return masking_doubts({"bim": by_steps[4 * steps]}, black, by_steps, slopes)
