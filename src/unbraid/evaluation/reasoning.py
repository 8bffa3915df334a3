"""How fast abstract reasoning is learnt from the codes of a run (van Steenkiste et al., 2019), as a measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from unbraid.data import Cells, MatrixStream, quantised_sizes, votes
from unbraid.errors import UsageError
from unbraid.evaluation.base import Measure, Row, register
from unbraid.evaluation.models import encode_all
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["ReasoningCurve", "reasoning_curve"]

SAMPLES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
BATCH = 32


@register("reasoning")
@dataclass(frozen=True)
class ReasoningCurve(Measure):
    """Accuracy of a relation network on 3x3 matrices of codes, after 1,000, 2,000, 5,000, ... matrices were seen.

    Codes of all cells of a coarse grid of factors are computed once and looked up; the network is that of the objective
    ``reasoning``.
    ``area`` is the mean accuracy over the logarithm of the number of matrices, ``answers_only`` what the better of two
    votes gets that see the answers and no matrix: accuracy that is not above it says nothing. Chance is 1/6.
    """

    title = "Abstract reasoning"
    titles: ClassVar[Mapping[str, str]] = {"area": "mean accuracy over log samples", "answers_only": "answers alone"}
    needs = "a model that encodes, and data on a full grid of factors of three values or more"
    mode: Literal["easy", "hard", "fair"] = "fair"
    """How wrong answers are drawn: easy, hard or fair."""
    active: int = 0
    """How many factors are constant in rows: 1, 2 or 3; 0 draws that for each matrix."""
    steps: int = 3125
    """Steps of training, 32 matrices each."""
    test: int = 3200
    """Matrices it is judged on."""
    edge: tuple[int, ...] = (256, 256)
    """Widths of the network that sees two panels."""
    graph: tuple[int, ...] = (128,)
    """Widths of the network that sees their sum."""
    learning_rate: float = 1e-3
    """Step size of Adam."""

    def __post_init__(self) -> None:
        if min(self.steps, self.test) < 1:
            raise UsageError(f"steps and test must be at least 1, got {self.steps} and {self.test}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        space = getattr(data, "space", None)
        return run.can("encode") and space is not None and sum(size >= 3 for size in space.sizes) >= 2

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        codes, sizes = _codes_of_cells(run, data, seed)
        found = reasoning_curve(
            codes,
            sizes,
            mode=self.mode,
            active=self.active,
            steps=self.steps,
            test=self.test,
            seed=seed,
            edge=self.edge,
            graph=self.graph,
            learning_rate=self.learning_rate,
        )
        for samples, accuracy in found["accuracy"].items():
            error = math.sqrt(accuracy * (1 - accuracy) / self.test)
            yield {"samples": samples}, {"accuracy": Score("accuracy", accuracy, 1.0, {"standard_error": error})}
        yield (
            {"samples": 0},
            {"area": found["area"], **{f"answers_{key}": found[key] for key in ("only", "most", "least")}},
        )


def _codes_of_cells(run: Run, data: ImageDataset, seed: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The code of one image of every cell of the coarse grid."""
    space = data.need_space("abstract reasoning")
    sizes = quantised_sizes(space.sizes)
    cells = np.indices(sizes).reshape(len(sizes), -1).T
    index = space.index(cells * np.array(space.sizes) // np.array(sizes))
    rng = np.random.default_rng(seed)  # images may depend on chance
    return encode_all(run, data, index, rng), sizes


def reasoning_curve(
    codes: np.ndarray,
    sizes: Sequence[int],
    *,
    mode: Literal["easy", "hard", "fair"] = "fair",
    active: int = 0,
    steps: int = 3125,
    test: int = 3200,
    seed: int = 0,
    edge: Sequence[int] = (256, 256),
    graph: Sequence[int] = (128,),
    learning_rate: float = 1e-3,
) -> dict:
    """Train a relation network on codes ``[cells, d]`` of all cells of a grid; last factor fastest.

    Returns ``accuracy`` by the number of matrices seen, its mean over their logarithm (``area``), and what votes on the
    answers alone get: ``most`` and ``least`` in common with the others, and the better of them, ``only``. Matrices it
    is judged on are drawn by another seed; the grid is small, so that single panels are the same.
    """
    import torch

    from unbraid.objectives import Reasoning
    from unbraid.training import Loop, problem_of

    data = Cells(codes, sizes)
    values = tuple(sizes)
    objective = Reasoning(
        mode=mode, active=active, values=values, edge=tuple(edge), graph=tuple(graph), learning_rate=learning_rate
    )
    judged_by = MatrixStream(data, test, seed + 1, mode=mode, active=active, values=values)
    asked, shown = judged_by(0), judged_by.matrices(0)
    stream = MatrixStream(data, BATCH, seed, mode=mode, active=active, values=values)
    model = objective.make_model(problem_of(data), torch.Generator().manual_seed(seed))
    loop = Loop(objective, model, stream, seed, torch.device("cpu"), "fp32")
    assert asked.labels is not None

    def accuracy() -> float:
        model.eval()
        with torch.inference_mode():
            panels = torch.as_tensor(asked.images)
            logits = torch.cat([model.choose(part) for part in panels.split(256)])  # type: ignore[operator]
        model.train()
        return float(np.mean(logits.argmax(1).numpy() == asked.labels))

    due = sorted({*(-(-count // BATCH) for count in SAMPLES if count <= BATCH * steps), steps})
    found: dict[int, float] = {}
    model.train()
    for stop in due:
        while loop.step < stop:
            loop.advance()
        found[BATCH * stop] = accuracy()
    heard = votes(shown.answers, shown.solution)
    return {"accuracy": found, "area": _area(found), "only": max(heard.values()), **heard}


def _area(curve: Mapping[int, float]) -> float:
    """Mean height over the logarithm of the number of samples."""
    places, heights = np.log(list(curve)), np.array(list(curve.values()))
    if len(places) == 1:
        return float(heights[0])
    return float(np.trapezoid(heights, places) / (places[-1] - places[0]))
