"""What is still known of a factor without the code that tells most of it (Locatello et al., 2020)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError
from unbraid.metrics._boosting import Booster, fit_booster
from unbraid.metrics._discrete import relabel
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Sample, Score, check_seed, generator, split

__all__ = ["label_counts", "reduced"]

SIZES = (1_000, 10_000)
"""Numbers of labelled samples."""


@register(
    "reduced",
    range=UNIT,
    title="Reduced downstream task",
    short="Reduced",
    about="how much of a factor goes with the code that tells most of it",
    parts={"plain": "Accuracy, all codes", "own": "Accuracy, own code dropped", "others": "Accuracy of the others"},
    usual=False,
)
def reduced(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    drop: int = 1,
    sizes: Sequence[int] | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Share of what boosted trees know of a factor that goes when its most important code is dropped.

    For each factor the ``drop`` codes of largest importance for it are left out and all factors are predicted from the
    rest. The value is the mean over factors of ``1 - leak``, ``leak = (reduced - chance) / (plain - chance)`` clipped
    to [0, 1] and chance one over the number of values; of a factor that was not known at all nothing goes. A perfect
    code loses all of the factor and nothing of the others.

    ``sizes`` are the numbers of training samples (1,000 and 10,000 unless there are fewer), drawn by ``seed``, the
    smaller ones inside the larger. Parts: ``accuracy``, ``own`` and ``others`` ``[size, factor]`` in ``by_size``, and
    the means of the largest size. Flaw: a factor spread over many codes, each of which tells little, seems as safe as
    one that is told twice; read DCI's completeness beside it.
    """
    if isinstance(drop, bool) or not isinstance(drop, int) or drop < 1:
        raise UsageError(f"drop must be a whole number of codes from 1 on, got {drop!r}")
    train, held_out = split(codes, factors, test=test, seed=seed)
    n, values = len(train[0]), relabel(train[1])[1]
    chosen = label_counts(sizes, SIZES, n)
    order = generator(seed).permutation(n)
    found = []
    for size in chosen:
        # Rows in the order they came: the whole sample is then fitted once for this score and for DCI.
        rows = np.sort(order[:size])
        found.append(_one_size((train[0][rows], train[1][rows]), held_out, drop, seed, threads))
    plain, own, others, importance = (np.array(parts) for parts in zip(*found, strict=True))
    known = np.maximum(plain - 1 / values, 0.0)
    leak = np.where(known > 0, np.clip((own - 1 / values) / np.where(known > 0, known, 1), 0, 1), 0.0)
    gone = np.where(known > 0, 1 - leak, 0.0)  # [size, factor]
    return Score(
        "reduced",
        float(gone[-1].mean()),
        1.0,
        {
            "plain": float(plain[-1].mean()),
            "own": float(own[-1].mean()),
            "others": float(others[-1].mean()),
            "leak_per_factor": leak[-1],
            "per_factor": gone[-1],
            "importance": importance[-1],
            "by_size": {"plain": plain, "own": own, "others": others, "leak": leak},
        },
        {
            "estimator": "gradient-boosted trees, 100 stages of depth 3, exact splits",
            "drop": drop,
            "sizes": chosen,
            "train": n,
            "test": len(held_out[0]),
            "seed": check_seed(seed),
        },
    )


def label_counts(given: Sequence[int] | None, usual: Sequence[int], samples: int) -> list[int]:
    """Numbers of training samples, ascending: the given ones, else the usual ones there are samples for, else all."""
    chosen = sorted({int(size) for size in given}) if given is not None else [size for size in usual if size <= samples]
    chosen = chosen or [samples]
    if chosen[0] < 2 or chosen[-1] > samples:
        raise UsageError(f"sizes must lie between 2 and the {samples} training samples, got {chosen}")
    return chosen


def _one_size(
    train: Sample, test: Sample, drop: int, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy of each factor from all codes, without its own, mean accuracy of the others then; importances."""
    factors = train[1].shape[1]
    whole = [_fit(train, k, seed, threads) for k in range(factors)]
    plain = np.array([_accuracy(model, test, k) for k, model in enumerate(whole)])
    importance = np.stack([model.importances for model in whole], axis=1)  # [d, K]
    own, others = np.empty(factors), np.full(factors, np.nan)
    for k in range(factors):
        left = np.sort(np.argsort(-importance[:, k], kind="stable")[drop:])
        some, rest = ((_kept(codes, left), labels) for codes, labels in (train, test))
        accuracy = np.array([_accuracy(_fit(some, other, seed, threads), rest, other) for other in range(factors)])
        own[k] = accuracy[k]
        if factors > 1:
            others[k] = np.delete(accuracy, k).mean()
    return plain, own, others, importance


def _kept(codes: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Some of the codes; where none is left a constant one, from which only the commonest value can be guessed."""
    return codes[:, left] if len(left) else np.zeros((len(codes), 1))


def _fit(sample: Sample, k: int, seed: int, threads: int) -> Booster:
    return fit_booster(sample[0], sample[1][:, k], seed=seed, threads=threads)


def _accuracy(model: Booster, sample: Sample, k: int) -> float:
    return float(np.mean(model.predict(sample[0]) == sample[1][:, k]))
