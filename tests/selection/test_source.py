"""What a task carries of its data: a recipe or the data set itself, and the positions of a part."""

import numpy as np

from unbraid.data import Wrapper, load
from unbraid.selection.source import Source


class EveryFourth(Wrapper):
    """Some images of another data set, by a class of its own that says so."""

    def __len__(self):
        return len(self.base) // 4

    def images(self, index, rng=None):
        return self.base.images(4 * np.asarray(index), rng)

    def in_whole(self):
        return self.base, 4 * np.arange(len(self))


def test_a_part_is_carried_by_the_recipe_of_the_whole_and_positions():
    blobs = load("blobs16")
    for part in (blobs.part([8, 0, 4]), EveryFourth(blobs)):
        source = Source.of(part)
        assert source.name == "blobs16"
        assert source.held is None
        everything = np.arange(len(part))
        assert (source.load().images(everything) == part.images(everything)).all()
        assert source.fingerprint() != "whole"
    assert Source.of(blobs).fingerprint() == "whole"
    assert Source.of(blobs).indices is None
