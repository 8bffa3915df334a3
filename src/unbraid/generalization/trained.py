"""The split that a run was trained on, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.data import Split, SplitPart, split
from unbraid.errors import UsageError
from unbraid.evaluation import Function

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["split_of"]


def split_of(run: Run, data: Dataset) -> Split:
    """The split of which ``run`` saw the training side, from one of its sides or the whole data set.

    Refused if the run was trained on anything else: it may have seen the images it would be asked about. What a
    function was trained on is not known; it is taken at its word that it was this.
    """
    whole = data.side is None
    halves = data.split if isinstance(data, SplitPart) else None
    if isinstance(run, Function):
        if halves is None:
            raise UsageError(f"{data.name!r} is no side of a split; give split(data, kind).train in its place")
        return halves
    run.check_data(data)
    seen = run.info["data"].get("split")
    if seen is None or seen["side"] != "train":
        trained = "the whole data set" if seen is None else f"the side {seen['side']!r} of a split"
        raise UsageError(f"{run.path} was trained on {trained}, not on the training side of a split")
    if halves is None and whole:
        kind = seen["kind"] if seen["kind"] != "own" else _own(run)
        halves = None if kind is None else split(data, kind, seen["seed"] or 0)
    if halves is None:
        raise UsageError(f"{data.name!r} does not say which images are on the other side; give the whole data set")
    if halves.hash != seen["hash"]:
        raise UsageError(
            f"{run.path} was trained on the split {seen['kind']} ({seen['hash']}), and this one of {data.name!r} is "
            f"another ({halves.hash}): images of its test side may have been trained on"
        )
    return halves


def _own(run: Run) -> dict[str, dict[str, list[int]]] | None:
    """The rule that somebody made, where the run's record of its data tells it."""
    recipe = run.info["data"]["recipe"] or {"options": {}}
    found = recipe["options"].get("split")
    return found if isinstance(found, dict) else None
