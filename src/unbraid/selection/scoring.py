"""What a population is selected by: functions from a member's models and the data to a number.

A score has a name (``mig``, ``dci``, ``udr``, options after a colon as in ``mig:labels=1000``) or is any function that
can be imported, ``package.module:function``. It is called as ``score(runs, data, seed=..., **options)`` and returns a
number, or a :class:`MemberScore` that also tells the models of a member apart. Labels enter here and nowhere else:
training never sees them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import ImageDataset, Purpose, counter_rng
from unbraid.errors import UsageError, unknown_name
from unbraid.metrics import METRICS, udr
from unbraid.options import check_options, parse_name

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["SCORES", "MemberScore", "ScoreFunction", "find_score", "metric_score", "udr_score", "without_place"]

ScoreFunction = Callable[..., "float | MemberScore"]


@dataclass(frozen=True)
class MemberScore:
    """The score of a member, and of each of its models."""

    value: float
    per_model: tuple[float, ...] = ()


SCORES: dict[str, str] = {
    "mig": "unbraid.selection.scoring:mig_score",
    "mig-alone": "unbraid.selection.scoring:alone_score",
    "dci": "unbraid.selection.scoring:dci_score",
    "udr": "unbraid.selection.scoring:udr_score",
    "surrogate-mig": "unbraid.selection.surrogates:surrogate_score",
}
"""Scores by name, as the functions that compute them."""


def find_score(text: str) -> tuple[ScoreFunction, dict[str, Any]]:
    """The function and the options that a score's text means.

    >>> find_score("mig:labels=1000")[1]
    {'labels': 1000}
    """
    name, colon, rest = text.partition(":")
    if name not in SCORES and colon and "=" not in rest.partition(":")[0]:
        function, _, rest = rest.partition(":")
        path, words = f"{name}:{function}", f"{function}:{rest}"
    elif name in SCORES:
        path, words = SCORES[name], text
    else:
        raise unknown_name("score", name, SCORES, "An own one is written package.module:function")
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"score {text!r}: {error}") from error
    options = check_options(f"score {text!r}", found, parse_name(words)[1], given=("runs", "data", "seed"))
    return found, options


def without_place(text: str) -> str:
    """A score's text without the folder of its labels, which may have been moved together with the population.

    >>> without_place("surrogate-mig:store=/a/b/labels,leaf_runs=1")
    'surrogate-mig:store=labels,leaf_runs=1'
    """
    return re.sub(r"(?<=[:,]store=)[^,]*/", "", text)


def udr_score(runs: Sequence[Run], data: ImageDataset, *, seed: int = 0, images: int = 1000) -> MemberScore:
    """Unsupervised disentanglement ranking among the models of a member, on images of the current data set."""
    index = _draw(len(data), images, seed, Purpose.SCORED)
    pixels = data.images(index, counter_rng(seed, 0, Purpose.SCORED))
    found = [run.describe(pixels) for run in runs]
    score = udr([part["mean"] for part in found], [part["kl_per_latent"].mean(axis=0) for part in found], seed=seed)
    return MemberScore(float(score), tuple(float(value) for value in score.parts["per_model"]))


def mig_score(
    runs: Sequence[Run], data: ImageDataset, *, seed: int = 0, labels: int | None = None, images: int = 50_000
) -> MemberScore:
    """Mutual information gap with the true factors, in 20 bins."""
    return metric_score("mig", runs, data, {"bins": 20}, seed=seed, labels=labels, images=images)


def alone_score(
    runs: Sequence[Run], data: ImageDataset, *, seed: int = 0, labels: int | None = None, images: int = 50_000
) -> MemberScore:
    """How much more a factor's best code knows of it than of any other factor; punishes one code for two factors."""
    return metric_score("mig", runs, data, {"bins": 20}, seed=seed, labels=labels, images=images, part="alone")


def dci_score(
    runs: Sequence[Run], data: ImageDataset, *, seed: int = 0, labels: int | None = None, images: int = 15_000
) -> MemberScore:
    """DCI disentanglement with the true factors."""
    return metric_score("dci", runs, data, {}, seed=seed, labels=labels, images=images)


def metric_score(
    name: str,
    runs: Sequence[Run],
    data: ImageDataset,
    options: Mapping[str, Any],
    *,
    seed: int = 0,
    labels: int | None = None,
    images: int = 50_000,
    part: str | None = None,
) -> MemberScore:
    """A score of codes against true factors, averaged over models; all images are used if there are fewer.

    With ``labels`` only that many images, the same ones for all members and generations, have labels: the
    semi-supervised case. With ``part`` the mean of that part of the score counts.
    """
    index = (
        _draw(len(data), images, seed, Purpose.SCORED)
        if labels is None
        else _draw(len(data), labels, seed, Purpose.SCORED_LABELS)
    )
    pixels = data.images(index, counter_rng(seed, 0, Purpose.SCORED))
    factors = data.factors(index)
    factors = factors[:, [len(np.unique(column)) > 1 for column in factors.T]]
    found = [METRICS[name].score(run.encode(pixels), factors, seed=seed, options=options) for run in runs]
    scores = [float(one if part is None else np.mean(one.parts[part])) for one in found]
    return MemberScore(float(np.mean(scores)), tuple(scores))


def _draw(size: int, count: int, seed: int, purpose: int) -> np.ndarray:
    """Different positions in ascending order: all, if no more were asked for than there are."""
    if count >= size:
        return np.arange(size)
    return np.sort(counter_rng(seed, 0, purpose).choice(size, count, replace=False))
