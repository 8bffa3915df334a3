"""How far the decision of analysis by synthesis is at least, from what its search found (Schott et al., 2019).

Every bound rests on one assumption, which no search can prove: that the best latent of each class was found. A better
search can only lower them.
"""

from __future__ import annotations

import numpy as np

from unbraid.errors import UsageError, unknown_name

__all__ = ["binary_bound", "l2_bound", "scaled_l2_bound", "spread_misfit"]

HALVINGS = 60


def l2_bound(distances: np.ndarray, residual: np.ndarray, divergence: np.ndarray) -> np.ndarray:
    """``min_c max(0, (d_c^2 - R^2 - K) / (2 (d_c + R)))`` for each image.

    ``distances`` ``[n, others]`` are the smallest L2 distances ``d_c`` of the image to what the other classes can
    decode, without any divergence; ``residual`` ``R`` ``[n]`` is the distance to the best decoding of its own class,
    and ``divergence`` ``K`` ``[n]`` the divergence of that latent. Moved by eps, the own class fits no worse than
    ``(R + eps)^2 + K``, another no better than ``(d_c - eps)^2``. The printed formula lacks the square of ``d_c``.

    >>> round(float(l2_bound([[5.0]], [2.0], [3.0])[0]), 6)
    1.285714
    """
    d, r, k = _checked(distances, residual, divergence)
    total = 2 * (d + r[:, None])
    meet = (d**2 - (r**2 + k)[:, None]) / np.where(total > 0, total, 1)
    found: np.ndarray = np.maximum(meet, 0).min(axis=1)
    return found


def scaled_l2_bound(
    distances: np.ndarray, residual: np.ndarray, divergence: np.ndarray, own: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """The same where energies are multiplied by a number for each class: ``own`` ``[n]``, ``others`` ``[n, others]``.

    The smallest eps with ``g_y ((R + eps)^2 + K) = g_c (d_c - eps)^2``; the left side rises, the right side falls.
    """
    d, r, k = _checked(distances, residual, divergence)
    g_y, g_c = np.asarray(own, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if g_y.shape != r.shape or g_c.shape != d.shape or not (min(g_y.min(), g_c.min()) > 0):
        raise UsageError(
            f"own must be numbers above 0 {list(r.shape)} and others {list(d.shape)}, got {list(g_y.shape)} and "
            f"{list(g_c.shape)}"
        )
    g_y = g_y[:, None]
    low, high = np.zeros_like(d), d.copy()
    for _ in range(HALVINGS):
        half = (low + high) / 2
        safe = g_y * ((r[:, None] + half) ** 2 + k[:, None]) < g_c * (d - half) ** 2
        low, high = np.where(safe, half, low), np.where(safe, high, half)
    found: np.ndarray = low.min(axis=1)
    return found


def binary_bound(images: np.ndarray, bounds: np.ndarray, threshold: float = 0.5, norm: str = "l2") -> np.ndarray:
    """Bounds for images ``[n, ...]`` in [0, 1] whose thresholded versions have these L2 bounds.

    A change of the thresholded image by ``b`` flips ``k = ceil(b^2)`` pixels or more, and flipping one costs its
    distance from the threshold: the ``k`` cheapest ones are the least it takes in L2, the dearest of them in Linf, and
    ``k`` itself in L0.

    >>> [float(binary_bound([[0.0, 0.2, 0.6, 1.0]], [1.2], norm=norm)[0].round(3)) for norm in ("l2", "linf", "l0")]
    [0.316, 0.3, 2.0]
    """
    if norm not in ("l0", "l2", "linf"):
        raise unknown_name("norm", norm, ("l0", "l2", "linf"))
    pixels, given = np.asarray(images, dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if pixels.ndim < 2 or not pixels.size or not (pixels.min() >= 0 and pixels.max() <= 1):
        raise UsageError(f"images must be [n, ...] in [0, 1], got {list(pixels.shape)}; divide bytes by 255")
    if given.shape != (len(pixels),) or not (given >= 0).all():
        raise UsageError(f"bounds must be {len(pixels)} numbers from 0, one per image, got {list(given.shape)}")
    costs = np.sort(np.abs(pixels.reshape(len(pixels), -1) - threshold), axis=1)
    flips = np.clip(np.ceil(given**2 - 1e-9), 1, costs.shape[1]).astype(int)
    rows = np.arange(len(costs))
    cheapest = {
        "l0": lambda: flips.astype(np.float64),
        "l2": lambda: np.sqrt((costs**2).cumsum(axis=1)[rows, flips - 1]),
        "linf": lambda: costs[rows, flips - 1],
    }
    return np.where(given > 0, cheapest[norm](), 0.0)


def spread_misfit(apart: np.ndarray, eps: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest and smallest squared distance that moving each pixel by ``eps`` can make of these differences.

    ``apart`` are differences ``[..., pixels]`` of decoding and image: ``sum (|a| + eps)^2`` for the own class at worst,
    ``sum max(|a| - eps, 0)^2`` for another at best. Where the first, with the divergence, is below the second, the
    decision stands for every change within ``eps`` in Linf.
    """
    size = np.abs(np.asarray(apart, dtype=np.float64))
    reach = np.asarray(eps, dtype=np.float64)[..., None]
    return ((size + reach) ** 2).sum(-1), (np.maximum(size - reach, 0) ** 2).sum(-1)


def _checked(
    distances: np.ndarray, residual: np.ndarray, divergence: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    d, r, k = (np.asarray(part, dtype=np.float64) for part in (distances, residual, divergence))
    if d.ndim != 2 or r.shape != (len(d),) or k.shape != (len(d),) or not d.shape[1]:
        raise UsageError(
            f"distances must be [n, other classes], residual and divergence [n]; got {d.shape}, {r.shape}, {k.shape}"
        )
    if not (np.isfinite(d).all() and np.isfinite(r).all() and np.isfinite(k).all() and min(d.min(), r.min()) >= 0):
        raise UsageError("distances and residual must be finite and not negative, divergence finite")
    return d, r, k
