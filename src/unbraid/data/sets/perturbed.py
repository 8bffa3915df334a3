"""Data sets whose images were moved a little, so that VAEs align elsewhere (Zietlow, Rolinek & Martius, 2021).

All factors of an image are squeezed into one number, and that number decides the pattern added to it. What is stored
is therefore small: the map to the number, and the pattern at 256 of its values. Training one is up to
:func:`unbraid.theory.train_perturbation`; here it is only applied, without torch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.data.dataset import Card, Dataset
from unbraid.data.hashing import hash_bits
from unbraid.data.registry import load, register
from unbraid.data.space import FactorSpace
from unbraid.data.wrapper import Wrapper
from unbraid.errors import UsageError, unknown_name
from unbraid.files import make_folders, write_bytes, write_json
from unbraid.paths import quoted, user_path
from unbraid.reading import read_bytes, read_json, understood

__all__ = ["Perturbation", "Perturbed", "PixelNoise", "fold", "load_perturbed", "read_perturbation", "unit_factors"]

TENSORS, RECORD = "perturbation.safetensors", "perturbation.json"
_FORM = {"base": {"name": str, "options": dict}, "epsilon": float, "hash": str, "deviation?": float}
_CITATION = "Zietlow, Rolinek and Martius, Demystifying Inductive Biases for beta-VAE Based Architectures, ICML 2021"
_CARD = Card(
    "Perturbed data set",
    "Made here by `unbraid theory perturb`, from the data set its folder names.",
    "that of its source",
    _CITATION,
    ("Needs source=FOLDER; control=amplitude or control=variance gives noise of the same size instead.",),
)


@dataclass(frozen=True)
class Perturbation:
    """A pattern for every image of a data set, chosen by one number in [-1, 1] that all its factors decide."""

    epsilon: float
    """No pixel moves by more than this, in units of the full range."""
    weight: np.ndarray
    """Of the hidden layer over factors in [-1, 1], ``[width, K]``."""
    bias: np.ndarray
    """``[width]``."""
    readout: np.ndarray
    """From the hidden layer to the one number, ``[width + 1]``; the last entry is its bias."""
    patterns: np.ndarray
    """What is added, in grey levels, at evenly spaced values of the number: int8 ``[levels, h, w, c]``."""

    def __post_init__(self) -> None:
        if not 1 / 255 <= self.epsilon < 0.5:
            raise UsageError(f"epsilon must lie between 1/255 and 0.5, got {self.epsilon}")
        if np.abs(self.patterns.astype(np.int16)).max() > 255 * self.epsilon:
            raise UsageError(f"patterns go beyond epsilon = {self.epsilon}")

    def scalar(self, factors: np.ndarray) -> np.ndarray:
        """The one number of each row of factors in [-1, 1]: ``[n]`` from ``[n, K]``."""
        hidden = np.tanh(factors @ self.weight.T + self.bias)
        return np.tanh(hidden @ self.readout[:-1] + self.readout[-1])

    def level(self, factors: np.ndarray) -> np.ndarray:
        """Which pattern each row of factors gets."""
        return np.rint((self.scalar(factors) + 1) / 2 * (len(self.patterns) - 1)).astype(np.int64)

    def check_fits(self, base: Dataset) -> None:
        """Refuse a data set with another number of factors or another shape than those this was made for."""
        factors, shape = self.weight.shape[1], self.patterns.shape[1:]
        if base.grid is None or (factors, shape) != (len(base.factor_names), base.shape):
            raise UsageError(
                f"the perturbation is for {factors} factors on a grid and images {list(shape)}; {base.name!r} has "
                f"{len(base.factor_names)} and {list(base.shape)}"
            )

    def save(self, folder: Path, base: Dataset, **record: Any) -> None:
        """Write tensors and record; the data set must be one that :func:`unbraid.data.load` can load again."""
        from safetensors.numpy import save

        if base.recipe is None:
            raise UsageError("the data set lives in memory only: save it (npz) and load it by path to perturb it")
        self.check_fits(base)
        make_folders(folder)
        names = ("weight", "bias", "readout", "patterns")
        blob = save({name: np.ascontiguousarray(getattr(self, name)) for name in names})
        content = {
            "format": 1,
            "base": {"name": base.recipe.name, "options": base.recipe.options},
            "factors": dict(zip(base.factor_names, base.factor_sizes or (), strict=True)),
            "epsilon": self.epsilon,
            "hash": hashlib.sha256(blob).hexdigest(),
            **record,
        }
        write_bytes(folder / TENSORS, blob)
        # The record goes last: a folder with it is whole.
        write_json(folder / RECORD, content)


class Perturbed(Wrapper):
    """A data set with a pattern added to every image and reflected at black and white; factors stay as they are."""

    def __init__(self, base: Dataset, perturbation: Perturbation, *, mean_change: float | None = None) -> None:
        super().__init__(base)
        perturbation.check_fits(base)
        assert base.grid is not None
        self._grid = base.grid
        self.perturbation = perturbation
        self.name = f"perturbed-{base.name}"
        moved = "" if mean_change is None else f", by {mean_change:.3f} on average"
        self.card = _card_of(base.card, "perturbed", f"No pixel moved by more than {perturbation.epsilon:g}{moved}.")

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        level = self.perturbation.level(unit_factors(self._grid, self.factors(index)))
        return _add(images, self.perturbation.patterns[level])


class PixelNoise(Wrapper):
    """A data set with uniform noise in [-epsilon, epsilon] in every pixel, the same whenever an image is asked for.

    The control of :class:`Perturbed`: the same size, but nothing in it that depends on factors. The noise is a hash of
    seed, image and pixel, so that nothing has to be stored.
    """

    def __init__(self, base: Dataset, epsilon: float, *, seed: int = 0) -> None:
        super().__init__(base)
        if len(base.shape) != 3:
            raise UsageError(f"pixel noise needs images; {base.name!r} holds vectors of {base.shape[0]} numbers")
        if not 1 / 255 <= epsilon < 0.5:
            raise UsageError(f"epsilon must lie between 1/255 and 0.5, got {epsilon}")
        self.reach = int(255 * epsilon + 1e-9)
        """In grey levels."""
        self.seed = seed
        self.name = f"pixel-noise-{base.name}"
        self.card = _card_of(base.card, "in stored noise", f"Uniform noise of at most {epsilon:g} in every pixel.")

    def show(self, images: np.ndarray, index: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        places = self.origin(index).astype(np.uint64)  # an image keeps its noise in every part
        pixels = np.arange(np.prod(self.shape), dtype=np.uint64)
        counters = places[:, None] * np.uint64(len(pixels)) + pixels
        levels = np.uint64(2 * self.reach + 1)
        # The upper half of a hash times the number of levels, upper half again: uniform without a division.
        drawn = (hash_bits(counters, self.seed) >> np.uint64(32)) * levels >> np.uint64(32)
        noise = (drawn.astype(np.int16) - self.reach).reshape(-1, *self.shape)
        return _add(images, noise)


def fold(values: np.ndarray, top: float = 1.0) -> np.ndarray:
    """Reflect values at 0 and at ``top``; a value moved by at most ``top`` ends no further from where it came.

    >>> fold(np.array([-0.25, 0.5, 1.25])).tolist()
    [0.25, 0.5, 0.75]
    """
    return top - abs(top - abs(values))


def unit_factors(space: FactorSpace, factors: np.ndarray) -> np.ndarray:
    """Factor values ``[n, K]`` on [-1, 1]; a factor with a single value is 0."""
    sizes = np.array(space.sizes)
    return np.where(sizes > 1, 2 * factors / np.maximum(sizes - 1, 1) - 1, 0.0)


def read_perturbation(folder: str | Path) -> tuple[Perturbation, dict[str, Any]]:
    """The perturbation stored in a folder, and its record."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as load_tensors

    folder = user_path(folder, "folder")
    if not (folder / RECORD).exists():
        raise UsageError(f"{folder} holds no {RECORD}: make one with `unbraid theory perturb --out {quoted(folder)}`")
    remedy = f"make it anew: unbraid theory perturb --out {quoted(folder)}"
    record = read_json(folder / RECORD, _FORM, remedy=remedy)
    blob = read_bytes(folder / TENSORS, remedy=remedy)
    if hashlib.sha256(blob).hexdigest() != record["hash"]:
        raise UsageError(f"{folder / TENSORS} is not the file {RECORD} was written for; was it copied half-way?")
    try:
        with understood(folder / TENSORS, remedy):
            return Perturbation(record["epsilon"], **load_tensors(blob)), record
    except SafetensorError as error:
        raise UsageError(f"{folder / TENSORS} is damaged ({error}); {remedy}") from error


