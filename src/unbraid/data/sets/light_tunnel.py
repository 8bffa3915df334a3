"""The light tunnel of the Causal Chambers: photographs of a lamp behind two polarisers (Gamella et al., 2025)."""

from pathlib import Path

import numpy as np

from unbraid.data.arrays import ArrayTable
from unbraid.data.files.catalogue import card, missing_file
from unbraid.data.files.folder import open_files
from unbraid.data.files.root import find_file
from unbraid.data.grid import read_table
from unbraid.data.registry import register
from unbraid.data.space import Kind
from unbraid.errors import UsageError, unknown_name
from unbraid.paths import user_path
from unbraid.reading import read_csv

__all__ = ["FACTORS", "load_light_tunnel"]

FACTORS = ("red", "green", "blue", "pol_1", "pol_2")
_FOLDERS = ("light_tunnel/lt_crl_benchmark_v1", "light_tunnel", "lt_crl_benchmark_v1")
_CARD = card(
    "light-tunnel",
    (
        "The published image model is hexagon x (R, G, B) / 255 x cos^2(pol_1 - pol_2): three numbers, from which five "
        "factors cannot be recovered.",
        "In citris_1 pol_2 depends on the red and blue of the same moment.",
    ),
)


@register("light-tunnel", card=_CARD, size="64x64x3", files=_FOLDERS)
def load_light_tunnel(experiment: str = "uniform", folder: str | Path | None = None, size: int = 64) -> ArrayTable:
    """An experiment from the unpacked archive: ``EXPERIMENT/EXPERIMENT.csv`` beside ``EXPERIMENT/images_64/``.

    Experiments are its folders, such as ``uniform``, ``citris_1`` or ``buchholz_1_obs``.
    """
    path = user_path(folder, "folder") if folder is not None else find_file(*_FOLDERS)
    if path is None:
        raise missing_file("light-tunnel", _FOLDERS[0])
    known = sorted(found.name for found in path.iterdir() if (found / f"{found.name}.csv").exists())
    if experiment not in known:
        raise unknown_name("experiment of the light tunnel:", experiment, known)
    inside = path / experiment
    head, *rows = read_csv(inside / f"{experiment}.csv")
    for column in ("image_file", *FACTORS):
        if column not in head:
            raise UsageError(f"{inside / f'{experiment}.csv'} has no column {column!r}; it has {', '.join(head)}")
    picture = next((part for part in sorted(inside.glob("images_*")) if part.is_dir()), None)
    if picture is None:
        raise UsageError(f"{inside} has no folder images_64; unpack the archive again")
    files = [picture / row[head.index("image_file")] for row in rows]
    absent = next((file for file in files if not file.exists()), None)
    if absent is not None:
        raise UsageError(f"{inside} lacks {absent.relative_to(inside)}; unpack the archive again")
    try:
        numbers = np.array([[float(row[head.index(name)]) for name in FACTORS] for row in rows])
    except (ValueError, IndexError) as error:
        raise UsageError(f"{inside / f'{experiment}.csv'} holds something else than numbers ({error})") from error
    held = open_files(f"light-tunnel-{experiment}", files, size=size, channels=3)
    kinds: list[Kind] = ["ordinal"] * len(FACTORS)
    table = read_table(numbers, len(files), FACTORS, kinds)
    return ArrayTable(held, table, name=f"light-tunnel-{experiment}", card=_CARD)
