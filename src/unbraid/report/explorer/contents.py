"""What the explorer shows of a run; whatever is missing is said, and the rest shown all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unbraid import objectives
from unbraid.data import ImageDataset, counter_rng
from unbraid.errors import UsageError
from unbraid.evaluation import ACTIVE, measure
from unbraid.metrics import mig
from unbraid.paths import quoted
from unbraid.reading import read_json, understood
from unbraid.report.explorer.networks import decoder_onnx, encoder_onnx
from unbraid.report.explorer.nuisance import inverts, see_nuisance
from unbraid.report.explorer.synthesis import draws, see_synthesis
from unbraid.report.page.folder import read_history
from unbraid.study import EVALUATION, own_scores
from unbraid.training import CHECKPOINT, HISTORY, INFO, Run, open_run

__all__ = ["FILES", "Contents", "look_at"]

FILES = (INFO, CHECKPOINT, HISTORY, "evaluations.csv", "scores.json", EVALUATION)
"""Files of a run that the page tells about; the first three belong to every run."""
BINS = 40
JUDGED, SEARCHED = 5000, 200
"""Images that predictions are judged on, and those of models that search for each."""
Result = TypeVar("Result")


@dataclass
class Contents:
    """The record of a run's page (``pages/src/types.ts`` says the same in its language) and the binary parts."""

    name: str
    title: str
    home: str | None = None
    """Where the page of the study it belongs to is, seen from its own."""
    facts: list[tuple[str, str]] = field(default_factory=list)
    shape: list[int] | None = None
    latents: list[dict[str, Any]] = field(default_factory=list)
    factors: list[str] = field(default_factory=list)
    information: list[list[float]] | None = None
    """Of each latent (by its index) about each factor, as a share of the factor's entropy."""
    chance: list[float] = field(default_factory=list)
    """What a latent that knows nothing would seem to know about each factor in so many samples, in the same unit."""
    gallery: dict[str, Any] | None = None
    synthesis: dict[str, Any] | None = None
    """Of a model that explains images by drawing them: classes, where its search begins, how sure energies make it."""
    nuisance: dict[str, Any] | None = None
    """Of a bijective classifier: which outputs are logits, and the shape of what it sees."""
    problems: list[dict[str, str]] = field(default_factory=list)
    files: list[tuple[str, int | None]] = field(default_factory=list)
    history: dict[str, list[float]] | None = None
    scores: list[tuple[str, float, float | None]] = field(default_factory=list)
    decoder: bytes | None = None
    encoder: bytes | None = None
    images: bytes | None = None
    starts: bytes | None = None
    """Decodings ``[class, start, pixel]`` of random latents, of a model that searches."""

    def record(self) -> dict[str, Any]:
        """What goes to the page as JSON."""
        entries = asdict(self)
        del entries["images"], entries["starts"]
        return entries | {"decoder": self.decoder is not None, "encoder": self.encoder is not None}

    def attempt(self, what: str, work: Callable[[], Result]) -> Result | None:
        """Do a part; if it cannot be done the page says so."""
        try:
            return work()
        except (UsageError, OSError) as error:
            self.problems.append({"what": what, "detail": str(error)})
        except Exception as error:  # an own objective or network may fail in its own way
            self.problems.append({"what": what, "detail": f"{type(error).__name__}: {error}"})
        return None


