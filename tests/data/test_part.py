"""Parts of data sets: any images of any data set, with what they have in the whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbraid
from unbraid import data
from unbraid.data import FactorSpace, PairStream, Part, SequenceStream, from_arrays, load
from unbraid.data.part import Composed, Listed, Strided
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE

GRID = data.IdentityFactors((3, 4, 5))
LISTS = st.lists(st.integers(0, 59), min_size=1, max_size=40)
SLICES = st.slices(60).filter(lambda chosen: len(range(60)[chosen]) > 0)


@given(st.one_of(LISTS, SLICES))
def test_a_part_shows_the_images_and_factors_of_the_whole(index):
    part = GRID.part(index)
    chosen = np.arange(60)[index]
    assert len(part) == len(chosen)
    assert (part.to_base() == chosen).all()
    assert (part.images(np.arange(len(part))) == GRID.images(chosen)).all()
    assert (part.factors(np.arange(len(part))) == GRID.space.factors(chosen)).all()
    assert part.space is None
    assert (part.factor_names, part.factor_sizes) == (GRID.space.names, GRID.space.sizes)


@given(st.one_of(LISTS, SLICES), st.data())
def test_a_part_of_a_part_is_one_of_the_whole(index, more):
    outer = GRID.part(index)
    inner = more.draw(
        st.one_of(
            st.lists(st.integers(0, len(outer) - 1), min_size=1, max_size=20),
            st.slices(len(outer)).filter(lambda chosen: len(range(len(outer))[chosen]) > 0),
        )
    )
    part = outer.part(inner)
    assert part.base is GRID
    assert (part.to_base() == np.arange(60)[index][inner]).all()


@given(st.one_of(LISTS, SLICES))
def test_find_is_the_inverse_of_looking_up(index):
    indices = GRID.part(index).indices
    chosen = np.arange(60)[index]
    found = indices.find(np.arange(60))
    assert ((found >= 0) == np.isin(np.arange(60), chosen)).all()
    inside = np.flatnonzero(found >= 0)
    assert (indices[found[inside]] == inside).all()


class Evens:
    """A rule that lists nothing: the even positions of a data set of ten million images."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count // 2

    def __getitem__(self, positions):
        return 2 * positions

    def find(self, index):
        return np.where(index % 2 == 0, index // 2, -1)


def test_a_rule_need_not_list_what_it_chooses():
    large = data.IdentityFactors((100, 250, 200, 2))
    part = large.part(Evens(len(large)))
    assert len(part) == 5_000_000
    assert (part.factors([0, 1, 4_999_999]) == [[0, 0, 0, 0], [0, 0, 1, 0], [99, 249, 199, 0]]).all()
    thinned = part.part(slice(None, None, 1000))
    assert isinstance(thinned.indices, Composed)
    assert (thinned.to_base([3, 4]) == [6000, 8000]).all()
    assert (thinned.indices.find(np.array([6000, 6001, 6002])) == [3, -1, -1]).all()


def test_classes_and_the_choice_of_a_part_stay_together():
    digits = load("digits8")
    part = digits.part([5, 3, 5])
    assert (part.labels() == digits.labels()[[5, 3, 5]]).all()
    assert (part.labels([1]) == digits.labels([3])).all()
    assert part.classes == digits.classes
    assert not part.has_factors
    with pytest.raises(UsageError, match="no known factors"):
        part.factors([0])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([60], r"must lie in 0\.\.59, got 60\.\.60"),
        ([-1], "must lie in"),
        ([], "must be integers"),
        ([0.5], "must be integers"),
        ([[1, 2]], "must be integers"),
        (slice(9, 3), "at least one image"),
        (slice(None, None, 0), "step of a part must not be 0"),
    ],
)
def test_what_chooses_no_images_is_refused(index, message):
    with pytest.raises(UsageError, match=message):
        GRID.part(index)


def test_positions_outside_of_a_part_are_refused():
    with pytest.raises(UsageError, match=r"must lie in 0\.\.1, got 2\.\.2"):
        GRID.part([4, 5]).images([2])


# Recipes


