"""How much noise it takes to change a decision (Rusak et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data import Purpose, counter_rng
from unbraid.errors import UsageError, unknown_name
from unbraid.robustness.attacks import Classifier, as_rows, direction, float_images, lengths
from unbraid.robustness.distances import median_interval

if TYPE_CHECKING:
    import polars

__all__ = ["NoiseDistance", "directions_of", "noise_distance"]

BATCH = 256
GROWTH = 1.8
"""By which noise grows until the decision changes, from a length of 1 on."""
HALVINGS = 40
FINE = 1e-6
"""Relative width of an interval that float32 does not split any more."""


@dataclass(frozen=True)
class NoiseDistance:
    """The smallest noise in a random direction that changes each decision, as L2 after clipping."""

    model: str
    direction: str
    distances: np.ndarray
    """``[n]``: 0 where the image itself is named wrong, infinite where no amount of this noise changes the decision."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """``eps*``: half of the images bear more."""
        return float(np.median(self.distances))

    @property
    def misclassified(self) -> float:
        """Share of images that are named wrong without noise."""
        return float((self.distances == 0).mean())

    @property
    def unmoved(self) -> float:
        """Share of images whose decision this noise never changes."""
        return float(np.isinf(self.distances).mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % of the median, by drawing images again."""
        return median_interval(self.distances, seed=self.settings.get("seed", 0))

    def table(self) -> polars.DataFrame:
        """One row."""
        import polars

        low, high = self.interval
        numbers = {"median": self.median, "low": low, "high": high}
        shares = {"misclassified": self.misclassified, "unmoved": self.unmoved, "images": len(self.distances)}
        return polars.DataFrame([{"model": self.model, "direction": self.direction, **numbers, **shares}])

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.model}: {self.direction} noise of L2 {self.median:.4g} ({low:.4g} to {high:.4g}) changes half "
            f"of the decisions; {100 * self.misclassified:.1f} % are wrong without, "
            f"{100 * self.unmoved:.1f} % never change; "
            f"{len(self.distances):,} images"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def noise_distance(
    predict: Any,
    images: Any,
    labels: Any,
    direction: Any = "gaussian",
    *,
    seed: int = 0,
    name: str = "",
    label: str = "",
) -> NoiseDistance:
    """The smallest noise along one random direction per image that makes a classifier name another class.

    ``clip(x + eta * direction / |direction|)`` with growing eta: by 1.8 until the class changes or every pixel that
    moves is at its bound, so that nothing is capped, then halved. Distances are L2 over all pixels after clipping.
    ``predict`` is a run, a torch module, or a function on uint8 images, which sees noisy images rounded to bytes and is
    measured by these. ``images`` are uint8 ``[n, h, w, c]`` or floats ``[n, c, h, w]`` in [0, 1]. ``direction`` is
    ``gaussian``, ``uniform`` (between -1 and 1), something with ``sample(shape, generator)`` such as a
    :class:`~unbraid.nets.NoiseGenerator`, or an array like the float images. ``label`` is what it is called.
    """
    classify = Classifier(predict, name)
    pixels, truth = float_images(images, labels)
    kind = label or (direction if isinstance(direction, str) else type(direction).__name__)
    found = []
    for start in range(0, len(pixels), BATCH):
        rows = np.arange(start, min(start + BATCH, len(pixels)))
        x = classify.place(pixels[rows])
        noise = directions_of(direction, pixels, seed, rows)
        found.append(_search(classify, x, truth[rows].to(x.device), noise.to(x.device, x.dtype)))
    return NoiseDistance(classify.name, kind, np.concatenate(found), {"images": len(pixels), "seed": seed})


def directions_of(kind: Any, images: Tensor, seed: int, rows: np.ndarray) -> Tensor:
    """A direction for each of these rows of the images, which depends on its number alone."""
    shape = images.shape[1:]
    if isinstance(kind, str):
        if kind not in ("gaussian", "uniform"):
            raise unknown_name("direction of noise", kind, ("gaussian", "uniform"))
        rngs = (counter_rng(seed, number, Purpose.DIRECTION) for number in rows.tolist())
        draw = [
            rng.standard_normal(shape, np.float32)
            if kind == "gaussian"
            else rng.uniform(-1, 1, shape).astype(np.float32)
            for rng in rngs
        ]
        return torch.from_numpy(np.stack(draw))
    if hasattr(kind, "sample"):
        found = []
        like = next(iter(kind.parameters()), None) if hasattr(kind, "parameters") else None
        with torch.no_grad():
            for number in rows.tolist():
                drawn = counter_rng(seed, number, Purpose.DIRECTION).integers(2**62)
                noise = torch.Generator("cpu" if like is None else like.device).manual_seed(int(drawn))
                found.append(kind.sample((1, *shape), noise).cpu())
        return torch.cat(found)
    given = torch.as_tensor(np.asarray(kind.detach().cpu() if isinstance(kind, Tensor) else kind))
    if not given.is_floating_point() or tuple(given.shape) not in (tuple(images.shape), tuple(shape)):
        raise UsageError(
            f"direction must be gaussian, uniform, a noise generator, or floats {list(images.shape)} or {list(shape)}; "
            f"got {str(given.dtype).removeprefix('torch.')} {list(given.shape)}"
        )
    if not given.isfinite().all():
        raise UsageError("direction must be finite numbers, got NaN or infinity")
    return given.expand(images.shape)[rows]


def _search(classify: Classifier, images: Tensor, labels: Tensor, noise: Tensor) -> np.ndarray:
    """Distances ``[n]`` of one batch."""
    unit = direction(noise)
    distances = torch.full((len(images),), torch.inf, dtype=torch.float64, device=images.device)
    distances[classify.wrong(images, labels)] = 0.0
    # Beyond this length of noise, every pixel that it moves is at its bound.
    room = torch.where(unit > 0, 1 - images, images)
    most = torch.where(unit != 0, room / unit.abs().clamp_min(1e-30), 0).flatten(1).amax(1)
    low, high = torch.zeros_like(most), torch.ones_like(most)
    growing = distances.isinf() & (most > 0)
    bracketed = torch.zeros_like(growing)
    while growing.any():
        rows = growing.nonzero()[:, 0]
        high[rows] = torch.minimum(high[rows], most[rows])
        wrong = classify.wrong(_noisy(images, unit, high, rows), labels[rows])
        bracketed[rows[wrong]] = True
        growing[rows[wrong | (high[rows] >= most[rows])]] = False
        rows = rows[~wrong]
        low[rows], high[rows] = high[rows], GROWTH * high[rows]
    for _ in range(HALVINGS):
        rows = (bracketed & (high - low > FINE * high)).nonzero()[:, 0]
        if not len(rows):
            break
        middle = low.clone()
        middle[rows] = (low[rows] + high[rows]) / 2
        wrong = classify.wrong(_noisy(images, unit, middle, rows), labels[rows])
        high[rows[wrong]], low[rows[~wrong]] = middle[rows[wrong]], middle[rows[~wrong]]
    rows = bracketed.nonzero()[:, 0]
    seen = classify.see(_noisy(images, unit, high, rows))
    distances[rows] = lengths(seen.double() - images[rows].double())
    return distances.cpu().numpy()


def _noisy(images: Tensor, unit: Tensor, length: Tensor, rows: Tensor) -> Tensor:
    return (images[rows] + as_rows(length[rows], images) * unit[rows]).clamp(0, 1)
