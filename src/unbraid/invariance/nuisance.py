"""What can be told from outputs that are ignored: a new classifier on a frozen network, and bounds in nats."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbraid.errors import UsageError
from unbraid.invariance.bijective import as_bijective, outputs_of
from unbraid.nets import build_predictor

__all__ = [
    "NuisanceClassifier",
    "Reader",
    "error_of",
    "information_of",
    "judge_reader",
    "label_entropy",
    "mi_lower_bound",
    "train_nuisance",
    "train_reader",
]

HELD_OUT = 10
"""One of so many training samples decides which weights are kept."""


def label_entropy(labels: Tensor) -> float:
    """Entropy of classes ``[n]`` by their frequencies, in nats."""
    shares = torch.bincount(labels).double() / len(labels)
    return float(torch.special.entr(shares).sum())


def mi_lower_bound(classifier: Callable[[Tensor], Tensor], z: Tensor, labels: Tensor) -> float:
    """I(y; z) >= H(y) + E log D(y|z), in nats, clipped at 0 (Barber & Agakov, 2003).

    D is the softmax of the classifier's scores. The bound is tight where D is the posterior; a weak or overconfident
    classifier makes it loose, never wrong, apart from the chance of which samples were drawn.
    """
    with torch.no_grad():
        return information_of(classifier(z), labels)


def information_of(scores: Tensor, labels: Tensor) -> float:
    """The same bound from class scores ``[n, C]``: of logits, how much their own softmax tells of the class."""
    _check_finite(scores, "scores")
    return max(0.0, label_entropy(labels) - F.cross_entropy(scores.double(), labels).item())


def _check_finite(values: Tensor, name: str) -> None:
    bad = int((~values.isfinite()).any(1).sum())
    if bad:
        raise UsageError(
            f"{name} must be finite, but {bad} of {len(values)} rows are not: the network overflows on these samples; "
            "look at them, or train it with a smaller step or additive couplings"
        )


def error_of(scores: Tensor, labels: Tensor) -> float:
    """Share of samples whose class does not have the highest score."""
    return float((scores.argmax(1) != labels).double().mean())


class Reader(nn.Module):
    """A fully connected classifier of vectors, which may standardise them by the data it was trained on."""

    mean: Tensor
    std: Tensor
    steps: int = 0
    """After how many updates it was as it is: those that did best."""

    def __init__(
        self, z: Tensor, classes: int, *, width: int, depth: int, standardise: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.register_buffer("mean", z.mean(0) if standardise else torch.zeros_like(z[0]))
        self.register_buffer("std", z.std(0, correction=0).clamp_min(1e-6) if standardise else torch.ones_like(z[0]))
        name = f"mlp:width={width},depth={depth}"
        self.net = build_predictor(name, (z.shape[1],), classes, generator=generator).to(z)

    def forward(self, z: Tensor) -> Tensor:
        found: Tensor = self.net((z - self.mean) / self.std)
        return found


def train_reader(
    z: Tensor,
    labels: Tensor,
    *,
    width: int = 1000,
    depth: int = 3,
    steps: int = 2000,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    standardise: bool = False,
    classes: int = 2,
    patience: int | None = None,
    seed: int = 0,
) -> Reader:
    """A classifier of vectors ``[n, d]`` by Adam; the weights that do best on a tenth of the samples are kept.

    That tenth is looked at every hundred steps. Training ends after ``steps``, or when ``patience`` looks in a row
    showed nothing better.

    ``standardise`` brings each number to mean 0 and deviation 1 first. It is as right on data, and learns faster where
    scales differ; away from the data it decides otherwise: on spheres it errs in planes where a plain one does not.
    There are at least ``classes``, and as many as the labels say.
    """
    if z.ndim != 2 or labels.shape != (len(z),):
        raise UsageError(f"z must be [n, d] with one class each, got {list(z.shape)} and {list(labels.shape)}")
    if len(z) < 2 * HELD_OUT:
        raise UsageError(f"at least {2 * HELD_OUT} samples are needed to train on, got {len(z)}")
    _check_finite(z, "z")
    generator = torch.Generator().manual_seed(seed)
    z, classes = z.detach(), max(classes, 2, int(labels.max()) + 1)
    order = torch.randperm(len(z), generator=generator)
    kept, train = order[: len(z) // HELD_OUT], order[len(z) // HELD_OUT :]
    reader = Reader(z[train], classes, width=width, depth=depth, standardise=standardise, generator=generator)
    optimizer = torch.optim.Adam(reader.net.parameters(), lr=learning_rate)
    every = max(1, min(100, steps // 10))
    best, weights, since = math.inf, copy.deepcopy(reader.state_dict()), 0
    for step in range(steps):
        rows = train[torch.randint(len(train), (batch_size,), generator=generator)]
        optimizer.zero_grad()
        F.cross_entropy(reader(z[rows]), labels[rows]).backward()
        optimizer.step()
        if (step + 1) % every == 0 or step + 1 == steps:
            with torch.no_grad():
                loss = F.cross_entropy(reader(z[kept]), labels[kept]).item()
            since += 1
            if loss < best:
                best, weights, since, reader.steps = loss, copy.deepcopy(reader.state_dict()), 0, step + 1
            if since == patience:
                break
    reader.load_state_dict(weights)
    return reader.eval().requires_grad_(False)


@dataclass(frozen=True)
class NuisanceClassifier:
    """A classifier trained on the nuisance outputs of a frozen bijection, and how well it does."""

    reader: Reader
    train_error: float
    test_error: float
    information: float
    """Lower bound of I(y; z_n) in nats, on the test samples."""
    entropy: float
    """H(y) of the test samples, the most there is to know."""
    chance: float
    """Error of always naming the most frequent class of the test samples."""

    def __call__(self, nuisance: Tensor) -> Tensor:
        """Scores ``[n, C]`` of nuisance outputs."""
        return self.reader(nuisance)


def train_nuisance(
    net: Any,
    x: Tensor,
    labels: Tensor,
    test_x: Tensor,
    test_labels: Tensor,
    *,
    classes: int | None = None,
    **options: Any,
) -> NuisanceClassifier:
    """Freeze the network, train a new classifier on z_n of x, and judge it on samples it has not seen.

    The nuisance classifier that played against the network in training is never reported: it was beaten, which does
    not mean that nothing is left. ``options`` are those of :func:`train_reader`.
    """
    flow = as_bijective(net, classes)
    train, test = (flow.split(outputs_of(flow, points))[1] for points in (x, test_x))
    known = 1 + int(max(labels.max(), test_labels.max()))
    return judge_reader(train_reader(train, labels, classes=known, **options), train, labels, test, test_labels)


@torch.no_grad()
def judge_reader(
    reader: Reader, nuisance: Tensor, labels: Tensor, test_nuisance: Tensor, test_labels: Tensor
) -> NuisanceClassifier:
    """How a trained reader does on the outputs it was trained on, and on others."""
    counts = torch.bincount(test_labels)
    scores = reader(test_nuisance)
    return NuisanceClassifier(
        reader,
        train_error=error_of(reader(nuisance), labels),
        test_error=error_of(scores, test_labels),
        information=information_of(scores, test_labels),
        entropy=label_entropy(test_labels),
        chance=1 - float(counts.max()) / len(test_labels),
    )
