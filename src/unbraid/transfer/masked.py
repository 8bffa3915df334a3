"""Whether distances under attack can be believed: signs of masked gradients, on cards and beside every number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unbraid.data import Dataset
from unbraid.errors import UsageError
from unbraid.transfer.scenario import VALUE
from unbraid.transfer.subjects import Subject

__all__ = ["doubts_beside", "doubts_of", "masking"]

BLIND = "no gradients flow through this function: attacks were blind, and distances are upper bounds"
STEEP = 20
"""Images at which the slope of the loss is looked at."""


def masking(subject: Subject, data: Dataset, seed: int = 0, *, images: int = 24, steps: int = 20) -> tuple[str, ...]:
    """Signs that distances under attack cannot be believed (:func:`unbraid.robustness.check_masking`), in sentences."""
    from unbraid.robustness import Examples, check_masking

    if not subject.has_gradient:
        return (BLIND,)
    examples = Examples(data, images, seed)
    labels = subject.labels(data, examples.index)
    try:
        found = check_masking(
            subject.asked, examples.read(slice(None)), labels, steps=steps, factor=subject.factor, seed=seed
        )
    except UsageError as error:  # the gradient is nothing everywhere, though scores differ
        return (f"attacks along gradients cannot be carried out: {error}",)
    return tuple(str(doubt) for doubt in found)


def doubts_beside(
    subject: Subject, norm: str, distances: Mapping[str, np.ndarray], images: np.ndarray, labels: np.ndarray
) -> tuple[str, ...]:
    """The signs that attacks leave behind, by their distances ``[n]``: for the price of one gradient of a few images.

    Whether more steps help is not asked.
    """
    from unbraid.robustness import attacks, masking_doubts

    if not subject.has_gradient:
        return (BLIND,)
    needs = {name: attacks.get(name).needs for name in distances}
    white = {name: found for name, found in distances.items() if needs[name] == "gradient"}
    black = {name: found for name, found in distances.items() if needs[name] in ("decision", "scores")}
    if norm == "l0":  # whole numbers, and small ones: 2 pixels instead of 3 tell nothing
        black = {name: found + 1 for name, found in black.items()}
    slopes = None if norm == "l0" else _slopes(subject, images[:STEEP], labels[:STEEP])
    return tuple(str(doubt) for doubt in masking_doubts(white, black, slopes=slopes))


def doubts_of(details: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The doubts beside a stored number, from the details of its cell; ``None`` if nobody looked for them."""
    value = details.get(VALUE)
    found = value["settings"].get("doubts") if isinstance(value, Mapping) else None
    return None if found is None else tuple(str(doubt) for doubt in found)


def _slopes(subject: Subject, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    from unbraid.robustness import attacks

    classify = attacks.Classifier(subject.asked, factor=subject.factor)
    pixels, truth = attacks.float_images(images, labels)
    x = classify.place(pixels)
    found: np.ndarray = classify.slopes(x, attacks.Misclassified(truth.to(x.device))).cpu().numpy()
    return found