@pytest.mark.parametrize(
    "name", ["mini-sprites:part=::7", "mini-sprites:shape=0,part=3:9", "mini-sprites:part=5", "digits8:part=4+2+4"]
)
def test_a_part_is_loaded_again_by_its_recipe(name):
    part = load(name)
    again = load(part.recipe.name, **part.recipe.options)
    everything = np.arange(len(part))
    assert isinstance(part, Part)
    assert (again.images(everything) == part.images(everything)).all()


@given(st.slices(256).filter(lambda chosen: len(range(256)[chosen]) > 0))
@settings(max_examples=25)
def test_slices_of_a_loaded_set_have_recipes(chosen):
    base = load("blobs16")
    part = base.part(chosen)
    again = load(part.recipe.name, **part.recipe.options)
    assert (again.to_base() == part.to_base()).all()
    twice = part.part(slice(None, None, -1))
    assert (load(twice.recipe.name, **twice.recipe.options).to_base() == part.to_base()[::-1]).all()


def test_a_list_of_positions_has_a_recipe_once_it_is_saved(tmp_path):
    part = load("blobs16").part([7, 3, 200])
    assert part.recipe is None
    assert part.save(tmp_path / "some.npy").recipe is not None
    again = load(part.recipe.name, **part.recipe.options)
    assert again.to_base().tolist() == [7, 3, 200]
    assert load(f"blobs16:part={tmp_path / 'some.npy'}").recipe == part.recipe
    with pytest.raises(UsageError, match="lives in memory only"):
        GRID.part([1]).save(tmp_path / "other.npy")
    with pytest.raises(UsageError, match=r"must end in \.npy"):
        part.save(tmp_path / "some.txt")
    with pytest.raises(UsageError, match="no npy file"):
        load("blobs16:part=nowhere.npy")
    (tmp_path / "pickle.npy").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(UsageError, match="no npy file"):
        load(f"blobs16:part={tmp_path / 'pickle.npy'}")


def test_parts_of_files_and_folders_of_ones_own(tmp_path):
    np.savez(tmp_path / "own.npz", images=np.arange(40, dtype=np.uint8).reshape(10, 2, 2), labels=np.arange(10) % 3)
    part = load(f"{tmp_path / 'own.npz'}:part=1::4")
    assert part.labels().tolist() == [1, 2, 0]
    assert load(part.recipe.name, **part.recipe.options).labels().tolist() == [1, 2, 0]


def test_a_run_on_a_part_is_opened_and_resumed(tmp_path):
    part = load("blobs16").part([3, 9, 27, 81, 243]).save(tmp_path / "part.npy")
    objective = BetaVAE(latents=2, net="mlp:width=8")
    options = {"out": tmp_path / "run", "batch_size": 4, "progress": "none"}
    unbraid.train(objective, part, steps=2, **options)
    run = unbraid.open_run(tmp_path / "run")
    assert run.data().to_base().tolist() == [3, 9, 27, 81, 243]
    again = unbraid.train(objective, run.data(), steps=4, **options)
    assert again.info["step"] == 4


# Pairs


def same_law(one, two, size):
    """Whether pairs ``[n, 2]`` and ``[m, 2]`` come equally often, within six standard deviations."""
    counts = [np.bincount(pairs @ [size, 1], minlength=size * size) for pairs in (one, two)]
    pooled = sum(counts) / (len(one) + len(two))
    spread = np.sqrt(pooled * (1 / len(one) + 1 / len(two)))
    seen = sum(counts) >= 20
    return (abs(counts[0] / len(one) - counts[1] / len(two)) <= 6 * spread)[seen].all() and seen.sum() >= 10


@pytest.mark.parametrize("protocol", ["uni", "lap", "lap-nc"])
def test_pairs_in_a_part_are_those_of_the_whole_that_stay_inside(protocol):
    # The reference draws from the whole grid and drops what leaves the part.
    chosen = np.array([0, 1, 2, 7, 8, 21, 22, 23, 40, 41, 42, 47, 55, 59])
    part, inside = GRID.part(chosen), np.isin(np.arange(60), chosen)
    whole = PairStream(GRID, 150_000, 0, protocol=protocol)(0)
    second = GRID.space.index(whole.partners.reshape(-1, 3).astype(np.int64))
    keep = inside[whole.index] & inside[second]
    expected = np.stack([whole.index[keep], second[keep]], axis=1)
    batch = PairStream(part, 40_000, 1, protocol=protocol)(0)
    first = part.to_base(batch.index)
    later = GRID.space.index(batch.partners.reshape(-1, 3).astype(np.int64))
    assert inside[later].all()
    assert (batch.factors == GRID.factors(first)).all()
    assert same_law(np.stack([first, later], axis=1), expected, 60)
    # Uniform draws that are dropped with their partner would be another law.
    assert not same_law(np.random.default_rng(0).choice(chosen, (40_000, 2)), expected, 60)


