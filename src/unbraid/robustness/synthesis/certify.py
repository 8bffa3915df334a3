"""Lower bounds on the distance to the nearest other decision of an ABS model, by searches of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.nets import Decodings, Search, descend, explain, half_squares, misfit
from unbraid.robustness.attacks import float_images
from unbraid.robustness.synthesis.bounds import scaled_l2_bound
from unbraid.robustness.synthesis.inference import BATCH, Generators

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["ASSUMPTION", "Bounds", "lower_bounds"]

HALVINGS = 12
"""How often an interval of lengths is halved, each time with a search for the other classes' best latents."""
ASSUMPTION = "valid if the search found the best latent of every class within its ball; a better search lowers them"
"""What every bound rests on."""


@dataclass(frozen=True)
class Bounds:
    """What each image may at least be moved by, ``[n]`` each; 0 where the class is wrong already."""

    l2: np.ndarray
    """As Schott et al. (2019) have it, with their formula mended."""
    coupled: np.ndarray | None = None
    """L2, with the divergence of the other classes counted: never below ``l2`` but for the search."""
    linf: np.ndarray | None = None
    right: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Which images the model names right."""

    def __str__(self) -> str:
        told = [f"L2 {self.l2.mean():.3f}"]
        told += [] if self.coupled is None else [f"coupled L2 {self.coupled.mean():.3f}"]
        told += [] if self.linf is None else [f"median Linf {np.median(self.linf):.3f}"]
        return f"mean bounds of {len(self.l2):,} images: {', '.join(told)}; {ASSUMPTION}"


def lower_bounds(
    run: Run,
    images: Any,
    labels: Any,
    *,
    coupled: bool = True,
    linf: bool = False,
    scales: Any = None,
    samples: int | None = None,
    iterations: int | None = None,
    restarts: int = 1,
    seed: int | None = None,
    batch_size: int = BATCH,
    generators: Generators | None = None,
) -> Bounds:
    """Bounds for an ABS run on images with their classes. They are estimates: see :class:`Bounds`.

    ``scales`` ``[classes]`` multiply the energies, as :func:`fit_scales` finds them. For Binary ABS give thresholded
    images, and then ``l2`` to :func:`binary_bound`.

    The nearest decodings of the other classes are looked for with the samples and iterations of the run and from the
    best random latent, unless ``samples``, ``iterations``, ``restarts`` (so many of the best ones) or the ``seed`` of
    the latents tell otherwise: how much bounds fall with a better search, or differ between seeds, is how far they can
    be trusted. The model itself stays as it is.
    """
    for option, value in (("batch_size", batch_size), ("restarts", restarts)):
        if value < 1:
            raise UsageError(f"{option} must be at least 1, got {value}")
    made = generators or Generators(run)
    if made.classes < 2:
        raise UsageError("bounds compare classes, and this run has one decoder; give an ABS run")
    if made.search.likelihood != "gaussian":
        raise UsageError("bounds are for the Gaussian likelihood: they rest on the triangle inequality of distances")
    weights = torch.ones(made.classes) if scales is None else torch.as_tensor(scales, dtype=torch.float32)
    if weights.shape != (made.classes,) or not (weights > 0).all() or not weights.isfinite().all():
        raise UsageError(f"scales must be {made.classes} numbers above 0, one for each class, got {scales}")
    pixels, truth = float_images(images, labels)
    made.check(pixels)
    if int(truth.max()) >= made.classes:
        raise UsageError(f"labels must lie in 0..{made.classes - 1}, the classes of this run, got {int(truth.max())}")
    told = {"samples": samples, "iterations": iterations, "seed": seed}
    wide = _Wide(
        made, replace(made.search, **{name: value for name, value in told.items() if value is not None}), restarts
    )
    parts = [
        _bounds(made, wide, x.to(made.device), y.to(made.device), weights.to(made.device), coupled, linf)
        for x, y in zip(pixels.split(batch_size), truth.split(batch_size), strict=True)
    ]
    return Bounds(*(None if rows[0] is None else np.concatenate(rows) for rows in zip(*parts, strict=True)))  # type: ignore[arg-type]


class _Wide:
    """The search for what the other classes can decode, which need not be the one that the model classifies by."""

    def __init__(self, made: Generators, search: Search, restarts: int) -> None:
        self.search, self.restarts = search, restarts
        self.usual = self.known = made.known
        if replace(search, iterations=made.search.iterations) != made.search:
            like = torch.empty(0, device=made.device)
            self.known = Decodings(made.decode, made.classes, made.latents, search, like)

    def starts(self, images: Tensor) -> list[Tensor]:
        """The latents that decode nearest to the images, whatever their divergence."""
        if self.restarts == 1:
            return [self.known.nearest(images, weight=0.0)]
        return self.known.several(images, self.restarts, weight=0.0)

    def lowest(self, cost: Callable[[Tensor], Tensor], starts: list[Tensor]) -> Tensor:
        """The lowest cost of every image and class from several starts."""
        with torch.inference_mode(False), torch.enable_grad():
            return torch.stack([descend(cost, start, self.search)[0] for start in starts]).amin(0)


def _bounds(
    made: Generators, wide: _Wide, x: Tensor, y: Tensor, scales: Tensor, coupled: bool, linf: bool
) -> tuple[np.ndarray | None, ...]:
    rows = torch.arange(len(x), device=x.device)
    with torch.no_grad():
        found = explain(made.decode, x, wide.usual, made.search)
    energy = scales * found.energy
    right = energy.argmin(1) == y
    own = found.reconstruction[rows, y]
    divergence = half_squares(found.codes[rows, y])
    residual = (own - x).flatten(1).norm(dim=1)
    other = torch.ones_like(found.energy, dtype=torch.bool)
    other[rows, y] = False
    own_scale, scale = scales[y], scales.expand_as(energy)[other].view(len(x), -1)
    starts = [*wide.starts(x), found.codes]

    def distance(codes: Tensor) -> Tensor:
        return misfit(x[:, None], made.decode(codes))

    d = wide.lowest(distance, starts).clamp_min(0).sqrt()
    numbers = (d[other].view(len(x), -1), residual, divergence, own_scale, scale)
    plain = scaled_l2_bound(*(part.double().cpu().numpy() for part in numbers))

    def beaten(cost: Callable[[Tensor], Tensor], ours: Tensor) -> Tensor:
        """Where no other class, at its best, costs as little as the own one at its worst."""
        theirs = wide.lowest(cost, starts)[other].view(len(x), -1)
        return (scale * theirs > (own_scale * (ours + divergence))[:, None]).all(1)

    def safe_l2(eps: Tensor) -> Tensor:
        def cost(codes: Tensor) -> Tensor:
            far = distance(codes).clamp_min(1e-12).sqrt()
            return half_squares(codes) + (far - eps[:, None]).clamp_min(0).square()

        return beaten(cost, (residual + eps).square())

    def safe_linf(eps: Tensor) -> Tensor:
        def cost(codes: Tensor) -> Tensor:
            apart = (made.decode(codes) - x[:, None]).abs() - eps[:, None, None, None, None]
            return apart.clamp_min(0).square().flatten(2).sum(-1)

        return beaten(cost, ((own - x).abs() + eps[:, None, None, None]).square().flatten(1).sum(1))

    kept = right.cpu().numpy()
    # Farther away the own class fits worse than the best of the others does here, divergence and all.
    rival = energy.masked_fill(~other, torch.inf).amin(1)
    most = ((rival / own_scale - divergence).clamp_min(0).sqrt() - residual).clamp_min(0)
    both = _largest(safe_l2, most).cpu().numpy() if coupled else None
    even = _largest(safe_linf, torch.ones(len(x), device=x.device)).cpu().numpy() if linf else None
    return (
        np.where(kept, plain, 0.0),
        None if both is None else np.where(kept, both, 0.0),
        None if even is None else np.where(kept, even, 0.0),
        kept,
    )


def _largest(safe: Callable[[Tensor], Tensor], most: Tensor) -> Tensor:
    """The largest length, up to ``most``, at which a decision is still safe, by halving."""
    low, high = torch.zeros_like(most), most.clone()
    low_safe = safe(low)
    for _ in range(HALVINGS):
        half = (low + high) / 2
        held = safe(half) & low_safe
        low, high = torch.where(held, half, low), torch.where(held, high, half)
    return torch.where(low_safe, low, 0)
