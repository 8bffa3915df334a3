"""Causal3DIdent: rendered objects whose hues and places depend on each other (von Kügelgen et al., 2021)."""

from math import ceil, log10
from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayTable
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import open_files
from unbraid.data.files.root import find_file
from unbraid.data.grid import read_table
from unbraid.data.registry import register
from unbraid.data.space import Kind
from unbraid.errors import UsageError
from unbraid.paths import user_path
from unbraid.reading import read_npy

__all__ = ["CLASSES", "FACTORS", "load_causal3dident"]

CLASSES = tuple(f"object {number}" for number in range(7))
FACTORS = (
    *("x", "y", "z", "rotation_1", "rotation_2", "rotation_3", "spotlight_angle"),
    *("object_hue", "spotlight_hue", "background_hue"),
)
_KINDS: list[Kind] = ["ordinal"] * len(FACTORS)
_FOLDERS = ("causal3dident/trainset", "causal3dident", "Causal3DIdent/trainset")
_CARD = card(
    "causal3dident",
    (
        "Factors are continuous and depend on the class and on each other by design.",
        "Rotations and hues go round, which scores of measured factors do not know: they take them as numbers.",
        "The order of the three hues was not checked on the files.",
    ),
)


@register("causal3dident", card=_CARD, images=250_000, size="64x64x3", files=_FOLDERS)
def load_causal3dident(folder: str | Path | None = None, size: int = 64, shown: str = "") -> ArrayTable:
    """Causal3DIdent from a folder with ``raw_latents_C.npy`` and ``images_C/`` for each class C of 0 to 6.

    ``shown`` chooses classes by number, joined by ``+``; each keeps its own number, however few are chosen.
    """
    path = user_path(folder, "folder") if folder is not None else find_file(*_FOLDERS)
    if path is None:
        raise missing_file("causal3dident", _FOLDERS[0])
    if not path.is_dir():
        raise UsageError(f"no folder {path}")
    chosen = _chosen(shown, path)
    tables, files, labels = [], [], []
    for number in chosen:
        latents = read_npy(path / f"raw_latents_{number}.npy")
        if latents.ndim != 2 or latents.shape[1] != len(FACTORS) or latents.dtype.kind != "f":
            raise UsageError(
                f"raw_latents_{number}.npy in {path} must be floats [n, {len(FACTORS)}], "
                f"got {latents.dtype} {latents.shape}"
            )
        digits = max(ceil(log10(len(latents))), 1)
        named = [path / f"images_{number}" / f"{index:0{digits}d}.png" for index in range(len(latents))]
        absent = next((file for file in named if not file.exists()), None)
        if absent is not None:
            raise UsageError(f"{path} lacks {absent.relative_to(path)}; unpack the archive again")
        tables.append(latents.astype(np.float64))
        files += named
        labels.append(np.full(len(latents), chosen.index(number)))
    held = open_files("causal3dident", files, size=size, channels=3)
    numbers = np.concatenate(labels)
    table = read_table(np.concatenate(tables), len(files), FACTORS, _KINDS)
    if len(chosen) > 1:
        table = table.with_column("class", numbers)
    names = tuple(CLASSES[number] for number in chosen)
    return ArrayTable(held, table, labels=numbers, classes=names, name="causal3dident", card=_CARD)


def _chosen(shown: str, path: Path) -> list[int]:
    known = [number for number in range(len(CLASSES)) if (path / f"raw_latents_{number}.npy").exists()]
    if not known:
        raise UsageError(f"{path} holds no raw_latents_C.npy of a class C in 0..6; unpack the archive there")
    words = [word for word in str(shown).replace("[", "").replace("]", "").replace(",", "+").split("+") if word.strip()]
    if not words:
        return known
    try:
        asked = sorted({int(word) for word in words})
    except ValueError as error:
        raise UsageError(f"shown must be numbers of classes joined by +, such as 0+3, got {shown!r}") from error
    for number in asked:
        if number not in known:
            raise UsageError(f"{path} has no class {number}; it has {', '.join(map(str, known))}")
    return asked
