"""Your own images as a data set, in one line: from arrays, an npz file, or a folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from unbraid.data.arrays import ArrayFactors, ArrayImages, ArrayLabels, ArrayTable, HeldArray
from unbraid.data.dataset import Card, Dataset, ImageDataset, Recipe
from unbraid.data.files.converted import converted
from unbraid.data.files.npz import array_names, is_large, read_array, stream_rows
from unbraid.data.grid import plain_column, read_table
from unbraid.data.space import Kind
from unbraid.errors import UsageError
from unbraid.files import replace_file
from unbraid.paths import user_path

__all__ = ["from_arrays", "from_npz", "from_path", "is_path", "save"]


def from_arrays(
    images: np.ndarray | Sequence,
    factors: np.ndarray | Sequence | Mapping[str, Sequence] | None = None,
    labels: np.ndarray | Sequence | None = None,
    *,
    names: Sequence[str] | None = None,
    kinds: Sequence[Kind] | None = None,
    classes: Sequence[str] | None = None,
    name: str = "own",
    card: Card | None = None,
) -> ImageDataset:
    """A data set from images ``[n, h, w]`` or ``[n, h, w, c]``: uint8, bool, or floats in [0, 1].

    With ``factors``, a table ``[n, K]`` or a mapping from names to columns, codes can be scored against them. Any table
    will do: rows may repeat and combinations may be missing. If every combination of the values occurs once, in any
    order, it is a :class:`FactorDataset`, and the scores that choose factor values themselves apply too. Whole numbers
    and text are numbered as they sort; other floats stay as they were measured. ``names`` and ``kinds`` (``ordinal``
    unless said otherwise, ``categorical`` for text) describe the columns; one that never changes is left out.

    With ``labels`` ``[n]`` images have classes. Scores take the class for a factor; beside a table that is no full grid
    it becomes a further column, ``class``. Bytes that are all 0 or 1 are black and white.

    >>> pixels = np.zeros((6, 8, 8), dtype=np.uint8)
    >>> data = from_arrays(pixels, factors=[[x, y] for y in range(3) for x in (10, 20)], names=["x", "y"])
    >>> data.space.sizes, len(data)
    ((2, 3), 6)
    """
    pixels = _pixels(images)
    numbers, found = (None, []) if labels is None else _classes(labels, len(pixels), classes)
    if factors is not None:
        table = read_table(factors, len(pixels), names, kinds)
        if (grid := table.grid()) is not None:
            space, order = grid
            sorted_labels = numbers if numbers is None or order is None else numbers[order]
            held = HeldArray(pixels, order=order)
            return ArrayFactors(held, space, labels=sorted_labels, classes=found, name=name, card=card)
        table = table if numbers is None else table.with_column("class", numbers)
        return ArrayTable(HeldArray(pixels), table, labels=numbers, classes=found, name=name, card=card)
    if names is not None or kinds is not None:
        raise UsageError("names and kinds describe factors; give factors=[n, K] too")
    if numbers is not None:
        return ArrayLabels(HeldArray(pixels), numbers, found, name=name, card=card)
    return ArrayImages(HeldArray(pixels), name=name, card=card)


def from_npz(
    path: str | Path, *, names: Sequence[str] | str | None = None, kinds: Sequence[Kind] | str | None = None
) -> ImageDataset:
    """A data set from an npz file, never unpickling.

    Arrays: ``imgs`` or ``images``; then, if there are any, ``latents_classes``, ``factors`` or ``latents_values``
    (in this order of preference) or ``labels``, or both if the factors are no full grid; ``names`` and ``kinds`` of the
    factors and the names of ``classes`` if they have any. Other arrays are ignored.
    Written by ``np.savez`` (not ``savez_compressed``) the images stay on disk and are read batch by batch.
    """
    path = user_path(path, "path")
    # Written into a name on the command line a list reads a+b.
    names = names.split("+") if isinstance(names, str) else names
    kinds = cast(list[Kind], kinds.split("+")) if isinstance(kinds, str) else kinds
    found = array_names(path)

    def first(*keys: str) -> np.ndarray | None:
        return next((read_array(path, key) for key in keys if key in found), None)

    key = next((key for key in ("imgs", "images") if key in found), None)
    if key is None:
        raise UsageError(f"{path} holds no array 'imgs' or 'images', only: {', '.join(found) or 'nothing'}")
    images = _unpacked(path, key) if is_large(path, key) else read_array(path, key)
    factors = first("latents_classes", "factors", "latents_values")
    labels = first("labels")
    on_grid = labels is not None and factors is not None and "classes" not in found
    if on_grid and factors is not None and read_table(factors, len(factors), None, None).grid() is not None:
        labels = None  # on a full grid they are one of its factors
    if names is None and factors is not None and (written := first("names")) is not None:
        names = [str(text) for text in np.atleast_1d(written)]
    if kinds is None and factors is not None and (written := first("kinds")) is not None:
        kinds = cast(list[Kind], [str(text) for text in np.atleast_1d(written)])
    written = first("classes") if labels is not None else None
    classes = None if written is None else [str(text) for text in np.atleast_1d(written)]
    card = Card(path.name, source=str(path))
    return from_arrays(images, factors, labels, names=names, kinds=kinds, classes=classes, name=path.stem, card=card)


def save(data: Dataset, path: str | Path) -> Path:
    """Write a data set that lives in memory to an npz file that ``--data FILE.npz`` and :func:`load` read.

    Runs that are trained on it from then on know the file and find it again by themselves; earlier ones take it by
    ``unbraid evaluate RUN --data FILE.npz``.
    """
    path = user_path(path, "path").absolute()
    if path.suffix != ".npz":
        raise UsageError(f"path must end in .npz, got {path}")
    data.need_pictures("an npz file of images")
    if data.stochastic:
        raise UsageError(f"{data.name!r} shows other images at every look; save the data set inside it")
    index = np.arange(len(data))
    arrays: dict[str, np.ndarray] = {"images": data.images(index)}
    if data.has_factors:
        arrays |= {"factors": data.factors(index), "names": np.array(data.factor_names)}
        arrays["kinds"] = np.array(data.factor_kinds)
    if data.has_labels:
        arrays |= {"labels": data.labels(index), "classes": np.array(data.classes)}
    with replace_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    data.recipe = Recipe(str(path))
    return path


def is_path(name: str) -> bool:
    """Whether a data set's name means a file or folder: it has a separator, ends in ``.npz``, or is there."""
    return "/" in name or name.endswith(".npz") or Path(name).exists()


