"""What every registered data set must be; those that need no files are loaded."""

import numpy as np
import pytest

from unbraid import data

ENTRIES = [entry for entry in map(data.entry, data.names()) if entry.load.__module__.startswith("unbraid.data.sets")]
READY = [entry for entry in ENTRIES if not entry.files and entry.space is not None]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_it_says_what_it_is_before_it_is_loaded(entry):
    assert entry.card.title
    assert entry.card.source
    assert entry.card.licence
    assert entry.size


@pytest.mark.parametrize("entry", READY, ids=lambda entry: entry.name)
def test_what_it_says_is_what_is_loaded(entry):
    loaded = data.load(entry.name)
    assert len(loaded) == entry.images
    assert loaded.space == entry.space
    index = np.array([0, len(loaded) - 1])
    images = loaded.images(index, np.random.default_rng(0))
    assert images.shape == (2, *loaded.shape)
    assert images.dtype == (np.uint8 if len(loaded.shape) == 3 else np.float32)
    assert (loaded.factors(index) < loaded.factor_sizes).all()
    again = data.load(loaded.recipe.name, **loaded.recipe.options)
    assert (again.images(index, np.random.default_rng(0)) == images).all()