def look_at(
    path: Path,
    load_data: Callable[[Run], ImageDataset] = Run.data,
    *,
    images: int = 64,
    sample: int = 4000,
    seed: int = 0,
) -> Contents:
    """Everything the page shows of a run folder, complete or not.

    ``images`` of the data set can be clicked on, ``sample`` more or less of them tell where the codes lie and which
    factor each knows; both are the same for all runs on the same data.
    """
    if images < 1 or sample < images:
        raise UsageError(f"images must be at least 1 and sample at least images, got {images} and {sample}")
    sizes = [(name, file.stat().st_size if (file := path / name).is_file() else None) for name in FILES]
    if all(size is None for _, size in sizes[:3]):
        raise UsageError(f"{path} is no run folder: it has none of {', '.join(FILES[:3])}")
    contents = Contents(path.resolve().name, path.resolve().name)
    contents.files = [(name, size) for name, size in sizes if size is not None or name in FILES[:3]]
    run = contents.attempt("What this run is cannot be told.", lambda: open_run(path, device="cpu"))
    contents.history = contents.attempt("The record of its losses cannot be read.", lambda: _history(contents, path))
    contents.scores = contents.attempt("Its scores cannot be read.", lambda: _scores(path)) or []
    if run is None:
        return contents
    if len(run.info["data"].get("shape", (0, 0, 0))) != 3:
        raise UsageError(f"{path} was trained on vectors, so there are no images to explore; try `unbraid report`")
    contents.attempt("Its record is incomplete.", lambda: _describe(contents, run))
    if contents.attempt("There is no model to look into.", lambda: run.model) is None:
        return contents
    data = contents.attempt("The images cannot be shown.", lambda: load_data(run))
    if data is not None and run.can("predict"):
        contents.scores += contents.attempt("Its predictions cannot be judged.", lambda: _judge(run, data, seed)) or []
    for fits, see in ((draws, see_synthesis), (inverts, see_nuisance)):
        if fits(run):
            if data is not None:
                contents.attempt(
                    "Its images cannot be shown.",
                    lambda see=see: see(contents, run, data, images, seed),  # type: ignore[misc]
                )
            return contents
    if not run.can("encode"):
        does = "predicts and " if run.can("predict") else ""
        detail = (
            f"It {does}has no codes: there is nothing to move here. `unbraid report {quoted(path)}` shows what it does."
        )
        contents.problems.append(
            {"what": f"This is a {objectives.title(run.objective.name).lower()}.", "detail": detail}
        )
        return contents
    if data is not None:
        contents.attempt("Its codes cannot be shown.", lambda: _measure(contents, run, data, images, sample, seed))
    latents = len(contents.latents) or getattr(run.objective, "latents", 0)
    if not contents.latents:
        contents.latents = [_latent(index, None, None, True) for index in range(latents)]
    contents.decoder = contents.attempt("It draws no images.", lambda: decoder_onnx(run, latents))
    if contents.decoder is not None:
        contents.encoder = contents.attempt("Own images cannot be encoded.", lambda: encoder_onnx(run))
    return contents


def _judge(run: Run, data: ImageDataset, seed: int) -> list[tuple[str, float, float | None]]:
    """Accuracy or R² on the data, where the truth is known."""
    count = SEARCHED if run.can("infer") else JUDGED
    found = measure(run, data, f"accuracy:images={count},r2:images={count}", seed=seed)
    scores = {name: score for one in found.values() for name, score in one.scores().items()}
    return [(name, float(scores[name]), 1.0) for name in ("accuracy", "r2") if name in scores]


def _describe(contents: Contents, run: Run) -> None:
    info = run.info
    objective, data = info["objective"], info["data"]
    contents.shape = list(data["shape"])
    swept = type(run.objective).sweep
    strength = f", {swept[0]} = {objective['options'][swept[0]]:g}" if swept else ""
    contents.title = f"{objectives.title(objective['name'])}{strength} on {data['name']}"
    contents.facts = [
        ("folder", contents.name),
        ("objective", objectives.title(objective["name"])),
        *((name, str(value)) for name, value in objective["options"].items()),
        ("data", f"{data['name']}, {data['images']:,} images of {' × '.join(map(str, data['shape']))}"),
        ("seed", str(info["seed"])),
        ("step", f"{info['step']:,}"),
        ("status", info["status"]),
    ]
    if "seconds" in info:
        contents.facts.append(("training time", f"{info['seconds'] / 60:.1f} minutes"))
    if info.get("command"):
        contents.facts.append(("command", " ".join(["unbraid", *map(str, info["command"][1:])])))
    if not run.finished:
        detail = f"It was last saved at step {info['step']:,}; what you see is the model as it was then."
        contents.problems.append({"what": "Training has not finished.", "detail": detail})