@register("perturbed", card=_CARD, size="as its source")
def load_perturbed(
    source: str | Path | None = None, control: Literal["amplitude", "variance"] | None = None, seed: int = 0
) -> Perturbed | PixelNoise:
    """The data set of a folder that ``unbraid theory perturb`` wrote, or its control of pixel noise.

    ``control="amplitude"`` is noise up to the same epsilon, ``"variance"`` noise as strong as the patterns are (up to
    1.7 times epsilon); ``seed`` decides the noise.
    """
    if source is None:
        raise UsageError("perturbed needs the folder it was made in: perturbed:source=FOLDER")
    perturbation, record = read_perturbation(source)
    base = load(record["base"]["name"], **record["base"]["options"])
    if control is None:
        return Perturbed(base, perturbation, mean_change=record.get("mean_change"))
    if control == "amplitude":
        return PixelNoise(base, perturbation.epsilon, seed=seed)
    if control == "variance":
        return PixelNoise(base, min(0.49, np.sqrt(3) * record["deviation"]), seed=seed)
    raise unknown_name("control", control, ("amplitude", "variance"))


def _add(images: np.ndarray, change: np.ndarray) -> np.ndarray:
    return fold(images.astype(np.int16) + change, 255).astype(np.uint8)


def _card_of(base: Card, words: str, trap: str) -> Card:
    return replace(
        base,
        title=f"{base.title}, {words}",
        citation=f"{base.citation}; {_CITATION}".removeprefix("; "),
        traps=(trap, "The generating factors are untouched: same grid, same values.", *base.traps),
    )
