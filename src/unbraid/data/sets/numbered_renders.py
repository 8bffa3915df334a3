"""Falcor3D and Isaac3D: rendered scenes as numbered files, every combination of factors one (Nie et al., 2020)."""

from pathlib import Path

from unbraid.data.arrays import ArrayFactors
from unbraid.data.dataset import Card
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import open_files
from unbraid.data.files.root import find_file
from unbraid.data.registry import register
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError
from unbraid.paths import user_path

__all__ = ["FALCOR3D", "ISAAC3D", "numbered_files", "open_numbered"]

FALCOR3D = FactorSpace(
    ("light_intensity", "light_x", "light_y", "light_z", "camera_x", "camera_y", "camera_z"),
    (5, 6, 6, 6, 6, 6, 6),
    ("ordinal",) * 7,
)
ISAAC3D = FactorSpace(
    (
        "object_shape",
        "robot_x",
        "robot_y",
        "camera_height",
        "object_scale",
        "light_intensity",
        "light_y",
        "object_colour",
        "wall_colour",
    ),
    (3, 8, 5, 4, 4, 4, 6, 4, 4),
    ("categorical", *("ordinal",) * 6, "categorical", "categorical"),
)
_FALCOR = ("falcor3d/images", "falcor3d", "Falcor3D/images", "Falcor3D_down128/images")
_ISAAC = ("isaac3d/images", "isaac3d", "Isaac3D/images", "Isaac3D_down128/images")
_FALCOR_CARD = card("falcor3d", ("Published without checksums; files are of 1024 or of 128 pixels.",))
_ISAAC_CARD = card(
    "isaac3d",
    (
        "Published without checksums; files are of 512 or of 128 pixels.",
        "The order of factors that goes with the published one gives no bijection with their sizes; this one does.",
    ),
)


@register("falcor3d", card=_FALCOR_CARD, size="64x64x3", space=FALCOR3D, files=_FALCOR)
def load_falcor3d(folder: str | Path | None = None, size: int = 64) -> ArrayFactors:
    """Falcor3D from its folder of images ``000000.png`` to ``233279.png``, shrunk to ``size``."""
    return _load("falcor3d", FALCOR3D, _FALCOR, folder, size, _FALCOR_CARD)


@register("isaac3d", card=_ISAAC_CARD, size="64x64x3", space=ISAAC3D, files=_ISAAC)
def load_isaac3d(folder: str | Path | None = None, size: int = 64) -> ArrayFactors:
    """Isaac3D from its folder of images ``000000.png`` to ``737279.png``, shrunk to ``size``."""
    return _load("isaac3d", ISAAC3D, _ISAAC, folder, size, _ISAAC_CARD)


def numbered_files(folder: Path, count: int) -> list[Path]:
    """The files ``000000.png``, ``000001.png``, ... of a folder; the first that is missing is named."""
    there = {path.name for path in folder.iterdir()}
    wanted = [f"{number:06d}.png" for number in range(count)]
    missing = [name for name in wanted if name not in there]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise UsageError(
            f"{folder} lacks {missing[0]}{more} of the {count:,} numbered images; unpack the archive again"
        )
    return [folder / name for name in wanted]


def open_numbered(name: str, space: FactorSpace, folder: Path, size: int, about: Card) -> ArrayFactors:
    """Numbered files as a grid, last factor fastest."""
    if not 1 <= size <= 1024:
        raise UsageError(f"size must lie in 1..1024, got {size}")
    held = open_files(name, numbered_files(folder, len(space)), size=size, channels=3)
    return ArrayFactors(held, space, name=name, card=about)


def _load(
    name: str, space: FactorSpace, places: tuple[str, ...], folder: str | Path | None, size: int, about: Card
) -> ArrayFactors:
    path = user_path(folder, "folder") if folder is not None else find_file(*places)
    if path is None:
        raise missing_file(name, places[0])
    if not path.is_dir():
        raise UsageError(f"no folder {path}")
    return open_numbered(name, space, path, size, about)
