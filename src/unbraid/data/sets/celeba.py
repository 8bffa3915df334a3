"""CelebA: 202,599 aligned faces with 40 yes-or-no attributes (Liu et al., 2015)."""

from collections.abc import Collection
from functools import partial
from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayImages, ArrayLabels, ArrayTable
from unbraid.data.dataset import ImageDataset
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import image_files, open_files
from unbraid.data.files.root import find_file
from unbraid.data.grid import read_table
from unbraid.data.registry import register
from unbraid.data.space import Kind
from unbraid.errors import UsageError, unknown_name
from unbraid.reading import read_text

__all__ = ["load_celeba", "read_attributes"]

_IMAGES = ("celeba/img_align_celeba", "CelebA/img_align_celeba", "img_align_celeba")
_ATTRIBUTES = "list_attr_celeba.txt"
_PARTITION = "list_eval_partition.txt"
_IDENTITY = "identity_CelebA.txt"
PARTITIONS = ("train", "valid", "test")
"""The publishers' parts, as their list numbers them: 162,770, 19,867 and 19,962 images."""
_CARD = card("celeba", ("Attributes are opinions of annotators, several of them about looks; many are correlated.",))


@register("celeba", card=_CARD, images=202_599, size="64x64x3", files=_IMAGES)
def load_celeba(
    attribute: str | None = None,
    size: int = 64,
    crop: int = 148,
    partition: str = "",
    identity: bool = False,
) -> ImageDataset:
    """Faces from the folder ``img_align_celeba``: the middle ``crop`` pixels, shrunk to ``size``.

    ``attribute`` (such as ``Smiling``) makes it a labelled set with the classes no and yes; ``all`` takes the forty for
    factors, 0 or 1 each. ``identity`` takes the person for the class. ``partition`` is train, valid or test, as
    published.
    """
    folder = find_file(*_IMAGES)
    if folder is None:
        raise missing_file("celeba", _IMAGES[0])
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder} holds no images; unpack img_align_celeba.zip there")
    if attribute is not None and identity:
        raise UsageError("give attribute or identity, not both: an image has one class")
    if partition:
        if partition not in PARTITIONS:
            raise unknown_name("partition of CelebA:", partition, PARTITIONS)
        part = _listed(folder, _PARTITION, files)
        files = [file for file, number in zip(files, part, strict=True) if number == PARTITIONS.index(partition)]
        if not files:
            raise UsageError(f"{folder} holds no image of the partition {partition}")
    read = partial(open_files, "celeba", files, size=size, channels=3, crop=crop)
    if attribute == "all":
        names, rows = _attributes(folder, files)
        kinds: list[Kind] = ["categorical"] * len(names)
        table = read_table(rows, len(files), names, kinds)
        return ArrayTable(read(), table, name="celeba", card=_CARD)
    if identity:
        people, labels = np.unique(_listed(folder, _IDENTITY, files), return_inverse=True)
        return ArrayLabels(read(), labels, tuple(f"person {one}" for one in people), name="celeba", card=_CARD)
    if attribute is None:
        return ArrayImages(read(), name="celeba", card=_CARD)
    labels = _column(folder, attribute, files)
    return ArrayLabels(read(), labels, (f"not {attribute}", str(attribute)), name="celeba", card=_CARD)


def read_attributes(path: Path) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Names of the attributes and, for each file name, 0 or 1 per attribute.

    The format: a line with the count, a line with the names, then a file name and -1 or 1 per attribute in each line.
    """
    lines = read_text(path).splitlines()
    try:
        count, names = int(lines[0]), tuple(lines[1].split())
        rows = [line.split() for line in lines[2:] if line]
        table = {row[0]: (np.array(row[1:], dtype=np.int64) + 1) // 2 for row in rows}
    except (ValueError, IndexError) as error:
        raise UsageError(f"{path} is no attribute list of CelebA ({error})") from error
    if len(table) != count or any(len(values) != len(names) for values in table.values()):
        raise UsageError(f"{path} is cut short: it promises {count:,} rows of {len(names)} values; get it anew")
    return names, table


def _column(folder: Path, attribute: str, files: list[Path]) -> np.ndarray:
    names, rows = _attributes(folder, files)
    if attribute not in names:
        raise unknown_name("attribute of CelebA:", attribute, (*names, "all"))
    found: np.ndarray = rows[:, names.index(attribute)]
    return found


def _attributes(folder: Path, files: list[Path]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the attributes, and 0 or 1 for each file and attribute."""
    path = _beside(folder, _ATTRIBUTES)
    names, table = read_attributes(path)
    _check_listed(path, table, files)
    return names, np.array([table[file.name] for file in files])


def _listed(folder: Path, name: str, files: list[Path]) -> np.ndarray:
    """The number that a list of lines ``FILE NUMBER`` has for each file."""
    path = _beside(folder, name)
    try:
        table = {row[0]: int(row[1]) for row in (line.split() for line in read_text(path).splitlines()) if row}
    except (ValueError, IndexError) as error:
        raise UsageError(f"{path} is no list of file names and numbers ({error})") from error
    _check_listed(path, table, files)
    return np.array([table[file.name] for file in files])


def _beside(folder: Path, name: str) -> Path:
    path = next((p for p in (folder.parent / name, folder / name) if p.exists()), None)
    if path is None:
        raise missing_file("celeba", f"celeba/{name}")
    return path


def _check_listed(path: Path, table: Collection[str], files: list[Path]) -> None:
    for file in files:
        if file.name not in table:
            raise UsageError(f"{path} says nothing about {file.name}; images and list must be of the same release")
