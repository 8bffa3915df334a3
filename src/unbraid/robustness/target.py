"""What is attacked: a run as it is, a run behind a threshold, or the nearest of the images that it was trained on."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import class_tasks, describe_run, draw_images, fingerprint_data, true_classes
from unbraid.files import make_folders, save_table
from unbraid.robustness._examples import Examples
from unbraid.robustness.budgets import FEW, check_budget

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.nets import ClassVAEs, Search
    from unbraid.robustness.attacks import Classifier
    from unbraid.training import Run

__all__ = ["VARIANTS", "Target"]

VERSION = 5
"""Goes up when an attack gives other distances than it did: what is stored is then measured anew."""
VARIANTS = {
    "binarised": "Binary ABS: an ABS run behind a threshold, with energies scaled to fit training images",
    "neighbour": "the nearest neighbour among the training images of the run",
}
"""What else can be attacked of a run."""
THRESHOLD = 0.5
FITTED = 1000
"""So many training images the scales of Binary ABS are fitted to."""


class Target:
    """A run that is attacked on some images, and the folder that keeps what was found.

    ``variant`` attacks something else in its place: see ``VARIANTS``. ``substitute`` is another run of the same classes
    whose adversarials are tried on this one. Runs that classify by a search are attacked with fewer passes of it.
    """

    def __init__(
        self,
        run: Run,
        data: ImageDataset,
        budget: str = "quick",
        *,
        folder: str | Path,
        images: int = 100,
        seed: int = 0,
        variant: str = "",
        substitute: Run | None = None,
    ) -> None:
        check_budget(budget)
        if variant and variant not in VARIANTS:
            raise unknown_name("variant", variant, VARIANTS)
        search = getattr(run.objective, "search", None)
        if variant == "binarised" and search is None:
            raise UsageError(f"variant 'binarised' is Binary ABS, and {run.path} was trained by {run.objective.name!r}")
        if substitute is not None:
            _check_substitute(run, substitute)
        self.run, self.budget, self.folder, self.seed, self.variant = run, budget, Path(folder), seed, variant
        self.search: Search | None = None if variant == "neighbour" else search
        self.examples = Examples(data, images, seed)
        self.labels = self.examples.labels(run)
        self.substitute = substitute
        self.about = {"run": describe_run(run), "data": fingerprint_data(data), "seed": seed, "version": VERSION}
        if variant:
            self.about["variant"] = variant

    @property
    def dear(self) -> bool:
        """Whether a question costs a thousand times what it costs a network: a search, or all training images."""
        return self.search is not None or self.variant == "neighbour"

    @property
    def threshold(self) -> float | None:
        """What pixels are compared with before anything else, if they are."""
        if self.variant:
            return THRESHOLD if self.variant == "binarised" else None
        from unbraid.nets.predictors import StraightThrough

        net = getattr(self.run.model, "net", None)
        return net.threshold if isinstance(net, StraightThrough) else None

    @cached_property
    def models(self) -> tuple[Classifier, Classifier | None]:
        """What attacks ask, and what verifies their answers if that is another: a whole search instead of a short one.

        Made when first needed: what is stored is read without.
        """
        from unbraid.robustness.attacks import Classifier

        name = self.run.path.name
        if self.variant == "neighbour":
            return Classifier(self._neighbour(), f"nearest neighbour of {name}"), None
        if self.search is None:
            return Classifier(self.run), None
        whole = Classifier(self._searching(self.search), name)
        few = _shorter(self.search, **FEW[self.budget])
        return (whole, None) if few == self.search else (Classifier(self._searching(few), name), whole)

    @property
    def judge(self) -> Classifier:
        """The model whose word counts."""
        classify, verify = self.models
        return verify or classify

    def probe(self) -> None:
        """Refuse scores that cannot be attacked, of the run or of the substitute, by asking for two images."""
        if self.variant:  # the run itself or its training images in another guise
            return
        from unbraid.robustness.attacks import Classifier, Misclassified, float_images

        pixels, truth = float_images(self.examples.read(slice(0, 2)), self.labels[:2])
        for one in (self.judge, *(() if self.substitute is None else (Classifier(self.substitute),))):
            x = one.place(pixels)
            Misclassified(truth.to(x.device)).check(one.scores(x), one.name)

    @cached_property
    def scales(self) -> np.ndarray | None:
        """What energies of classes are multiplied by in Binary ABS, fitted to training images once and kept."""
        if self.variant != "binarised":
            return None
        import polars

        path = self.place("scales") / "scales.parquet"
        if not path.exists():
            from unbraid.robustness.synthesis import fit_scales, infer

            data = self.run.data()
            index = draw_images(data, FITTED, self.seed)
            binary = (data.images(index) >= 255 * THRESHOLD).astype(np.uint8) * 255
            found = fit_scales(-infer(self.run, binary).energy, true_classes(self.run, data, index))
            make_folders(path.parent)
            save_table(polars.DataFrame({"scale": found}), path)
        return polars.read_parquet(path)["scale"].to_numpy(writable=True)

    def place(self, kind: str, **about: Any) -> Path:
        """The folder of the blocks of one question."""
        told = {**self.about, "kind": kind, **about}
        if self.search is not None:
            told["few"] = FEW[self.budget]
        key = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:12]
        return self.folder / f"{kind}-{key}"

    def _searching(self, search: Search) -> Any:
        from unbraid.robustness.synthesis import Binarised, SearchClassifier

        model = SearchClassifier(cast("ClassVAEs", copy.deepcopy(self.run.model)), search)
        return Binarised(model, THRESHOLD, self.scales) if self.variant == "binarised" else model

    def _neighbour(self) -> Any:
        from unbraid.robustness.synthesis import NearestNeighbour

        data = self.run.data()
        index = np.arange(len(data))
        return NearestNeighbour(data.images(index), true_classes(self.run, data, index))


def _check_substitute(run: Run, substitute: Run) -> None:
    """Refuse a run of other images or classes before hours of other attacks."""
    there, here = (
        f"{list(one.problem.shape)}, "
        + (", ".join(f"{task.size} classes {task.factor}".rstrip() for task in class_tasks(one)) or "no classes")
        for one in (substitute, run)
    )
    if there != here:
        raise UsageError(
            f"substitute must be a run of the same images and classes, got {substitute.path} of {there}, and "
            f"{run.path} of {here}; train it on the same data"
        )


def _shorter(search: Search, samples: int, iterations: int, faster: float, classes: int) -> Search:
    """A search that gives up earlier; one that is as short already stays."""
    if search.iterations <= iterations:
        return search
    few = min(search.samples, samples)
    return replace(search, samples=few, iterations=iterations, rate=faster * search.rate, classes=classes)
