"""What is built on a trained run: a read-out of its codes, codes that are verified, drawings that must match."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.data import Dataset, counter_rng, from_vectors
from unbraid.errors import UsageError, unknown_name
from unbraid.evaluation import describe_run, draw_images
from unbraid.generalization import Codes
from unbraid.metrics import adapted
from unbraid.transfer.subjects import Subject

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["READINGS", "ReadOff", "fit_readout", "read_off"]

READINGS = ("readout", "verified", "exact")
CODES, STEPS, CLEAN = 40_000, 6_000, 500
"""Training images and steps of a read-out; clean images that mismatches are compared with."""
SAMPLES, PASSES = 200, 10
"""Random codes and passes of the search where codes are inferred anew."""
READER = "mlp:width=200,depth=3"
"""The network from codes to class and factors, however codes are found: wide, so that codes are the limit."""
QUANTILE = 0.95
"""So many clean images match: those that match worse are inferred anew, or rejected."""


class ReadOff(nn.Module):
    """A frozen encoder and a read-out of its codes, from float images to what one task of the read-out asks."""

    def __init__(self, run: Run, readout: Run, task: str) -> None:
        super().__init__()
        self.encoder, self.objective = run.model, run.objective
        self.readout, self.reader, self.task = readout.model, readout.objective, task
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> ReadOff:
        """Stay in evaluation mode: it is asked, not trained."""
        return super().train(False)

    def codes(self, images: Tensor) -> Tensor:
        return self.objective.encode(self.encoder, images)

    def forward(self, images: Tensor) -> Tensor:
        return self.reader.answers(self.readout, self.codes(images))[self.task]


class Verified(ReadOff):
    """Codes are decoded and compared with the image; where they differ too much they are searched for instead.

    Gradients are those of the encoder, also where its codes are replaced.
    """

    def __init__(self, run: Run, readout: Run, task: str, most: float, search: Any) -> None:
        super().__init__(run, readout, task)
        self.run, self.most, self.search = run, most, search

    def codes(self, images: Tensor) -> Tensor:
        found = super().codes(images)
        with torch.no_grad():
            rows = (self.mismatch(images, found) > self.most).nonzero()[:, 0]
            if len(rows):
                searched = torch.from_numpy(self.search(images[rows].clamp(0, 1))).to(found)
                moved = torch.zeros_like(found).index_copy(0, rows, searched - found[rows].detach())
            else:
                moved = torch.zeros_like(found)
        return found + moved

    def mismatch(self, images: Tensor, codes: Tensor) -> Tensor:
        """Squared distance of images to what their codes draw."""
        return (self.objective.decode(self.encoder, codes) - images).flatten(1).square().sum(1)


class Exact(nn.Module):
    """Minus the energies of classes and, as one class more, the least score that counts: that of no class at all.

    An image that none explains as well as clean images are is of that class, which is never the true one.
    """

    def __init__(self, classify: nn.Module, most: float) -> None:
        super().__init__()
        self.classify, self.most = classify, most

    def forward(self, images: Tensor) -> Tensor:
        scores = self.classify(images)
        return torch.cat([scores, torch.full_like(scores[:, :1], -self.most)], dim=1)

    def infer(self, images: Tensor) -> Any:
        """What each class would draw; on the way to no class an image goes to the second best."""
        found = self.classify.infer(images)  # type: ignore[operator]
        second = found.energy.topk(2, largest=False).indices[:, 1]
        other = found.reconstruction[torch.arange(len(images), device=images.device), second]
        return replace(found, reconstruction=torch.cat([found.reconstruction, other[:, None]], dim=1))


@lru_cache(maxsize=2)  # every scenario asks for the same one
def read_off(run: Run, reading: str, factor: str = "", labels: int | None = None) -> Subject:
    """A run with something built on it, fitted on its training images; what was fitted before is read.

    ``labels`` bounds the labelled images of a read-out.
    """
    if reading not in READINGS:
        raise unknown_name("reading", reading, READINGS)
    name = run.path.name
    if reading == "exact":
        if run.objective.name != "abs":
            raise UsageError(
                f"reading 'exact' rejects drawings that do not match, and {run.objective.name!r} draws none"
            )
        own = any(task.factor == factor for task in run.tasks())
        images = _some(run.data(), CLEAN // 5)
        energies = -run.predict(images).max(axis=1)
        return Subject(
            Exact(run.classifier(), float(np.quantile(energies, QUANTILE))),
            name=name,
            factor=factor if own else "",
            source=run,
            rejects=True,
        )
    readout = fit_readout(run, factor, labels=labels)
    task = next(each.name for each in readout.tasks() if each.predicts == "classes")
    make: Any = ReadOff
    if reading == "verified":
        from unbraid.robustness.synthesis import Generators, infer

        generators = Generators(run)
        clean = torch.from_numpy(_some(run.data(), CLEAN)).permute(0, 3, 1, 2).float().div(255)
        with torch.no_grad():
            codes = run.objective.encode(run.model, clean)
            errors = (run.objective.decode(run.model, codes) - clean).flatten(1).square().sum(1)

        def search(found: Tensor) -> np.ndarray:
            return infer(run, found, samples=SAMPLES, iterations=PASSES, generators=generators).codes[:, 0]

        make = partial(Verified, most=float(errors.quantile(QUANTILE)), search=search)
    factors = None
    if readout.objective.predicts == "factors":
        factors = adapted(make(run, readout, "factors"))
    return Subject(make(run, readout, task), name=name, factor=factor, factors=factors, source=run)


def fit_readout(run: Run, factor: str = "", *, labels: int | None = None) -> Run:
    """A small network from codes to class and factors, in the run's folder; ``labels`` bounds its training images."""
    from unbraid.training import open_run, train

    data = run.data()
    index = draw_images(data, CODES if labels is None else labels, 0)
    about = {"run": describe_run(run), "images": len(index), "net": READER, "factor": factor, "steps": STEPS}
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
    out = Path(run.path) / "readouts" / f"class-{key}"
    if (out / "run.json").exists() and (there := open_run(out)).finished:
        return there
    codes = _codes(run, data, index)
    options: dict[str, Any] = {"factor": factor} if factor else {}
    objective = "supervised" if codes.has_factors else "classifier"
    size = min(64, len(codes))
    found = train(
        objective, codes, out=out, steps=STEPS, batch_size=size, precision="fp32", progress="none", net=READER,
        learning_rate=1e-3, **options,
    )  # fmt: skip
    if not found.finished:
        raise KeyboardInterrupt(f"the read-out in {out} was stopped; the same call goes on with it")
    return found


def _codes(run: Run, data: Dataset, index: np.ndarray) -> Dataset:
    codes = run.encode(data.images(index, counter_rng(0, 0))).astype(np.float32)
    whole = data.grid
    if whole is not None:
        return Codes(codes, data, index, whole)
    return from_vectors(codes, labels=data.labels(index), classes=data.classes, name=f"codes of {data.name}")


def _some(data: Dataset, count: int) -> np.ndarray:
    return data.images(draw_images(data, count, 1), counter_rng(0, 0))
