"""Inference by search: for every image and every class the latent whose decoding explains the image best.

Schott et al. (2019): cached decodings of random latents give a start, Adam on the latent does the rest. There is no
encoder, so that nothing can be fooled but the match between image and decoding itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

__all__ = ["Decodings", "Explained", "Search", "descend", "explain", "half_squares", "misfit"]

Pixels = Literal["gaussian", "bernoulli"]
"""How a decoding explains an image: by squared distance, or by cross-entropy."""
Decode = Callable[[Tensor], Tensor]
"""From codes ``[n, classes, latents]`` to images ``[n, classes, c, h, w]`` in [0, 1]."""
BLOCK = 100
"""Latents that are decoded at a time."""
TOGETHER = 10
"""Images that a CPU searches for at a time, so that what decoders compute stays in its cache."""
FIRST = 4
"""Passes after which a search that is for some classes knows which."""
KEPT = 0.9
"""Part of the random latents that is kept: those of the highest density."""
TINY = 1e-6
_KNOWN: WeakKeyDictionary[nn.Module, tuple[Any, Decodings]] = WeakKeyDictionary()
"""Decodings by model, with what they were computed from."""


@dataclass(frozen=True)
class Search:
    """How the best latent is looked for."""

    samples: int = 8000
    """Random latents whose decodings are compared with every image."""
    iterations: int = 50
    """Passes of Adam from the best of them; the last only evaluates."""
    rate: float = 0.05
    """Step size of Adam."""
    radius: float = 5.0
    """Latents stay within this distance of the origin, where decoders were trained."""
    likelihood: Pixels = "gaussian"
    seed: int = 0
    classes: int = 0
    """Only so many classes of every image are searched to the end: twice as many whose random latents explain it best
    for the first ``FIRST`` passes, the best of them from then on; 0 is all of them. For attacks, whose findings a whole
    search verifies."""

    def __post_init__(self) -> None:
        if self.samples < 1 or self.iterations < 0:
            told = f"{self.samples} and {self.iterations}"
            raise UsageError(f"samples must be at least 1 and iterations must not be negative, got {told}")
        if not (self.rate > 0 and self.radius > 0):
            raise UsageError(f"rate and radius must be above 0, got {self.rate} and {self.radius}")
        if self.classes < 0:
            raise UsageError(f"classes must not be negative, got {self.classes}; 0 searches all of them")
        if self.likelihood not in ("gaussian", "bernoulli"):
            raise UsageError(f"likelihood must be gaussian or bernoulli, got {self.likelihood!r}")


@dataclass(frozen=True)
class Explained:
    """What a search found for ``n`` images and every class."""

    energy: Tensor
    """``[n, classes]``: misfit and divergence of the best latent; the lower, the better explained."""
    codes: Tensor
    """``[n, classes, latents]``."""
    reconstruction: Tensor
    """Their decodings ``[n, classes, c, h, w]``."""


def half_squares(codes: Tensor) -> Tensor:
    """``KL(N(z, I) || N(0, I))``: half the squared length, over the last axis."""
    return 0.5 * codes.square().sum(-1)


def misfit(images: Tensor, decoded: Tensor, likelihood: Pixels = "gaussian") -> Tensor:
    """Minus the log-likelihood of images given decodings of the same shape, but for a constant, over three axes.

    Gaussian with variance one half: the squared distance, summed over pixels. Bernoulli: the cross-entropy.
    """
    if likelihood == "gaussian":
        return (images - decoded).square().flatten(-3).sum(-1)
    sure = decoded.clamp(TINY, 1 - TINY)
    return -(images * sure.log() + (1 - images) * (1 - sure).log()).flatten(-3).sum(-1)


class Decodings:
    """Decodings of random latents by all classes, once and for all images."""

    def __init__(self, decode: Decode, classes: int, latents: int, search: Search, like: Tensor) -> None:
        rng = torch.Generator().manual_seed(search.seed)
        drawn = torch.randn(round(search.samples / KEPT), latents, generator=rng)
        likely = drawn[drawn.norm(dim=1).argsort(stable=True)[: search.samples]].to(like.device, like.dtype)
        self.codes = within(likely, search.radius)
        with torch.no_grad():
            parts = [decode(part[:, None].expand(-1, classes, -1)) for part in self.codes.split(BLOCK)]
        images = torch.cat(parts).flatten(2).transpose(0, 1)  # [classes, samples, pixels]
        if search.likelihood == "gaussian":
            self.rows, self.offset = -2 * images, images.square().sum(-1)
        else:
            sure = images.clamp(TINY, 1 - TINY)
            self.rows, self.offset = (1 - sure).log() - sure.log(), -(1 - sure).log().sum(-1)
        self.divergence = half_squares(self.codes)

    @classmethod
    def of(
        cls, model: nn.Module, decode: Decode, classes: int, latents: int, search: Search, like: Tensor
    ) -> Decodings:
        """Those of a model, computed once for its weights as they are and numbers like these."""
        with torch.inference_mode(False), torch.no_grad():
            state = [one.detach() for one in (*model.parameters(), *model.buffers())]
            sums = tuple((one.double().sum().item(), one.double().square().sum().item()) for one in state)
            # Versions of tensors would not do: fused optimisers and batch norms change them silently.
            # However long the search goes on from there, its beginnings are the same.
            key = (replace(search, iterations=0, rate=1.0, classes=0), like.device, like.dtype, sums)
            known = _KNOWN.get(model)
            if known is None or known[0] != key:
                made = cls(decode, classes, latents, search, torch.empty(0, device=like.device, dtype=like.dtype))
                known = _KNOWN[model] = key, made
        return known[1]

    def nearest(self, images: Tensor, weight: float = 1.0) -> Tensor:
        """The best of these latents for every image and class, ``[n, classes, latents]``; ``weight`` is that of KL."""
        return self.compare(images, weight)[0]

    def several(self, images: Tensor, count: int, weight: float = 1.0) -> list[Tensor]:
        """The ``count`` best of these latents, each ``[n, classes, latents]``, the best one first."""
        if not 0 < count <= len(self.codes):
            raise UsageError(f"count must lie between 1 and the {len(self.codes)} random latents, got {count}")
        flat = images.flatten(1)
        places = torch.stack(
            [
                torch.addmm(offset + weight * self.divergence, flat, rows.t()).topk(count, dim=1, largest=False).indices
                for rows, offset in zip(self.rows, self.offset, strict=True)
            ],
            1,
        )
        return [self.codes[place] for place in places.unbind(2)]

    def compare(self, images: Tensor, weight: float = 1.0) -> tuple[Tensor, Tensor]:
        """The best of these latents, and their costs ``[n, classes]`` but for what depends on the image alone."""
        flat = images.flatten(1)
        # What depends on the image alone decides nothing: the rest is a matrix product.
        best = [
            torch.addmm(offset + weight * self.divergence, flat, rows.t()).min(1)
            for rows, offset in zip(self.rows, self.offset, strict=True)
        ]
        return self.codes[torch.stack([one.indices for one in best], 1)], torch.stack([one.values for one in best], 1)


def within(codes: Tensor, radius: float) -> Tensor:
    """Codes drawn back to the ball of this radius, along their own direction."""
    return codes * (radius / codes.norm(dim=-1, keepdim=True).clamp_min(TINY)).clamp_max(1)


def descend(cost: Callable[[Tensor], Tensor], start: Tensor, search: Search) -> tuple[Tensor, Tensor]:
    """Lowest cost ``[n, classes]`` that Adam meets on its way from these latents, and the latents of it.

    More iterations never raise it: the best place counts, not the last.
    """
    codes, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    best, where = torch.full(start.shape[:-1], torch.inf, dtype=start.dtype, device=start.device), start.clone()
    for step in range(1, max(search.iterations, 1) + 1):
        last = step >= search.iterations
        variable = codes.detach().requires_grad_(not last)
        with torch.set_grad_enabled(not last):
            found = cost(variable)
        better = found.detach() < best
        best = torch.where(better, found.detach(), best)
        where = torch.where(better[..., None], codes, where)
        if last:
            break
        (slope,) = torch.autograd.grad(found.sum(), variable)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope.square()
        move = (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        codes = within(codes - search.rate * move, search.radius)
    return best, where


def explain(decode: Decode, images: Tensor, known: Decodings, search: Search) -> Explained:
    """The best latent of every class for images ``[n, c, h, w]``.

    Gradients flow from the energies to the images as if the latents were given: by the envelope theorem these are the
    gradients of the lowest energies.
    """
    with _searching():
        fixed = images.detach().clone()  # also where the caller is in inference mode
        together = TOGETHER if fixed.device.type == "cpu" else max(len(fixed), 1)
        starts, costs = known.compare(fixed)
        parts = zip(fixed.split(together), starts.split(together), costs.split(together), strict=True)
        codes = torch.cat([_search(decode, *part, search) for part in parts])
        with torch.no_grad():
            decoded = decode(codes)
    energy = misfit(images[:, None], decoded, search.likelihood) + half_squares(codes)
    return Explained(energy, codes, decoded)


def _search(decode: Decode, images: Tensor, starts: Tensor, costs: Tensor, search: Search) -> Tensor:
    def cost(codes: Tensor) -> Tensor:
        return misfit(images[:, None], decode(codes), search.likelihood) + half_squares(codes)

    if not 0 < search.classes < starts.shape[1] or search.iterations <= FIRST:
        return descend(cost, starts, search)[1]
    codes = starts
    for count, passes in ((2 * search.classes, FIRST), (search.classes, search.iterations - FIRST)):
        which = costs.topk(min(count, costs.shape[1]), dim=1, largest=False).indices
        spots = which[..., None].expand(-1, -1, starts.shape[-1])

        def of_some(some: Tensor, which: Tensor = which, codes: Tensor = codes) -> Tensor:
            drawn = _decode_some(decode, some, which, codes)
            return misfit(images[:, None], drawn, search.likelihood) + half_squares(some)

        found, best = descend(of_some, codes.gather(1, spots), replace(search, iterations=passes))
        codes = codes.scatter(1, spots, best)
        costs = torch.full_like(costs, torch.inf).scatter(1, which, found)
    return codes


def _decode_some(decode: Decode, codes: Tensor, which: Tensor, starts: Tensor) -> Tensor:
    """Images ``[n, some, c, h, w]`` of codes of some classes; a decoder that cannot tell them apart decodes all."""
    if hasattr(decode, "some"):
        found: Tensor = decode.some(codes, which)
        return found
    drawn = decode(starts.scatter(1, which[..., None].expand_as(codes), codes))
    return drawn.gather(1, which[..., None, None, None].expand(-1, -1, *drawn.shape[2:]))


@contextmanager
def _searching() -> Iterator[None]:
    """Gradients, whoever switched them off around the model."""
    with torch.inference_mode(False), torch.enable_grad():
        yield
