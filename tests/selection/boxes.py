"""A toy data set, also a plugin: a square in 8 x 8 places and 3 sizes, each under 10 faint noises."""

import numpy as np

from unbraid.data import Card, FactorDataset, FactorSpace, register

SPACE = FactorSpace(("size", "x", "y", "noise"), (3, 8, 8, 10), ("ordinal", "ordinal", "ordinal", "categorical"))


@register("boxes")
class Boxes(FactorDataset):
    name, shape, space, card = "boxes", (16, 16, 1), SPACE, Card("boxes")

    def __init__(self):
        size, x, y, noise = SPACE.factors(np.arange(len(SPACE))).T[:, :, None, None]
        rows, columns = np.mgrid[:16, :16]
        half = 2 + 0.4 * size  # half a side, with soft borders: size changes an image less than a step does
        inside = [np.clip(half - abs(at - 4 - place) + 0.5, 0, 1) for at, place in ((rows, y), (columns, x))]
        grain = np.random.default_rng(0).uniform(0, 0.1, (10, 16, 16))[noise[:, 0, 0]]
        self._pixels = (255 * (0.9 * inside[0] * inside[1] + grain)).astype(np.uint8)[..., None]

    def images(self, index, rng=None):
        del rng
        return self._pixels[np.asarray(index)]