def _measure(contents: Contents, run: Run, data: ImageDataset, images: int, sample: int, seed: int) -> None:
    """Where the codes lie, what they know, and the images to start from."""
    rng = counter_rng(seed, 0)
    index = data.sample_index(sample, rng)
    pixels = data.images(index, rng)
    described = run.describe(pixels, seed=seed)
    codes = described["mean"] if "mean" in described else run.encode(pixels)
    if not np.isfinite(codes).all():
        share = 1 - np.isfinite(codes).all(axis=1).mean()
        raise UsageError(f"{share:.0%} of the images have codes that are no numbers; has training diverged?")
    kl = described["kl_per_latent"].mean(axis=0) if "kl_per_latent" in described else None
    kl = None if kl is None or not np.isfinite(kl).all() else kl
    spread = codes.std(axis=0)
    activity = spread if kl is None else kl
    active = activity > (ACTIVE if kl is not None else 0.01 * activity.max())
    order = np.argsort(-activity, kind="stable")
    contents.latents = [
        _latent(int(j), None if kl is None else float(kl[j]), codes[:, j], bool(active[j])) for j in order
    ]
    contents.images = np.ascontiguousarray(pixels[:images]).tobytes()
    contents.gallery = {
        "index": index[:images].tolist(),
        "codes": [[float(value) for value in code] for code in codes[:images]],
        "factors": None,
    }
    if data.factor_sizes:
        factors = data.factors(index)
        varied = [k for k in range(factors.shape[1]) if np.ptp(factors[:, k]) > 0]
        contents.factors = [data.factor_names[k] for k in varied]
        contents.gallery["factors"] = factors[:images, varied].tolist()
        if varied:
            found = mig(codes, factors[:, varied], binning="values" if run.discrete_codes else "width")
            entropies, values = found.parts["entropy"], np.ptp(factors[:, varied], axis=0) + 1
            contents.information = np.round(found.parts["information"] / entropies, 4).tolist()
            # Under independence 2 n I is chi-square distributed; this is its mean.
            taken = max(len(np.unique(code)) for code in codes.T) if run.discrete_codes else found.settings["bins"]
            freedom = (taken - 1) * (values - 1)
            contents.chance = np.round(freedom / (2 * sample) / entropies, 4).tolist()


def _latent(index: int, kl: float | None, codes: np.ndarray | None, active: bool) -> dict[str, Any]:
    """A slider: its range, a little beyond where the codes lie (the prior's if they say nothing), and their density."""
    low, high = -3.0, 3.0
    if codes is not None and active:
        low, high = (float(edge) for edge in np.quantile(codes, [0.005, 0.995]))
        room = 0.1 * (high - low)
        low, high = low - room, high + room
    counts = np.zeros(BINS) if codes is None else np.histogram(codes, BINS, (low, high))[0]
    shares = counts / max(counts.max(), 1)
    return {
        "index": index,
        "kl": kl,
        "active": active,
        "low": low,
        "high": high,
        "histogram": [round(float(share), 3) for share in shares],
    }


def _history(contents: Contents, path: Path) -> dict[str, list[float]] | None:
    if not (path / HISTORY).is_file():
        return None
    history = read_history(path / HISTORY)
    if history.damaged:
        detail = f"{history.damaged} row(s) of {HISTORY} are cut off or no numbers; the curve shows the others."
        contents.problems.append({"what": "A part of its losses is lost.", "detail": detail})
    loss = history.terms.get("loss", np.zeros(0))
    rows = [(step, value) for step, value in zip(history.step, loss, strict=False) if math.isfinite(value)]
    thinned = rows[:: max(1, len(rows) // 400)]
    return {"step": [float(s) for s, _ in thinned], "loss": [float(v) for _, v in thinned]} if thinned else None


def _scores(path: Path) -> list[tuple[str, float, float | None]]:
    form = {"scores?": dict | None}
    file, remedy = path / "scores.json", "unbraid evaluate writes it anew"
    if file.is_file() and (stored := read_json(file, form, remedy=remedy).get("scores")):
        with understood(file, remedy):
            scores = stored.items()
            return [(key, s["value"], _finite(s["ceiling"])) for key, s in scores if _finite(s["value"]) is not None]
    found = own_scores(path)
    entries = () if found is None else found[2].items()
    return [(key, s.value, _finite(s.ceiling)) for key, s in entries if _finite(s.value) is not None]


def _finite(value: float | str | None) -> float | None:
    """A number that JSON can hold; infinity comes as a word."""
    return None if value is None or isinstance(value, str) or not math.isfinite(value) else value
