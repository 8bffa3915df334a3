"""A small picture of what a run has learned, for a table of many."""

from __future__ import annotations

import base64
import io
from functools import lru_cache

import numpy as np

from unbraid.data import ImageDataset, load
from unbraid.evaluation import UDR, read_share, shared_codes
from unbraid.report.tiles import enlarge
from unbraid.report.traversal import walk
from unbraid.study import EVALUATION, answers_of
from unbraid.training import Run

__all__ = ["NOTHING", "data_of", "looks"]

SIDE = 32
"""Smaller images are enlarged to this many pixels."""


NOTHING = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII="
)
"""A PNG of one clear pixel."""


def looks(run: Run, *, rows: int = 2, columns: int = 8) -> bytes:
    """A PNG of what a run's most active latents do to one image of its data, a row each; the same image for all runs.

    The codes of a measured run lie in its folder; for others some images are encoded.
    """
    from PIL import Image

    stored = _stored_codes(run)
    codes, kl = stored if stored is not None else shared_codes(run, data_of(run), images=200, seed=0)
    order = np.argsort(-(kl if kl is not None else codes.var(axis=0)), kind="stable")[:rows]
    batch = np.tile(codes[0], (len(order), columns, 1))
    for row, latent in enumerate(order):
        batch[row, :, latent] = walk(codes[:, latent], columns, discrete=run.discrete_codes)
    images = np.stack([enlarge(image, SIDE) for image in run.decode(batch.reshape(-1, codes.shape[1]))])
    height, width = images.shape[1:3]
    sheet = np.zeros((len(order), height + 1, columns, width + 1, 4), np.uint8)  # gaps of one clear pixel
    sheet[:, :-1, :, :-1, :3] = images.reshape(len(order), columns, height, width, 3).transpose(0, 2, 1, 3, 4)
    sheet[:, :-1, :, :-1, 3] = 255
    whole = sheet.reshape(len(order) * (height + 1), columns * (width + 1), 4)[:-1, :-1]
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(whole)).save(file, "PNG", optimize=True)
    return file.getvalue()


def _stored_codes(run: Run) -> tuple[np.ndarray, np.ndarray | None] | None:
    """What the study kept for UDR."""
    for answer in answers_of(run.path) if (run.path / EVALUATION).exists() else ():
        if isinstance(answer.evaluation.measure, UDR) and answer.on is None and answer.share is not None:
            share = read_share(answer.share)
            return share["codes"], share.get("kl")
    return None


def data_of(run: Run) -> ImageDataset:
    """A run's data, loaded once for all runs on it."""
    recipe = run.info["data"]["recipe"]
    return _load(recipe["name"]) if recipe is not None and not recipe["options"] else run.data()


@lru_cache(maxsize=4)
def _load(name: str) -> ImageDataset:
    return load(name)
