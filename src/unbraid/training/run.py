"""A run is a folder; this is how everything after training reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from unbraid import objectives
from unbraid.data import Dataset, load
from unbraid.errors import UsageError, unknown_name
from unbraid.objectives import ABILITIES, Objective, Problem, Task
from unbraid.paths import user_path
from unbraid.reading import check_form, read_json, understood
from unbraid.training import numerics
from unbraid.training.checkpoint import check_step, load_model, read_step
from unbraid.training.classify import Classify
from unbraid.training.described import check_split, differences
from unbraid.training.history import read_table

if TYPE_CHECKING:
    import polars

__all__ = ["CHECKPOINT", "EVALUATIONS", "HISTORY", "INFO", "Run", "open_run", "read_info"]

INFO, CHECKPOINT = "run.json", "checkpoint.safetensors"
HISTORY, EVALUATIONS = "history.csv", "evaluations.csv"


_EDITED = "was it edited?"
_RECORD = {
    "objective": {"name": str, "options": dict, "module?": str, "codes?": str},
    "data": {
        "recipe": dict | None,
        "name": str,
        "shape": [int],
        "images": int,
        "classes?": int | None,
        "factor_sizes?": list | None,
        "factor_names?": list | None,
        "factor_ranges?": list | None,
        "factor_kinds?": list,
        "fingerprint": str,
    },
    "seed": int,
    "batch_size?": int,
    "log_every?": int,
    "stream?": str,
    "status": str,
    "step": int,
    "seconds": float,
    "start?": dict | None,
    "budget?": {"steps": int | None, "minutes": int | float | None},
    "arithmetic?": {"precision?": str},
    "tracking?": dict,
}


def read_info(folder: Path) -> dict[str, Any]:
    """The record ``run.json`` of a run folder, all entries of the kinds they must be of."""
    path = folder / INFO
    info = read_json(path, _RECORD)
    data, start = info["data"], info.get("start")
    for key, form in (
        ("factor_sizes", [int]),
        ("factor_names", [str]),
        ("factor_kinds", [str]),
        ("factor_ranges", [[float]]),
    ):
        check_form(data.get(key) or [], form, path, f"data.{key}")
    if data["recipe"] is not None:
        check_form(data["recipe"], {"name": str, "options": dict}, path, "data.recipe")
    if start is not None:
        check_form(start, {"path": str, "step": int, "checkpoint": str, "parts": [str]}, path, "start")
    for name, entry in info.get("tracking", {}).items():
        check_form(entry, {"id": str, "step": int, "files?": dict}, path, f"tracking.{name}")
    shape = data["shape"]
    if len(shape) not in (1, 3) or min(shape) < 1 or prod(shape) > 1 << 28:
        raise UsageError(f"{path}: data.shape is {shape}, expected the shape of an image; was it edited?")
    if info["step"] < 0 or data["images"] < 1:
        raise UsageError(f"{path}: step {info['step']} of a run on {data['images']} images; was it edited?")
    return info


class Run:
    """A trained (or still training) model in its folder. Opening one reads JSON and tensors, never code."""

    def __init__(self, path: Path, info: dict[str, Any], device: str = "auto") -> None:
        self.path, self.info = path, info
        self.device = numerics.device(device)

    @classmethod
    def open(cls, path: str | Path, *, device: str = "auto") -> Run:
        """Open a run folder, or a trained run by its name in the zoo: ``zoo:NAME``."""
        if str(path).startswith("zoo:"):
            from unbraid.training.zoo import fetch_run  # which reads run folders, too

            path = fetch_run(str(path))
        folder = user_path(path, "run folder")
        if not (folder / INFO).exists():
            near = sorted(str(found.parent) for found in folder.parent.glob(f"*/{INFO}"))[:8]
            hint = f" Runs beside it: {', '.join(near)}." if near else ""
            raise UsageError(f"{folder} is no run folder: it has no {INFO}.{hint}")
        return cls(folder, read_info(folder), device)

    @cached_property
    def objective(self) -> Objective:
        """The objective with the hyperparameters of this run."""
        entry = self.info["objective"]
        try:
            with understood(self.path / INFO, _EDITED):
                return objectives.make(entry["name"], entry["options"])
        except UsageError as error:
            home = f" (this run's objective was defined in module {entry['module']!r})" if "module" in entry else ""
            raise UsageError(f"{error}{home}") from error

    @cached_property
    def problem(self) -> Problem:
        """What the objective knew of the data."""
        data = self.info["data"]
        ranges = data.get("factor_ranges")
        return Problem(
            tuple(data["shape"]),
            data["images"],
            data.get("classes"),
            tuple(data["factor_sizes"]) if data.get("factor_sizes") else None,
            tuple(data.get("factor_names") or ()),
            tuple((low, high) for low, high in ranges) if ranges else None,
            tuple(data.get("factor_kinds") or ()),
        )

    @cached_property
    def model(self) -> nn.Module:
        """The trained model, in evaluation mode on the run's device."""
        numerics.setup()
        # The first to ask may be in inference mode; weights made there could never be differentiated through.
        with torch.inference_mode(False):
            objective = self.objective
            with understood(self.path / INFO, _EDITED):
                model = objective.make_model(self.problem, torch.Generator().manual_seed(0))
            load_model(self.path / CHECKPOINT, model)
            check_step(self.path / CHECKPOINT, read_step(self.path / CHECKPOINT), self.info)
            return model.to(self.device).eval()

    def can(self, what: str) -> bool:
        """Whether the model can ``encode``, ``decode``, ``predict``, ``infer`` or ``invert``."""
        if what not in ABILITIES:
            raise unknown_name("ability", what, ABILITIES)
        return what in self.objective.abilities()

    @property
    def discrete_codes(self) -> bool:
        """Whether its codes are one of a few values for each latent, which scores then count."""
        return self.info["objective"].get("codes") == "discrete"

    @property
    def finished(self) -> bool:
        """Whether training reached its budget."""
        return self.info["status"] == "finished"

    def data(self, name: str | None = None) -> Dataset:
        """The data set it was trained on, loaded again by its recipe; refused if it is no longer the same.

        Or one by name, to look at the run there; refused if it is a side of another split, see :meth:`check_data`.
        """
        if name is not None:
            chosen = load(name)
            self.check_data(chosen)
            return chosen
        recipe = self.info["data"]["recipe"]
        if recipe is None:
            raise UsageError(
                f"{self.path} was trained on data held in memory; pass the data set yourself. For the command line "
                "write it once, unbraid.data.save(data, 'mine.npz'), and give --data mine.npz. Of a part, "
                "part.save(FILE.npy) before training makes it known by NAME:part=FILE.npy"
            )
        try:
            data = load(recipe["name"], **recipe["options"])
        except UsageError as error:
            raise UsageError(
                f"the data of {self.path} cannot be loaded: {error}. If it is elsewhere now, pass it yourself (on the "
                "command line: --data NAME)"
            ) from error
        if other := differences(self.info["data"], data):
            raise UsageError(
                f"the {other} of {recipe['name']} are not those {self.path} was trained on. To use them all the same, "
                "pass the data set yourself (on the command line: --data NAME)"
            )
        return data

    def check_data(self, data: Dataset) -> None:
        """Refuse to be looked at on a side of another split than the one it was trained on, of the same grid.

        Warns (:class:`unbraid.errors.UsageWarning`) where a test side may have been trained on, for want of a split.
        """
        check_split(self.info["data"], data, self.path)

    def history(self) -> polars.DataFrame:
        """Losses over training: one row per logging interval, each a mean over it; the last may be shorter."""
        return read_table(self.path / HISTORY)

    def evaluations(self) -> polars.DataFrame:
        """What the hooks measured during training: columns step, name, value."""
        return read_table(self.path / EVALUATIONS)

    def encode(
        self, images: np.ndarray, *, kind: Literal["mean", "sampled"] = "mean", seed: int = 0, batch_size: int = 256
    ) -> np.ndarray:
        """Codes ``[n, d]`` of uint8 images ``[n, h, w, c]``; ``sampled`` draws once from each posterior."""
        if kind not in ("mean", "sampled"):
            raise UsageError(f"kind must be 'mean' or 'sampled', got {kind!r}")
        if kind == "sampled":  # what is drawn depends on the batches
            noise = torch.Generator(self.device).manual_seed(seed)
            return self._on_images(lambda batch: self.objective.encode(self.model, batch, noise), images, batch_size)
        size = numerics.block_size(self.model, batch_size, self.device)
        return self._on_images(lambda batch: self.objective.encode(self.model, batch), images, size)

    def predict(self, images: np.ndarray, *, batch_size: int = 256, task: str = "") -> np.ndarray:
        """Class scores ``[n, classes]`` (logits) of uint8 images, or their factors ``[n, K]``, each scaled to [0, 1].

        A regressor may leave that range; :meth:`regress` gives factors in their own units. Of a model that answers
        several :meth:`tasks`, ``task`` is the one asked; without it the first.
        """
        size = numerics.block_size(self.model, batch_size, self.device)
        if not task:
            return self._on_images(lambda batch: self.objective.predict(self.model, batch), images, size)
        self._check_task(task)
        return self._on_images(lambda batch: self.objective.answers(self.model, batch)[task], images, size)

    def infer(self, images: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """Codes ``[n, d]`` of uint8 images, found by searching for those that explain them best."""
        return self._on_images(lambda batch: self.objective.infer(self.model, batch), images, batch_size)

    def tasks(self) -> tuple[Task, ...]:
        """What the model answers of an image, the first by :meth:`predict`; none for a model that does not predict."""
        return self.objective.tasks(self.problem)

    def _check_task(self, task: str) -> None:
        known = [each.name for each in self.tasks()]
        if task not in known:
            raise unknown_name(f"task of {self.path.name}:", task, known)

    def regress(self, images: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """Factors ``[n, K]`` of uint8 images in the units of ``data.factors``: positions on a grid, or as measured."""
        if not (self.can("predict") and self.objective.predicts == "factors"):
            raise UsageError(f"a model trained by {self.objective.name!r} does not predict factors; a regressor does")
        low, high = np.array(self.problem.ranges).T
        return low + (high - low) * self.predict(images, batch_size=batch_size)

    def classifier(self, task: str = "") -> Classify:
        """The predictions as a function that gradients flow through: float images ``[n, c, h, w]`` to scores.

        It is a module of its own in evaluation mode whose weights are frozen; the gradient reaches the images. Of a
        model with several :meth:`tasks` it answers the one asked for, by default the first that names classes.
        """
        if not self.can("predict"):
            raise UsageError(f"a model trained by {self.objective.name!r} does not predict; a classifier does")
        if task:
            self._check_task(task)
        elif len(tasks := self.tasks()) > 1:
            task = next((each.name for each in tasks if each.predicts == "classes"), "")
        with torch.inference_mode(False):
            return Classify(self.objective, copy.deepcopy(self.model), self.problem.shape, task)

    def describe(self, images: np.ndarray, *, seed: int = 0, batch_size: int = 256) -> dict[str, np.ndarray]:
        """Label-free quantities of each image: reconstruction loss, KL per latent, ..., as the objective offers."""
        noise = torch.Generator(self.device).manual_seed(seed)
        return self._on_images(lambda batch: self.objective.describe(self.model, batch, noise), images, batch_size)

    def decode(self, codes: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """uint8 images ``[n, h, w, c]`` of codes ``[n, d]``."""
        rows = _rows_of(codes, "codes")
        width = getattr(self.objective, "latents", rows.shape[1])
        if rows.shape[1] != width:
            raise UsageError(f"codes must have {width} columns, one per latent of this run, got {rows.shape[1]}")

        def decode(part: np.ndarray) -> np.ndarray:
            found = self.objective.decode(self.model, torch.as_tensor(part).to(self.device))
            return numerics.to_array(found)

        return numerics.in_batches(decode, rows, batch_size, self.device)

    def invert(self, outputs: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """Images ``[n, h, w, c]``, or vectors, that a one-to-one model maps to ``outputs`` ``[n, d]``, as ``encode``.

        They are floats, not rounded to bytes and not clipped: those of images as they are lie in [0, 1], those of
        metamers need not. Black margins that a network needed are cut off.
        """
        rows = _rows_of(outputs, "outputs")

        def invert(part: np.ndarray) -> np.ndarray:
            found = self.objective.invert(self.model, torch.as_tensor(part).to(self.device)).float()
            return (found if found.ndim == 2 else found.permute(0, 2, 3, 1)).cpu().numpy()

        return numerics.in_batches(invert, rows, batch_size, self.device)

    def _on_images(self, function: Callable[[Tensor], Any], images: np.ndarray, batch_size: int) -> Any:
        self._check(images)
        return numerics.in_batches(
            lambda part: function(numerics.to_tensor(part, self.device)), images, batch_size, self.device
        )

    def _check(self, images: np.ndarray) -> None:
        shape = tuple(self.info["data"]["shape"])
        if not isinstance(images, np.ndarray):
            raise UsageError(f"images must be a numpy array, got {type(images).__name__}; data.images(index) gives one")
        right = images.dtype.kind == "f" if len(shape) == 1 else images.dtype == np.uint8
        if images.shape[1:] != shape or not right:
            kind = "floats" if len(shape) == 1 else "uint8"
            raise UsageError(
                f"images must be {kind} [n, {', '.join(map(str, shape))}], got {images.dtype} {list(images.shape)}"
            )
        if len(images) == 0:
            raise UsageError("images is empty")

    def _repr_html_(self) -> str:
        objective, data = self.info["objective"], self.info["data"]
        rows = {
            "folder": self.path,
            "objective": objective["name"],
            **objective["options"],
            "data": f"{data['name']}, {data['images']:,} images",
            "seed": self.info["seed"],
            "status": f"{self.info['status']} at step {self.info.get('step', 0):,}",
        }
        cells = "".join(f"<tr><th>{escape(str(k))}</th><td>{escape(str(v))}</td></tr>" for k, v in rows.items())
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        objective = self.info["objective"]
        options = ", ".join(f"{name}={value!r}" for name, value in objective["options"].items())
        made = f"{objective['name']}({options}) on {self.info['data']['name']}"
        return f"<Run {str(self.path)!r}: {made}, {self.info['status']} at step {self.info['step']}>"


def _rows_of(given: np.ndarray, name: str) -> np.ndarray:
    rows = np.asarray(given, dtype=np.float32)
    if rows.ndim != 2 or not len(rows):
        raise UsageError(f"{name} must be [n, d] with at least one row, got shape {rows.shape}")
    return rows


def open_run(path: str | Path, *, device: str = "auto") -> Run:
    """Open a run folder, ``open_run("runs/first").encode(images)``, or a trained one by its name: ``zoo:NAME``."""
    return Run.open(path, device=device)