def from_path(path: str | Path, **options: Any) -> ImageDataset:
    """:func:`from_npz` or :func:`from_folder`, whichever the path calls for."""
    from unbraid.data.files.folder import from_folder
    from unbraid.data.sets.released import from_released, is_released

    path = user_path(path, "data")
    if path.is_dir():
        return from_folder(path, **options)
    if not path.exists():
        raise UsageError(f"no file or folder {path}; data sets by name: see `unbraid data list`")
    if path.suffix != ".npz":
        raise UsageError(f"cannot read {path}: expected an .npz file or a folder of images")
    return from_released(path) if is_released(path) and not options else from_npz(path, **options)


def _unpacked(path: Path, key: str) -> np.ndarray:
    """A large compressed array as a memory map, unpacked once under the data root."""
    with stream_rows(path, key) as rows:
        if len(rows.shape) not in (3, 4):
            raise UsageError(f"{key!r} of {path} must be [n, h, w] or [n, h, w, c], got shape {rows.shape}")
        height, width, *channels = rows.shape[1:]
        shape = (height, width, channels[0] if channels else 1)

        def render(index: np.ndarray) -> np.ndarray:
            return rows(len(index)).reshape(len(index), *shape).view(np.uint8)

        store = converted(f"own/{path.stem}", [path], count=rows.shape[0], shape=shape, render=render)
    return store.array()


def _only_bits(pixels: np.ndarray) -> bool:
    """Whether all bytes are 0 or 1; photographs answer after the first look."""
    step = max(1, (1 << 26) // max(1, pixels[0].size))
    return all(int(pixels[start : start + step].max()) <= 1 for start in range(0, len(pixels), step))


def _pixels(images: np.ndarray | Sequence) -> np.ndarray:
    pixels = images if isinstance(images, np.ndarray) else np.asarray(images)
    if pixels.ndim not in (3, 4) or 0 in pixels.shape:
        raise UsageError(f"images must be [n, h, w] or [n, h, w, c] with at least one image, got shape {pixels.shape}")
    if pixels.ndim == 4 and pixels.shape[3] > 4:
        hint = "; put the channels last: images.transpose(0, 2, 3, 1)" if pixels.shape[1] <= 4 else ""
        raise UsageError(f"images have {pixels.shape[3]} channels (shape {pixels.shape}), expected 1 to 4{hint}")
    if pixels.dtype == np.uint8:
        return pixels.view(np.bool_) if _only_bits(pixels) else pixels
    if pixels.dtype == np.bool_:
        return pixels
    if np.issubdtype(pixels.dtype, np.integer):
        low, high = int(pixels.min()), int(pixels.max())
        if low < 0 or high > 255:
            raise UsageError(f"images of type {pixels.dtype} must lie in 0..255, got {low}..{high}")
        return _pixels(pixels.astype(np.uint8))
    if np.issubdtype(pixels.dtype, np.floating):
        return _from_floats(pixels)
    raise UsageError(f"images must be uint8, bool, or floats in [0, 1], got {pixels.dtype}")


def _from_floats(pixels: np.ndarray) -> np.ndarray:
    out = np.empty(pixels.shape, dtype=np.uint8)
    step = max(1, (1 << 24) // max(1, pixels[0].size))  # bounds the float copies to some 100 MB
    for start in range(0, len(pixels), step):
        part = np.asarray(pixels[start : start + step])
        low, high = part.min(), part.max()
        if np.isnan(low):
            where = start + int(np.isnan(part).reshape(len(part), -1).any(axis=1).argmax())
            raise UsageError(f"images contain NaN, first in image {where}")
        if low < 0 or high > 1:
            hint = "; values up to 255 belong in uint8: images.astype(numpy.uint8)" if low >= 0 and high <= 255 else ""
            raise UsageError(f"float images must lie in [0, 1], got {low:g}..{high:g}{hint}")
        out[start : start + step] = np.rint(part * 255)
    return out


def _classes(labels: np.ndarray | Sequence, count: int, classes: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    values = plain_column(np.asarray(labels), "labels")
    if values.ndim != 1 or len(values) != count:
        raise UsageError(f"labels must be [{count}], one for each image, got shape {values.shape}")
    found, numbers = np.unique(values, return_inverse=True)
    if classes is None:
        return numbers, [str(value) for value in found]
    if np.issubdtype(values.dtype, np.integer) and found[0] >= 0 and found[-1] < len(classes):
        return values, list(classes)
    if set(found.tolist()) <= set(classes):
        position = {text: number for number, text in enumerate(classes)}
        return np.array([position[text] for text in found.tolist()])[numbers], list(classes)
    raise UsageError(f"classes names {len(classes)} classes but the labels are {', '.join(map(str, found[:12]))}")
