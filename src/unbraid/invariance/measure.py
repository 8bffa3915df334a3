"""What a bijective classifier ignores, as a measure of a finished run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from unbraid.errors import UsageError
from unbraid.evaluation import Function, Measure, Row, describe_run, has_classes, register

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["Invariance"]


@register("invariance")
@dataclass(frozen=True)
class Invariance(Measure):
    """How much of the class is left in outputs that a bijective classifier ignores (Jacobsen et al., 2019).

    A new classifier is trained on the nuisance outputs of the data that the run was trained on, and judged, as the
    logits are, on the data asked about (where these are the same, on other images of them). Metamers have the logits
    of one image and all else from another of another class; who says what they show is a proxy, a classifier of its
    own, except on spheres, where geometry does.
    """

    title = "Invariance"
    titles: ClassVar[Mapping[str, str]] = {
        "logit_test_error": "logit error",
        "logit_train_error": "logit error, training data",
        "logit_information": "I(y; z_s) at least, nats",
        "nuisance_test_error": "nuisance error",
        "nuisance_train_error": "nuisance error, training data",
        "nuisance_information": "I(y; z_n) at least, nats",
        "nuisance_steps": "steps of the nuisance classifier",
        "label_entropy": "H(y), nats",
        "chance_error": "error by chance",
        "metamer_residual": "metamers: largest change of a logit",
        "metamer_kept": "metamers with the same logits",
        "metamer_as_logits": "metamers that show the class of their logits",
        "metamer_as_donor": "metamers that show the class of their donor",
        "metamer_by_proxy": "metamers judged by a proxy",
        "proxy_test_error": "error of the proxy",
        "bits_per_dimension": "bits per dimension",
        "inverse_error": "inverse error",
    }
    needs = "a run of firevnet or ice, and data with its classes"
    train: int = 20_000
    """At most so many images that the nuisance classifier learns from."""
    images: int = 10_000
    """At most so many images that it and the logits are judged on."""
    metamers: int = 1_000
    """So many of these get the nuisance outputs of another class."""
    tolerance: float = 1e-3
    """Metamers whose logits differ by more from those they should have do not count."""
    width: int = 512
    """Units of each hidden layer of the nuisance classifier."""
    depth: int = 3
    """Its hidden layers."""
    steps: int = 10_000
    """Its updates at most, with batches of 128."""
    patience: int = 10
    """It has converged when so many looks, a hundred steps apart, at a tenth of its images showed nothing better."""
    learning_rate: float = 1e-3
    """Step size of its Adam."""
    standardise: bool = True
    """Bring each nuisance output to mean 0 and deviation 1 first."""
    proxy: str = ""
    """Folder of a run that says what metamers show; by default a small network is trained for it."""
    proxy_steps: int = 1_500
    """Updates of that network, with batches of 100."""

    def __post_init__(self) -> None:
        for name in ("width", "depth", "steps", "patience", "proxy_steps"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name, least in (("train", 20), ("images", 2), ("metamers", 2)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("tolerance", "learning_rate"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0, got {getattr(self, name)}")

    def applies(self, run: Run, data: ImageDataset) -> bool:
        return not isinstance(run, Function) and run.can("invert") and has_classes(run, data)

    def reads(self) -> Mapping[str, Any]:
        if not self.proxy:
            return {}
        from unbraid.training import open_run

        return {"proxy": describe_run(open_run(self.proxy))}

    def rows(self, run: Run, data: ImageDataset, seed: int) -> Iterator[Row]:
        from unbraid.invariance.measured import scores

        yield {}, partial(scores, self, run, data, seed)