def test_sequences_in_a_part_never_leave_it():
    # On a line of 12, steps of LAP; the law of whole walks is compared with rejected walks of the whole grid.
    line = from_arrays(np.arange(12, dtype=np.uint8)[:, None, None], factors=np.arange(12)[:, None])
    chosen = np.array([2, 3, 4, 8, 9])
    whole = SequenceStream(line, 120_000, 0, length=4).frames(0).reshape(-1, 4).astype(np.int64)
    kept = whole[np.isin(whole, chosen).all(axis=1)]
    walks = SequenceStream(line.part(chosen), 60_000, 0, length=4).frames(0).reshape(-1, 4).astype(np.int64)
    assert np.isin(walks, chosen).all()
    for place in range(3):
        assert same_law(walks[:, place : place + 2], kept[:, place : place + 2], 12)


def test_a_part_in_which_nothing_moves_is_refused():
    # Only one of 12 places: every step of LAP leaves it.
    line = from_arrays(np.arange(12, dtype=np.uint8)[:, None, None], factors=np.arange(12)[:, None])
    with pytest.raises(UsageError, match="too few to train on"):
        PairStream(line.part([5]), 8, 0)


def test_sequences_that_no_part_holds_are_refused_at_once():
    # Two neighbours alone on a line: LAP moves at every step, so that a pair and the way back stay inside, but of
    # walks of 16 images, whose 15 steps must all go to and fro, hardly any does.
    line = from_arrays(np.arange(12, dtype=np.uint8)[:, None, None], factors=np.arange(12)[:, None])
    part = line.part([5, 6])
    PairStream(part, 15, 0)
    with pytest.raises(UsageError, match="too few to train on"):
        SequenceStream(part, 15, 0, length=16)


def test_pairs_of_parts_of_tracks_follow_the_tracks():
    film = load("pedestrians", walkers=4, augment=False)
    part = film.part(slice(0, len(film), 2))
    batch = PairStream(part, 200, 3)(0)
    second = {film.images([k]).tobytes(): k for k in range(len(film))}
    first = part.to_base(batch.index)
    for before, image in zip(first, batch.partners, strict=True):
        after = second[image.tobytes()]
        same = [k for k in range(len(film)) if film.images([k]).tobytes() == image.tobytes()]
        assert any(0 < k - before <= film.max_gap and k % 2 == 0 for k in same), (before, after)


def test_pairs_of_a_part_are_a_function_of_seed_and_step():
    part = GRID.part(slice(0, 30))
    one, two = PairStream(part, 32, 5), PairStream(part, 32, 5)
    assert (one(3).partners == two(3).partners).all()
    assert (one(3).index != one(4).index).any()


def test_indices_say_what_they_are():
    assert isinstance(GRID.part([1, 2]).indices, Listed)
    assert isinstance(GRID.part(slice(3)).indices, Strided)
    assert FactorSpace(("a",), (2,), ("ordinal",)) != GRID.part([1]).grid == GRID.space


def test_a_saved_part_of_a_side_is_known_as_such_when_it_is_loaded(tmp_path):
    side = load("mini-sprites:split=composition,side=test")
    part = side.part([5, 3, 9]).part([2, 0]).save(tmp_path / "some.npy")
    again = load(part.recipe.name, **part.recipe.options)
    assert again.side == part.side == side.side
    np.testing.assert_array_equal(again.images(range(2)), side.images([9, 5]))
    whole = side.save(tmp_path / "all.npy")
    again = load(whole.recipe.name, **whole.recipe.options)
    assert again.side == side.side
    np.testing.assert_array_equal(again.origin(range(len(again))), side.origin(range(len(side))))
