"""Errors under corruption relative to a reference model's (Hendrycks & Dietterich, 2019)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unbraid.errors import UsageError

__all__ = ["corruption_errors", "mce"]


def corruption_errors(errors: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, float]:
    """``CE = 100 x error / error of the reference``, by corruption, each a mean over the same severities.

    >>> corruption_errors({"fog": 0.3, "snow": 0.2}, {"fog": 0.6, "snow": 0.2})
    {'fog': 50.0, 'snow': 100.0}
    """
    missing = [name for name in errors if name not in reference]
    if missing or not errors:
        raise UsageError(
            f"the reference has no error for {', '.join(missing)}; it has {', '.join(reference)}"
            if errors
            else "errors is empty: there is no corruption to compare"
        )
    perfect = [name for name in errors if not reference[name] > 0]
    if perfect:
        raise UsageError(
            f"the reference makes no error under {', '.join(perfect)}, and errors are divided by its own; "
            "take a weaker reference or more images"
        )
    return {name: 100.0 * (float(error) / float(reference[name])) for name, error in errors.items()}


def mce(errors: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """The mean of :func:`corruption_errors`: 100 is as many errors as the reference makes.

    It may be compared with published numbers only if both are of the same images and the same reference, which is
    AlexNet on the files of ImageNet-C: ``published_errors()``. On other images call it what it is, relative errors.
    Both must be of the same corruptions: a mean over some of them is another number.
    """
    lacking = [name for name in reference if name not in errors]
    if errors and lacking:
        raise UsageError(
            f"mCE is a mean over all corruptions of its reference, and of {', '.join(lacking)} no errors are given; "
            "ask about all of them, or take corruption_errors for those you have"
        )
    return float(np.mean(list(corruption_errors(errors, reference).values())))
