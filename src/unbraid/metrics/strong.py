"""Downstream tasks where one factor is fixed in training and differs in the test (Locatello et al., 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import UsageError
from unbraid.metrics._boosting import fit_booster
from unbraid.metrics._encode import FactorData, Space
from unbraid.metrics._interventions import Ideal, Plan, Rows, Sampling, carry_out
from unbraid.metrics._registry import UNIT, register
from unbraid.metrics._score import Score, check_seed, generator
from unbraid.metrics.reduced import SIZES, label_counts

__all__ = ["strong"]


@dataclass(frozen=True)
class _Shift:
    """A task: predict ``target`` where ``fixed`` has the value ``value`` in training and any other one in the test."""

    target: int
    fixed: int
    value: int
    train: np.ndarray
    """Factors of the training images, ``[train, K]``."""
    test: np.ndarray


def draw_shifts(space: Space, repeats: int, train: int, test: int, rng: np.random.Generator) -> list[_Shift]:
    """``repeats`` tasks per factor; which other factor is fixed at which value is drawn."""
    shifts = []
    for target in range(len(space.sizes)):
        for _ in range(repeats):
            fixed = int(rng.choice([k for k in range(len(space.sizes)) if k != target]))
            value = int(rng.integers(space.sizes[fixed]))
            seen, unseen = space.sample(train, rng), space.sample(test, rng)
            seen[:, fixed] = value
            unseen[:, fixed] = (value + 1 + rng.integers(space.sizes[fixed] - 1, size=test)) % space.sizes[fixed]
            shifts.append(_Shift(target, fixed, value, seen, unseen))
    return shifts


def _plan(
    space: Space,
    sampling: Sampling,
    *,
    repeats: int = 10,
    sizes: Sequence[int] | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Plan:
    if len(space.sizes) < 2:
        raise UsageError("strong fixes one factor and predicts another: the data need at least two factors")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise UsageError(f"repeats must be a whole number from 1 on, got {repeats!r}")
    chosen = label_counts(sizes, SIZES, sampling.train)
    rng = generator(seed)
    shifts = draw_shifts(space, repeats, chosen[-1], sampling.test, rng)
    plain = space.sample(chosen[-1], rng), space.sample(sampling.test, rng)
    parts = [*plain, *(half for shift in shifts for half in (shift.train, shift.test))]
    index = np.concatenate([space.index(part) for part in parts])
    score = partial(_score, index=index, shifts=shifts, plain=plain, space=space, sizes=chosen, threads=threads)
    return Plan(index, partial(score, seed=seed, settings={"repeats": repeats}))


@register(
    "strong",
    needs="interventions",
    range=UNIT,
    title="Strong downstream task",
    short="Strong",
    about="accuracy of trees where another factor has values that training did not show",
    parts={"plain": "Accuracy, same distribution", "gap": "Gap under covariate shift"},
    usual=False,
    plan=_plan,
)
def strong(
    encode: Any,
    data: FactorData,
    *,
    train: int = 10_000,
    test: int = 5_000,
    repeats: int = 10,
    sizes: Sequence[int] | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Score:
    """Accuracy of boosted trees on a factor when another one leaves the single value it had in training.

    Per target factor and repeat: another factor and a value of it are drawn; all training images have that value, no
    test image has it. The value is the mean accuracy over targets and repeats, ``parts["gap"]`` is
    ``1 - strong / plain``, with ``plain`` the accuracy on images drawn alike for training and test. Codes that mix
    the two factors are read wrongly as soon as the other one moves; codes that keep them apart do not notice.

    ``sizes`` are the numbers of training images (1,000 and 10,000 unless ``train`` is less; the first of the same
    draw), ``parts["by_size"]`` has both accuracies for each. A perfect code's ceiling is fitted alike. Cost: nearly all
    images of a data set are encoded, and ``2 K repeats`` boosters are fitted.
    """
    if min(train, test) < 2:
        raise UsageError(f"train and test must be at least 2, got {train}, {test}")
    options = {"repeats": repeats, "sizes": sizes, "threads": threads}
    return carry_out(_plan, encode, data, Sampling(train, test), seed=seed, **options)


def _score(
    codes: Rows,
    *,
    index: np.ndarray,
    shifts: Sequence[_Shift],
    plain: tuple[np.ndarray, np.ndarray],
    space: Space,
    sizes: Sequence[int],
    threads: int,
    seed: int,
    settings: dict[str, Any],
) -> Score:
    largest, test = len(plain[0]), len(plain[1])

    def accuracy(seen: Rows, first: int, labels: tuple[np.ndarray, np.ndarray], size: int) -> float:
        """Trained on the ``size`` rows from ``first`` on, tested on those behind the training rows."""
        learnt, judged = seen[slice(first, first + size)], seen[slice(first + largest, first + largest + test)]
        model = fit_booster(learnt, labels[0][:size], seed=seed, threads=threads)
        return float(np.mean(model.predict(judged) == labels[1]))

    def shifted(seen: Rows, size: int) -> np.ndarray:
        first = [(number + 1) * (largest + test) for number in range(len(shifts))]
        halves = [(shift.train[:, shift.target], shift.test[:, shift.target]) for shift in shifts]
        found = [accuracy(seen, *row, size) for row in zip(first, halves, strict=True)]
        return np.array(found).reshape(len(space.sizes), -1)  # [target, repeat]

    factors = range(len(space.sizes))
    usual = np.array([[accuracy(codes, 0, (plain[0][:, k], plain[1][:, k]), size) for k in factors] for size in sizes])
    moved = np.array([shifted(codes, size) for size in sizes])  # [size, target, repeat]
    return Score(
        "strong",
        float(moved[-1].mean()),
        float(shifted(Ideal(space, index), sizes[-1]).mean()),
        {
            "plain": float(usual[-1].mean()),
            "gap": float(1 - moved[-1].mean() / usual[-1].mean()) if usual[-1].any() else 0.0,
            "per_factor": moved[-1].mean(axis=1),
            "plain_per_factor": usual[-1],
            "fixed": np.array([[shift.fixed, shift.value] for shift in shifts]).reshape(*moved[-1].shape, 2),
            "by_size": {"strong": moved.mean(axis=2), "plain": usual},
        },
        {
            "estimator": "gradient-boosted trees, 100 stages of depth 3, exact splits",
            **settings,
            "sizes": list(sizes),
            "test": test,
            "seed": check_seed(seed),
        },
    )
