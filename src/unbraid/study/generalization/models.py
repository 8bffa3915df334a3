"""Which of the published models a run is, and what it is called in tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from unbraid import objectives
from unbraid.options import parse_name
from unbraid.study.grid import RunSpec, added_words

__all__ = ["KINDS", "LIKE", "MEASURE", "STANDS_FOR", "Kind", "Model", "model_of", "models_of"]

MEASURE = "generalization"
"""The measure by which runs are asked about their splits."""

Kind = Literal["supervised", "transfer", "read-out"]
KINDS: tuple[Kind, ...] = ("read-out", "supervised", "transfer")
"""In the order of the published tables; a read-out is one on the codes of a model that never saw a factor."""

_PREDICTORS = {
    "cnn": ("CNN", None),
    "coordconv": ("CoordConv", None),
    "set-encoder": ("Coordinate Based", None),
    "rotation-eq": ("Rotation-EQ", None),
    "rotation-eq-big": ("Rotation-EQ-big", None),
    "spatial-transformer": ("Spatial Transformer", None),
    "bit-r50x1": ("RN50", "RN50 (ImageNet-21k)"),
    "bit-r101x3": ("RN101", "RN101 (ImageNet-21k)"),
    "densenet-121": ("DenseNet", "DenseNet (ImageNet-1k)"),
}
"""Networks of the objective ``regressor``: the published row from scratch, and with released weights."""
_MLP = "mlp:layers=90+90+90+90+45+22"
"""The published MLP; the plain ``mlp`` has other layers."""
_CODES = {"beta-vae": "BetaVAE", "ada-gvae": "Ada-GVAE", "slow-vae": "SlowVAE", "pcl": "PCL"}

STANDS_FOR = {
    "dsprites": "dsprites",
    "dsprites-90": "dsprites-90",
    "shapes3d": "shapes3d",
    "rooms3d": "shapes3d",
    "mpi3d-real": "mpi3d",
    "mpi3d-toy": "mpi3d-toy",
    "celeb-flow": "celeb-glow",
}
"""Data sets whose published numbers stand beside those measured here: the same, or what they imitate."""
LIKE = {"arm3d": "MPI3D"}
"""Data sets too different from what they imitate for its numbers to stand beside theirs."""


@dataclass(frozen=True)
class Model:
    """A row of the benchmark's tables: all runs that differ in split, seed and data alone."""

    name: str
    kind: Kind
    published: str | None = None
    """Its row in the published tables."""
    augment: str = ""
    """What was done to training batches, which also ends the name; nothing was in what is published."""


def model_of(spec: RunSpec) -> Model:
    """The row that a run belongs to. Strengths of one objective are the same row: one of them is selected.

    A network with options of its own, trained on augmented batches or with penalties, is another model than the
    published one, and is called by them.
    """
    plain, added = _plain_model(spec), added_words(spec.options)
    if added["penalties"]:
        plain = replace(plain, name=f"{plain.name}, {added['penalties']}", published=None)
    augment = added["augment"]
    return replace(plain, name=f"{plain.name}, {augment}", published=None, augment=augment) if augment else plain


def _plain_model(spec: RunSpec) -> Model:
    if spec.objective != "regressor":
        name, predicts = _CODES.get(spec.objective), objectives.get(spec.objective).predicts
        return Model(
            name or objectives.title(spec.objective), "supervised" if predicts == "factors" else "read-out", name
        )
    net = spec.net or str(getattr(objectives.get("regressor")(), "net", ""))
    if net == _MLP:
        return Model("MLP", "supervised", "MLP")
    plain, options = parse_name(net)
    scratch, started = _PREDICTORS.get(plain, (None, None))
    if options.pop("weights", None):
        return Model(started or f"{net}", "transfer", None if options else started)
    if scratch is None or options:
        return Model({"resnet": "ResNet, small"}.get(net, net), "supervised")
    return Model(scratch, "supervised", scratch)


def models_of(specs: Iterable[RunSpec]) -> dict[int, Model]:
    """The row of every run of a study, by its index.

    Where runs of one name differ in more than data, split, strength and seed, their rows are called by what differs:
    ``CNN, 750 steps``. A model that learns factors has no strength to select: each is a row of its own.
    """
    named = {spec.index: (spec, _plain_model(spec), _settings(spec)) for spec in specs}
    cells: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for spec, model, settings in named.values():
        cells[model.name, spec.data_set].append(settings)
    differ: dict[str, dict[str, None]] = defaultdict(dict)
    for (name, _), several in cells.items():
        for key in dict.fromkeys(key for settings in several for key in settings):
            if len({settings.get(key) for settings in several}) > 1:
                differ[name][key] = None
    found = {}
    for index, (spec, plain, settings) in named.items():
        words = [settings[key] for key in differ[plain.name] if key in settings]
        model = model_of(spec)
        found[index] = replace(model, name=", ".join([plain.name, *words, *([model.augment] if model.augment else [])]))
    return found


def _settings(spec: RunSpec) -> dict[str, str]:
    """What may tell two rows of one name apart, in words."""
    net = spec.net or "its own network"
    found = {"net": net, "steps": f"{spec.steps} steps", "batch_size": f"batch {spec.batch_size}"}
    if spec.pairs:
        found["pairs of the data"] = spec.pairs
    if spec.parameter is not None:
        learns_factors = _plain_model(spec).kind != "read-out"
        found["parameter"] = f"{spec.parameter} {spec.strength:g}" if learns_factors else f"{spec.parameter} varied"
    others = {key: value for key, value in spec.options.items() if key not in ("net", "augment", spec.parameter)}
    return {**found, **{f"options.{key}": f"{key} {value}" for key, value in others.items()}}
