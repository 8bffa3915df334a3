"""A tiny data set for tests, also a plugin for the command line: a white square on a 16x16 grid."""

import numpy as np

from unbraid.data import Card, FactorDataset, FactorSpace, register

SPACE = FactorSpace(("x", "y"), (12, 12), ("ordinal", "ordinal"))


@register("dots")
class Dots(FactorDataset):
    name, shape, space, card = "dots", (16, 16, 1), SPACE, Card("dots")

    def images(self, index, rng=None):
        del rng
        x, y = self.space.factors(index).T[:, :, None, None]
        rows, columns = np.mgrid[:16, :16]
        return (255 * ((abs(rows - 2 - y) < 2) & (abs(columns - 2 - x) < 2))).astype(np.uint8)[..., None]
