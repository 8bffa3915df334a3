"""CelebA: 202,599 aligned faces with 40 yes-or-no attributes (Liu et al., 2015)."""

from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayImages, ArrayLabels
from unbraid.data.dataset import ImageDataset
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import image_files, open_files
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.errors import UsageError, unknown_name
from unbraid.reading import read_text

__all__ = ["load_celeba", "read_attributes"]

_IMAGES = ("celeba/img_align_celeba", "CelebA/img_align_celeba", "img_align_celeba")
_ATTRIBUTES = "list_attr_celeba.txt"
_CARD = card("celeba", ("Attributes are opinions of annotators, several of them about looks; many are correlated.",))


@register("celeba", card=_CARD, images=202_599, size="64x64x3", files=_IMAGES)
def load_celeba(attribute: str | None = None, size: int = 64, crop: int = 148) -> ImageDataset:
    """Faces from the folder ``img_align_celeba``: the middle ``crop`` pixels, shrunk to ``size``.

    ``attribute`` (such as ``Smiling``) makes it a labelled set with the classes no and yes.
    """
    folder = find_file(*_IMAGES)
    if folder is None:
        raise missing_file("celeba", _IMAGES[0])
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder} holds no images; unpack img_align_celeba.zip there")
    labels = None if attribute is None else _column(folder, attribute, files)
    held = open_files("celeba", files, size=size, channels=3, crop=crop)
    if labels is None:
        return ArrayImages(held, name="celeba", card=_CARD)
    return ArrayLabels(held, labels, (f"not {attribute}", str(attribute)), name="celeba", card=_CARD)


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
    path = next((p for p in (folder.parent / _ATTRIBUTES, folder / _ATTRIBUTES) if p.exists()), None)
    if path is None:
        raise missing_file("celeba", f"celeba/{_ATTRIBUTES}")
    names, table = read_attributes(path)
    if attribute not in names:
        raise unknown_name("attribute of CelebA:", attribute, names)
    for file in files:
        if file.name not in table:
            raise UsageError(f"{path} says nothing about {file.name}; images and list must be of the same release")
    return np.array([table[file.name][names.index(attribute)] for file in files])
