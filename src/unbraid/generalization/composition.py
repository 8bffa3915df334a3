"""Whether a model composes: what it draws of recombined codes, and which factors it reads off new combinations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from unbraid.data import Split, as_floats
from unbraid.errors import UsageError, UsageWarning, unknown_name
from unbraid.evaluation import Function, Measure, Row, register
from unbraid.generalization.drawing import draw
from unbraid.generalization.evaluate import evaluate
from unbraid.generalization.readouts import READOUTS, Readout, fit_readout
from unbraid.generalization.recipes import get_recipe
from unbraid.generalization.recombined import (
    HELD,
    Donors,
    best_assignment,
    block_shares,
    blocks_of,
    factor_blocks,
    join,
    recombined_error,
    train_codes,
)
from unbraid.generalization.scores import space_of
from unbraid.generalization.search import RecombinedSearch
from unbraid.generalization.trained import split_of
from unbraid.metrics import Score

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = ["Composition", "Recombination"]

Infer = Literal["encode", "search"]
LEAST_SHARE = 0.1
"""A block below this share of the image variance is as good as unused."""


@dataclass(frozen=True)
class _OfBlocks(Measure):
    """What both measures share: the split a run was trained on, its blocks, its codes."""

    blocks: tuple[int, ...] = (2,)
    """Blocks of factors, in their order: so many as even as can be (2), or of these sizes (1+5)."""
    images: int = 2_000
    """At most so many images of either side, drawn without repetition."""

    def __post_init__(self) -> None:
        if self.images < 1:
            raise UsageError(f"images must be at least 1, got {self.images}")
        if not self.blocks or min(self.blocks) < 1:
            raise UsageError(f"blocks must be a number of blocks or their sizes, as in 2 or 3+3, got {self.blocks}")

    def applies(self, run: Run, data: Dataset) -> bool:
        return not self._lacks(run, data)

    def lacks(self, run: Run, data: Dataset) -> str:
        return f"{self.needs}; {self._lacks(run, data)}"

    def _lacks(self, run: Run, data: Dataset) -> str:
        """Why it does not apply; empty if it does."""
        if isinstance(run, Function) or not (run.can("encode") and run.can("decode")):
            return "this model does not encode and decode"
        try:
            factor_blocks(space_of(split_of(run, data).data), self.blocks)
        except UsageError as error:
            return str(error)
        return ""


@register("recombination")
@dataclass(frozen=True)
class Recombination(_OfBlocks):
    """Error of images drawn of codes that were joined block by block from different training images.

    A test image with blocks (a, b) is drawn of block a of one training image and block b of another. Beside it the
    same for training images, and the error of the mean training image. Which latent block belongs to which factor block
    is decided on training images.
    """

    title = "Recombination"
    titles: ClassVar[Mapping[str, str]] = {
        "rmse_recombined": "RMSE recombined",
        "rmse_recombined_train": "RMSE recombined, training images",
        "rmse_constant": "RMSE of the mean image",
        "smallest_share": "smallest share of a block",
    }
    needs = (
        "a model that encodes and decodes, trained on the training side of a split that shows all values of each "
        "block (--data NAME:split=composition)"
    )

    def _lacks(self, run: Run, data: Dataset) -> str:
        why = super()._lacks(run, data)
        if not why:
            split = split_of(run, data)
            if not len(self._targets(split, self._donors(split))):
                why = "no test image is made of blocks that training images show"
        return why

    def rows(self, run: Run, data: Dataset, seed: int) -> Iterator[Row]:
        split = split_of(run, data)
        donors, codes = self._donors(split), train_codes(run, split)
        blocks = blocks_of(run, space_of(split.data), codes.shape[1], self.blocks)
        assignment, trained = best_assignment(run, split, codes, donors, blocks, self.images, seed)
        index = self._targets(split, donors)
        factors, rng = split.test.factors(index), np.random.default_rng((seed, 2))
        truth = as_floats(split.test.images(index))
        joined = join(codes, [each.draw(factors, rng) for each in donors], blocks, assignment)
        settings = {"images": len(index), "assignment": list(assignment), "seed": seed}
        scores: dict[str, Score | float] = {
            "rmse_recombined": Score("rmse_recombined", recombined_error(run, joined, truth), 0.0, {}, settings),
            "rmse_recombined_train": trained,
            "rmse_constant": float(np.sqrt(np.square(truth - _mean_image(split)).mean())),
        }
        shares = block_shares(run, codes[draw(len(codes), self.images, seed)])
        if shares is not None:
            smallest = float(shares.min())
            scores["smallest_share"] = Score("smallest_share", smallest, 1 / len(shares), {"per_block": shares}, {})
            if not smallest >= LEAST_SHARE:
                warnings.warn(
                    f"{run.path}: a block of latents makes {smallest:.1%} of the variance of the images, the others "
                    f"the rest ({', '.join(f'{share:.1%}' for share in shares)}): the blocks do not share the image. "
                    "Train again from another seed, or with the true number of latents in each block",
                    UsageWarning,
                    stacklevel=2,
                )
        yield {}, scores

    def _donors(self, split: Split) -> list[Donors]:
        return [Donors(split, block) for block in factor_blocks(space_of(split.data), self.blocks)]

    def _targets(self, split: Split, donors: list[Donors]) -> np.ndarray:
        """Test images whose blocks are all known from training."""
        factors = split.test.factors(np.arange(len(split.test)))
        known = np.flatnonzero(np.all([each.known(factors) for each in donors], axis=0))
        return known[draw(len(known), self.images, 0)] if len(known) else known


@register("composition")
@dataclass(frozen=True)
class Composition(_OfBlocks):
    """R² of factors on the test side of a split, by the encoder or by a search through the decoder.

    ``encode`` asks a model that predicts factors, or a read-out on the codes of one that encodes. ``search`` compares
    an image with what the decoder draws of recombined training codes, block by block, and takes the factors of the
    training images that gave the blocks of the nearest: an additive decoder may know what its encoder does not. The
    variance is that of the whole grid.
    """

    title = "Composition"
    titles: ClassVar[Mapping[str, str]] = {
        "r2_composition": "R² of new combinations",
        "r2_composition_train": "R² of training images",
    }
    needs = (
        "a model that predicts factors, or encodes (and decodes, for search), trained on the training side of a split"
    )
    infer: Infer = "search"
    """How factors are found: encode or search."""
    each: int = 1
    """Search: training images for every combination of values of a block."""
    readout: str = "trees"
    """Encode: what reads factors off codes: trees, which do with few images, mlp, linear."""
    recipe: str = "cpu"
    """Encode: how the read-out is trained: paper, cpu."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.infer not in get_args(Infer):
            raise unknown_name("infer", self.infer, get_args(Infer))
        if self.readout not in READOUTS:
            raise unknown_name("kind of read-out", self.readout, READOUTS)
        if self.each < 1:
            raise UsageError(f"each must be at least 1, got {self.each}")
        get_recipe(self.recipe)

    def _lacks(self, run: Run, data: Dataset) -> str:
        if self.infer == "search":
            return super()._lacks(run, data)
        if isinstance(run, Function) or not (run.can("encode") or self._predicts(run)):
            return "this model neither encodes nor predicts factors"
        try:
            space_of(split_of(run, data).data)
        except UsageError as error:
            return str(error)
        return ""

    def rows(self, run: Run, data: Dataset, seed: int) -> Iterator[Row]:
        split = split_of(run, data)
        model: Run | Readout | RecombinedSearch = run
        if self.infer == "search":
            model = RecombinedSearch(run, split, self.blocks, each=self.each, images=self.images, seed=seed)
        elif not self._predicts(run):
            model = fit_readout(run, split, self.readout, self.recipe)  # type: ignore[arg-type]
        answers = evaluate(model, split.data, split, images=self.images, train_images=self.images)
        found = answers.scores
        parts = {"per_factor": found.r2, "squared_error": found.squared_error}
        settings = {"factors": list(found.factors), "images": found.images, "split": split.kind, "seed": seed}
        score = Score("r2_composition", found.mean, 1.0, parts, settings)
        yield {"infer": self.infer}, {"r2_composition": score, "r2_composition_train": answers.trained.mean}

    def _predicts(self, run: Run) -> bool:
        return run.can("predict") and getattr(run.objective, "predicts", "") == "factors"


def _mean_image(split: Split) -> np.ndarray:
    """Mean over all training images, as floats."""
    images, count = split.train.images, len(split.train)
    starts = range(0, count, HELD)
    total = sum(as_floats(images(np.arange(start, min(start + HELD, count)))).sum(axis=0) for start in starts)
    return np.asarray(total) / count
