"""One picture of all corruptions: an image of a data set in every severity of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unbraid.corruptions import SUITES, Corruption, corrupt
from unbraid.data import Dataset
from unbraid.files import make_folders, save_picture, writing
from unbraid.report.sheet import Block, Row, draw_blocks

__all__ = ["corruption_sheet"]

_COLUMNS = 6
_TITLES = {"imagenet-c": "ImageNet-C", "imagenet-c-holdout": "ImageNet-C, held out", "mnist-c": "MNIST-C", "own": "Own"}


def corruption_sheet(dataset: Dataset, path: str | Path, *, seed: int = 0) -> Path:
    """Write a PNG: a row for each corruption with one image, clean and in every severity.

    A corruption of one setting is shown on several images instead.
    """
    dataset.need_pictures("a sheet of corruptions")
    rng = np.random.default_rng(seed)
    images = dataset.images(dataset.sample_index(_COLUMNS, rng), rng)
    blocks = []
    for name, suite in SUITES.items():
        rows = [_row(corruption, images, seed) for corruption in suite.values()]
        if rows:
            blocks.append(Block(_TITLES[name], rows))
    picture = draw_blocks(dataset, blocks, max(len(row.tiles) for block in blocks for row in block.rows))
    path = Path(path)
    with writing(path):
        make_folders(path.parent)
        save_picture(picture, path)
    return path


def _row(corruption: Corruption, images: np.ndarray, seed: int) -> Row:
    if len(corruption.severities) == 1:
        return Row(corruption.name, corruption.category, corrupt(images, corruption, 1, seed))
    first = images[:1]
    spoiled = [corrupt(first, corruption, severity, seed) for severity in corruption.severities]
    ticks = ("clean", *(f"severity {severity}" for severity in corruption.severities))
    return Row(corruption.name, corruption.category, np.concatenate([first, *spoiled]), ticks)
