"""What a predicting network is asked: numbers, classes, or several of them side by side in its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.objectives.base import Inputs
    from unbraid.problem import Problem

__all__ = ["CATEGORICAL", "Task", "class_tasks", "factor_column", "true_classes"]

CATEGORICAL = "categorical"
"""Instead of a factor's name: every factor whose values have no order."""


@dataclass(frozen=True)
class Task:
    """One thing that is asked of an image, and how many of the network's outputs answer it."""

    name: str
    """A factor's name, ``class`` (that of the data set), or ``factors`` (all of them)."""
    predicts: Literal["classes", "factors"]
    size: int
    factor: str = ""
    """The factor whose values are the classes; empty for the data set's own classes."""


def class_tasks(factor: str, problem: Problem, asker: str) -> tuple[Task, ...]:
    """The classes to name: the data set's own, or the values of factors (joined by +, or all categorical ones)."""
    if not factor:
        if not problem.classes:
            known = ", ".join(problem.factor_names)
            way = f"--factor NAME makes one of its factors the class: {known}" if known else "see `unbraid data list`"
            raise UsageError(f"objective {asker!r} needs data with classes, which these have not; {way}")
        return (Task("class", "classes", problem.classes),)
    names = _without_order(problem) if factor == CATEGORICAL else factor.split("+")
    columns = [factor_column(name, problem) for name in names]
    if len(set(names)) < len(names):
        raise UsageError(f"factor {factor!r} names a factor twice")
    if problem.factor_sizes is None:
        raise UsageError(f"factor {factor!r} was measured and has no classes; objective 'regressor' predicts its value")
    return tuple(
        Task(name, "classes", problem.factor_sizes[column], name) for name, column in zip(names, columns, strict=True)
    )


def true_classes(task: Task, problem: Problem, inputs: Inputs, asker: str) -> Tensor:
    """The class of each image, ``[n]``."""
    if task.factor:
        if inputs.factors is None:
            raise UsageError(
                f"objective {asker!r} with factor {task.factor!r} needs a stream with the factors of images"
            )
        return inputs.factors[:, factor_column(task.factor, problem)].long()
    found = inputs.labels
    if found is None or found.ndim != 1:
        raise UsageError(f"objective {asker!r} needs a stream with the class of every image")
    return found.long()


def factor_column(factor: str, problem: Problem) -> int:
    """Where a factor stands among those of the data."""
    if factor not in problem.factor_names:
        if not problem.factor_names:
            raise UsageError(f"factor {factor!r} is asked for, but these data have no known factors")
        raise unknown_name("factor", factor, problem.factor_names)
    return problem.factor_names.index(factor)


def _without_order(problem: Problem) -> list[str]:
    known = zip(problem.factor_names, problem.factor_kinds, strict=False)
    found = [name for name, kind in known if kind == CATEGORICAL]
    if not found:
        raise UsageError(
            f"factor {CATEGORICAL!r}: none of {', '.join(problem.factor_names) or 'no factors'} is without an order; "
            "name those whose values are classes, joined by +"
        )
    return found
