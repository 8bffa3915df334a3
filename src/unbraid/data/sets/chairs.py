"""Chairs: 1,393 rendered models from 62 sides (Aubry et al., 2014)."""

import re
from pathlib import Path

from unbraid.data.arrays import ArrayFactors
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import open_files
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.paths import user_path

__all__ = ["chair_files", "load_chairs"]

_FOLDERS = ("chairs/rendered_chairs", "rendered_chairs", "chairs")
_VIEW = re.compile(r"image_(\d+)_p(\d+)_t(\d+)_r(\d+)\.png")
_CARD = card(
    "chairs",
    (
        "A chair is a whole model: its number is its place in the sorted list of folders.",
        "Views are those of the files, sorted by elevation and azimuth; images are cropped in the middle before they "
        "are shrunk, which public loaders forget.",
    ),
)


@register("chairs", card=_CARD, images=86_366, size="64x64x1", files=_FOLDERS)
def load_chairs(folder: str | Path | None = None, size: int = 64, crop: int = 400) -> ArrayFactors:
    """Chairs from the folder ``rendered_chairs``: the middle ``crop`` pixels in grey, shrunk to ``size``."""
    path = user_path(folder, "folder") if folder is not None else find_file(*_FOLDERS)
    if path is None:
        raise missing_file("chairs", _FOLDERS[0])
    if not path.is_dir():
        raise UsageError(f"no folder {path}")
    files, space = chair_files(path)
    held = open_files("chairs", files, size=size, channels=1, crop=crop)
    return ArrayFactors(held, space, name="chairs", card=_CARD)


def chair_files(folder: Path) -> tuple[list[Path], FactorSpace]:
    """The files of all chairs in the order of the grid: chair, elevation, azimuth; a missing view is named."""
    found: dict[tuple[str, int, int], Path] = {}
    for path in sorted(folder.glob("*/renders/*.png")) or sorted(folder.glob("*/*.png")):
        view = _VIEW.fullmatch(path.name)
        if view is not None:
            chair = path.parent.parent.name if path.parent.name == "renders" else path.parent.name
            found[chair, int(view[2]), int(view[3])] = path
    if not found:
        raise UsageError(f"{folder} holds no image_NNN_pEEE_tAAA_rRRR.png in folders of chairs; unpack rendered_chairs")
    chairs = sorted({chair for chair, _, _ in found})
    heights, sides = sorted({height for _, height, _ in found}), sorted({side for _, _, side in found})
    missing = [(c, p, t) for c in chairs for p in heights for t in sides if (c, p, t) not in found]
    if missing:
        chair, height, side = missing[0]
        raise UsageError(
            f"{folder} lacks the view p{height:03d}_t{side:03d} of chair {chair} and {len(missing) - 1:,} others: "
            "every chair must be there from all sides"
        )
    sizes = (len(chairs), len(heights), len(sides))
    space = FactorSpace(("chair", "elevation", "azimuth"), sizes, ("categorical", "ordinal", "periodic"))
    return [found[c, p, t] for c in chairs for p in heights for t in sides], space
