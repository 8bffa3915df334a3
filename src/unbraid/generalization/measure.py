"""What a run says of the factors of images it was not trained on, as a measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import Function, Measure, Row, answer_path, measure, register
from unbraid.generalization.evaluate import Answers, evaluate
from unbraid.generalization.predictions import Predictions, read_predictions, write_predictions
from unbraid.generalization.readouts import READOUTS, Readout, fit_readout
from unbraid.generalization.recipes import get_recipe
from unbraid.generalization.trained import split_of
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["Generalization", "predictions_of"]

DRAWN = 0
"""Decides which images all models of a split are asked about, whatever seed they are measured with."""


@register("generalization")
@dataclass(frozen=True)
class Generalization(Measure):
    """R² of factors on the images of a split that a run was not trained on (Schott et al., 2022).

    Every run of a split is asked about the same images, evenly drawn from its test side, so that R² estimates that of
    the whole side without bias. What it said lies beside the answer as a table, see
    :func:`unbraid.generalization.predictions_of`.
    """

    title = "Generalization"
    titles: ClassVar[Mapping[str, str]] = {
        "r2_test": "R² test",
        "mean_squared_error_test": "MSE test",
        "r2_train": "R² train",
        "r2_constant": "R² constant",
        "r2_train_mean": "R² train mean",
        "r2_clamp": "R² clamp",
        "r2_unseen": "R² unseen",
        "r2_others": "R² others",
    }
    """Of the model on both sides, of the baselines on the test side; of a factor that alone has an unseen value, and of
    all others then."""
    needs = "a model that predicts factors or encodes, trained on the training side of a split (--data NAME:split=KIND)"
    beside: ClassVar[tuple[str, ...]] = (".parquet",)
    images: int = 10_000
    """At most so many images of the test side, drawn without repetition."""
    train_images: int = 2_000
    """At most so many images of the training side."""
    one_ood: int = 200
    """Images in which one factor alone has an unseen value, for each such factor, for the analyses that need them."""
    readout: str = "mlp"
    """What reads factors off the codes of a run that predicts none: mlp, linear, trees; none leaves such runs out."""
    recipe: str = "paper"
    """How the read-out is trained: paper, cpu."""

    def __post_init__(self) -> None:
        for name, least in (("images", 1), ("train_images", 1), ("one_ood", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.readout not in (*READOUTS, "none"):
            raise unknown_name("kind of read-out", self.readout, (*READOUTS, "none"))
        get_recipe(self.recipe)

    def applies(self, run: Run, data: Dataset) -> bool:
        return not self._lacks(run, data)

    def lacks(self, run: Run, data: Dataset) -> str:
        return f"{self.needs}; {self._lacks(run, data)}"

    def rows(self, run: Run, data: Dataset, seed: int) -> Iterator[Row]:
        halves = split_of(run, data)
        model = run if self._predicts(run) else fit_readout(run, halves, self.readout, self.recipe)  # type: ignore[arg-type]
        answers = evaluate(
            model,
            halves.data,
            halves,
            images=self.images,
            train_images=self.train_images,
            one_ood=self.one_ood,
            seed=DRAWN,
        )
        read = model.about() if isinstance(model, Readout) else {}
        path = answer_path(run, data, self, seed=seed, suffix=".parquet")
        if path is not None:
            write_predictions(path, answers, {**_about(run), **read})
        yield {}, self._scores(answers, read)

    def _scores(self, answers: Answers, read: Mapping[str, Any]) -> dict[str, Score | float]:
        found, facts = answers.scores, answers.facts
        settings = {
            "factors": list(found.factors),
            "images": found.images,
            "split": facts.kind,
            "split_seed": facts.seed,
            "split_hash": facts.hash,
            **read,
        }
        parts = {"per_factor": found.r2, "squared_error": found.squared_error}
        scores: dict[str, Score | float] = {
            "r2_test": Score("r2_test", found.mean, 1.0, parts, settings),
            "mean_squared_error_test": found.mean_squared_error,
            "r2_train": answers.trained.mean,
        }
        for name, one in answers.baselines.items():
            scores[f"r2_{name.replace('-', '_')}"] = one.mean
        if facts.unseen:
            table = answers.modularity()
            scores["r2_unseen"], scores["r2_others"] = (float(table[name].mean()) for name in ("ood", "id"))  # type: ignore[arg-type]
        return scores

    def _predicts(self, run: Run) -> bool:
        """Whether it needs no read-out."""
        if isinstance(run, Function):
            return True
        return run.can("predict") and getattr(run.objective, "predicts", "") == "factors"

    def _lacks(self, run: Run, data: Dataset) -> str:
        """Why it does not apply; empty if it does."""
        if not self._predicts(run) and (self.readout == "none" or not run.can("encode")):
            return f"{run.path.name} does not predict factors"
        try:
            split_of(run, data)
        except UsageError as error:
            return str(error)
        return ""


def _about(run: Run) -> dict[str, Any]:
    """What is known of a run, for the file of what it said."""
    info = run.info
    return {
        "run": run.path.resolve().name,
        "objective": info["objective"],
        "seed": info["seed"],
        "step": info["step"],
        "budget": info.get("budget"),
        "batch_size": info.get("batch_size"),
    }


def predictions_of(run: Run, data: Dataset | None = None, asked: Measure | None = None, seed: int = 0) -> Predictions:
    """What a run said when the measure ``generalization`` was asked; it is asked now if it was not before.

    ``data`` is the data set it was trained on unless given; ``asked`` is the measure with other settings than usual.
    """
    chosen = Generalization() if asked is None else asked
    own = run.data() if data is None else data
    path = answer_path(run, own, chosen, seed=seed, suffix=".parquet")
    if path is None:
        raise UsageError("run must be one that was trained here; of a function, evaluate(...) gives the answers")
    lies = path.exists() and path.with_suffix(".json").exists()
    if not lies and not measure(run, own, chosen, seed=seed, again=True):
        raise UsageError(f"{run.path} cannot be asked: {chosen.lacks(run, own)}")
    return read_predictions(path)
