"""corrupt: images in, spoiled images out."""

from collections.abc import Sequence

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import draws_of
from unbraid.corruptions._registry import Corruption
from unbraid.corruptions._steps import Asked, Step, numbered, read_steps
from unbraid.errors import UsageError

__all__ = ["check_shape", "corrupt", "corrupt_again"]

_CHUNK = 1 << 17
"""Numbers worked on at once: a few such arrays stay in the cache."""
_SIZES = (16, 512)


def corrupt(
    images: np.ndarray,
    name: Asked,
    severity: int = 1,
    seed: int = 0,
    *,
    indices: np.ndarray | None = None,
) -> np.ndarray:
    """Spoil images, uint8 [n,h,w,c] in and out, c = 1 or 3, 16 to 512 pixels a side.

    What is drawn for an image depends on seed, corruption, severity and the image's number alone: ``indices`` are the
    numbers of these images in their data set (0, 1, 2, ... unless given), so that a batch looks as in the whole.
    A name is looked for in ImageNet-C, its hold-outs, MNIST-C and own corruptions; ``mnist-c/fog`` says which is meant.
    Several are done one after the other: ``"fog:severity=3 then jpeg_compression:severity=2"``, or a list of names;
    ``severity`` is that of steps that do not say theirs.

    >>> grey = np.full((2, 32, 32, 3), 128, np.uint8)
    >>> corrupt(grey, "gaussian_noise", severity=3, seed=0).shape
    (2, 32, 32, 3)
    """
    return corrupt_again(images, numbered(read_steps(name, severity)), seed, indices)


def corrupt_again(
    images: np.ndarray, steps: Sequence[tuple[Step, int]], seed: int, indices: np.ndarray | None
) -> np.ndarray:
    """Spoil images by steps, each with how often the same one was done to them before: it then draws anew."""
    found = _checked(images)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise UsageError(f"seed must be a whole number in 0..2**64 - 1, got {seed!r}")
    numbers = _numbers(indices, len(found))
    for step, again in steps:
        found = _done(step, again, found, int(seed), numbers)
    return found


def _done(step: Step, again: int, images: np.ndarray, seed: int, numbers: np.ndarray) -> np.ndarray:
    corruption, severity = step.corruption, int(step.severity)
    setting = corruption.settings[severity - 1]
    out = np.empty_like(images)
    size = max(1, _CHUNK // int(np.prod(images.shape[1:])))
    for start in range(0, len(images), size):
        part = slice(start, start + size)
        draws = draws_of(seed, corruption.full_name, severity, numbers[part], again)
        out[part] = _bytes(corruption, images[part], corruption.apply(images[part], draws, *setting))
    return out


def _bytes(corruption: Corruption, images: np.ndarray, found: np.ndarray) -> np.ndarray:
    if not isinstance(found, np.ndarray) or found.shape != images.shape:
        came = getattr(found, "shape", type(found).__name__)
        raise UsageError(f"{corruption.full_name} must give back an array of shape {images.shape}, got {came}")
    if found.dtype == np.uint8:
        return found
    if found.dtype.kind != "f":
        raise UsageError(f"{corruption.full_name} must give back uint8, or floats in [0,1], got {found.dtype}")
    out, wrong = np.empty(found.shape, np.uint8), np.zeros(1, np.int64)
    _rounded(np.ascontiguousarray(found).reshape(-1), out.reshape(-1), wrong)
    if wrong[0]:
        raise UsageError(f"{corruption.full_name} gave numbers that are not finite; it must give floats in [0,1]")
    return out


@compiled
def _rounded(found: np.ndarray, out: np.ndarray, wrong: np.ndarray) -> None:
    """Clip, round and count what is no finite number, in one pass."""
    bad = 0
    for i in range(len(found)):
        value = found[i]
        bad += not (abs(value) <= 3.0e38)
        out[i] = np.uint8(min(max(value, 0), 1) * 255 + 0.5)
    wrong[0] = bad


def _checked(images: np.ndarray) -> np.ndarray:
    images = np.asarray(images)
    if images.dtype != np.uint8:
        span = f" from {images.min():.3g} to {images.max():.3g}" if images.size and images.dtype.kind in "fiu" else ""
        raise UsageError(
            f"images must be uint8 in 0..255, got {images.dtype}{span}; "
            "floats in [0,1] become so by (images * 255).round().astype('uint8')"
        )
    if images.ndim != 4 or images.shape[3] not in (1, 3):
        raise UsageError(
            f"images must have the shape [n, height, width, 1 or 3], got {list(images.shape)}; "
            "channels come last (numpy.moveaxis), grey images have one (images[..., None])"
        )
    check_shape(images.shape[1:], "images")
    return np.ascontiguousarray(images)


def check_shape(shape: Sequence[int], what: str) -> None:
    """Refuse images of a size or a number of channels that no corruption was made for."""
    height, width, channels = shape
    if channels not in (1, 3):
        raise UsageError(f"{what} must have 1 or 3 channels to be corrupted, got {channels}")
    if not all(_SIZES[0] <= side <= _SIZES[1] for side in (height, width)):
        raise UsageError(f"{what} must be {_SIZES[0]} to {_SIZES[1]} pixels high and wide, got {height} x {width}")


def _numbers(indices: np.ndarray | None, count: int) -> np.ndarray:
    if indices is None:
        return np.arange(count)
    found = np.asarray(indices)
    if found.shape != (count,) or found.dtype.kind not in "iu" or (count and found.min() < 0):
        raise UsageError(
            f"indices must be {count} whole numbers from 0, one per image, "
            f"got {found.dtype} of shape {list(found.shape)}"
        )
    return found
