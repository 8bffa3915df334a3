"""What holds for every registered data set that is at hand, its parts and its wrapped forms."""

import numpy as np
import pytest

from unbraid import data
from unbraid.data import PairStream, load
from unbraid.errors import UsageError

AT_HAND = [
    name for name in data.names() if name != "perturbed" and (data.entry(name).on_disk or not data.entry(name).files)
]
LARGE = (
    "cars3d",
    "shapes3d",
    "smallnorb",
    "celeba",
    "falcor3d",
    "isaac3d",
    "chairs",
)  # converted at first use, which takes minutes


@pytest.fixture(scope="module", params=[name for name in AT_HAND if not name.startswith((*LARGE, "mpi3d"))])
def every(request):
    return load(request.param)


def some(dataset, count=6):
    return np.linspace(0, len(dataset) - 1, count).astype(np.int64)


def check_images(dataset, images, count):
    assert images.shape == (count, *dataset.shape)
    assert images.dtype == (np.uint8 if len(dataset.shape) == 3 else np.float32)


def test_images_are_bytes_and_vectors_are_floats(every):
    index = some(every)
    images = every.images(index, np.random.default_rng(0))
    check_images(every, images, len(index))
    assert (every.images(index, np.random.default_rng(0)) == images).all()
    assert every.images(index[:0], np.random.default_rng(0)).shape == (0, *every.shape)
    assert every.has_pictures == (len(every.shape) == 3)


def test_it_is_what_its_entry_says(every):
    entry = data.entry(every.recipe.name)
    assert entry.images in (None, len(every)) or entry.name == "smallnorb"
    assert entry.size == "x".join(map(str, every.shape))
    assert entry.space == every.space
    assert entry.card.title


def test_factors_and_classes_are_told_or_refused(every):
    index = some(every)
    if every.has_factors:
        factors = every.factors(index)
        assert factors.shape == (len(index), len(every.factor_names))
        assert len(every.factor_kinds) == len(every.factor_names)
        if every.factor_sizes is None:
            assert np.issubdtype(factors.dtype, np.floating)
        else:
            assert factors.dtype == np.int64
            assert ((factors >= 0) & (factors < every.factor_sizes)).all()
    else:
        assert every.factor_names == every.factor_sizes == ()
        with pytest.raises(UsageError, match="no known factors"):
            every.factors(index)
    if every.has_labels:
        labels = every.labels(index)
        assert labels.dtype == np.int64
        assert ((labels >= 0) & (labels < len(every.classes))).all()
        assert (every.labels()[index] == labels).all()
    else:
        with pytest.raises(UsageError, match="no classes"):
            every.labels(index)


def test_positions_outside_are_refused(every):
    for position in (-1, len(every)):
        with pytest.raises(UsageError, match="index must lie in"):
            every.images([position], np.random.default_rng(0))
        if every.has_labels:
            with pytest.raises(UsageError, match="index must lie in"):
                every.labels([position])
        if every.has_factors:
            with pytest.raises(UsageError, match="index must lie in"):
                every.factors([position])


def test_a_part_keeps_all_of_it(every):
    index = some(every, 9)
    part = every.part(index)
    positions = np.array([8, 0, 4])
    images = part.images(positions, np.random.default_rng(3))
    assert (images == every.images(index[positions], np.random.default_rng(3))).all()
    assert (part.shape, part.classes, part.stochastic) == (every.shape, every.classes, every.stochastic)
    assert (part.factor_names, part.factor_sizes) == (every.factor_names, every.factor_sizes)
    assert part.factor_kinds == every.factor_kinds
    if every.has_factors:
        assert (part.factors(positions) == every.factors(index[positions])).all()
    if every.has_labels:
        assert (part.labels(positions) == every.labels(index[positions])).all()


def test_it_is_loaded_again_by_its_recipe(every):
    half = every.part(slice(0, len(every), 2))
    again = load(half.recipe.name, **half.recipe.options)
    index = some(again, 4)
    assert len(again) == len(half)
    assert (again.images(index, np.random.default_rng(1)) == half.images(index, np.random.default_rng(1))).all()


def test_pairs_lie_inside_a_large_part_or_are_refused(every):
    half = every.part(slice(0, len(every) // 2))
    if every.grid is None and not every.has_transitions:
        with pytest.raises(UsageError, match="neither transitions nor a factor grid"):
            PairStream(half, 8, 0)
        return
    batch = PairStream(half, 8, 0)(2)
    check_images(every, batch.images, 8)
    check_images(every, batch.partners, 8)
    assert (batch.index < len(half)).all()
    assert (batch.factors == half.factors(batch.index)).all()


def test_wrapped_it_keeps_factors_classes_and_pairs(every):
    if not every.has_pictures:
        with pytest.raises(UsageError, match="needs images"):
            data.PixelNoise(every, 0.1)
        return
    begin = len(every) // 4
    noisy = data.PixelNoise(every.part(slice(begin, begin + len(every) // 2)), 0.1)
    inside = some(noisy)
    index = begin + inside
    plain = every.images(index, np.random.default_rng(0)).astype(int)
    moved = noisy.images(inside, np.random.default_rng(0)).astype(int)
    whole = data.PixelNoise(every, 0.1)
    assert (whole.images(index, np.random.default_rng(0)) == moved).all()
    assert 0 < abs(moved - plain).max() <= 25
    assert noisy.stochastic == every.stochastic
    if every.has_factors:
        assert (noisy.factors(inside) == every.factors(index)).all()
    if every.has_labels:
        assert (noisy.labels(inside) == every.labels(index)).all()
    if every.grid is not None or every.has_transitions:
        batch = PairStream(noisy, 4, 0)(0)
        check_images(every, batch.partners, 4)
