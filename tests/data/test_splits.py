"""Splits: exact sizes, and laws that hold on every grid."""

import json
from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

from unbraid import data
from unbraid.data import FactorDataset, FactorSpace, make_stream, split
from unbraid.data.splits.shuffled import Permutation
from unbraid.data.splits.value_sets import KINDS, default_sets
from unbraid.errors import UsageError


class Blank(FactorDataset):
    """A grid that shows its factors."""

    name = "blank"

    def __init__(self, space: FactorSpace) -> None:
        self.space, self.shape = space, (1, 1, len(space.names))

    def images(self, index, rng=None):
        return (self.space.factors(index) % 256).astype(np.uint8)[:, None, None]


GRIDS = {name: data.entry(name).space for name in ("dsprites", "dsprites-90", "rooms3d", "arm3d", "mpi3d-real")} | {
    "celeb-flow": FactorSpace(("person", "smile", "blond", "age"), (1000, 6, 6, 6), ("categorical", *["ordinal"] * 3))
}
SIZES = {  # systematic train, composition train, of all
    "dsprites": (240_000, 192_312, 737_280),
    "dsprites-90": (60_000, 48_078, 184_320),
    "rooms3d": (147_456, 153_408, 480_000),
    "arm3d": (311_040, 287_712, 1_036_800),
    "mpi3d-real": (311_040, 287_712, 1_036_800),
    "celeb-flow": (64_000, 66_000, 216_000),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_published_grids_have_the_published_sizes(name, kind):
    systematic, composition, whole = SIZES[name]
    found = split(Blank(GRIDS[name]), kind)
    train = composition if kind == "composition" else systematic
    assert (len(found.train), len(found.test)) == (train, whole - train)
    assert found.published == (kind != "random")


ONE = {  # per factor; and how many test cells have exactly 1, 2, 3, ... unseen values
    "dsprites": (
        {"scale": 120_000, "orientation": 60_000, "x": 67_200, "y": 67_200},
        [314_400, 149_616, 30_912, 2_352],
    ),
    "rooms3d": (
        {"floor_hue": 36_864, "wall_hue": 36_864, "object_hue": 36_864, "scale": 49_152, "orientation": 36_864},
        [196_608, 104_448, 27_648, 3_648, 192],
    ),
    "arm3d": (
        {
            "object_color": 62_208,
            "camera_height": 155_520,
            "background_color": 155_520,
            "horizontal_axis": 34_560,
            "vertical_axis": 34_560,
        },
        [442_368, 226_752, 51_264, 5_184, 192],
    ),
    "celeb-flow": ({"smile": 32_000, "blond": 32_000, "age": 32_000}, [96_000, 48_000, 8_000]),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("kind", ["interpolation", "extrapolation"])
def test_single_unseen_factors_are_as_many_as_published(name, kind):
    found = split(Blank(GRIDS[name]), kind)
    per_factor, counts = ONE[name]
    assert {factor: len(found.one_ood(factor)) for factor in found.unseen} == per_factor
    assert len(found.one_ood()) == sum(per_factor.values())
    assert found.ood_counts() == [0, *counts]


def random_grid(seed: int) -> FactorSpace:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    sizes = rng.integers(1, 8, size=count)
    sizes[:2] = np.maximum(sizes[:2], 3)
    kinds = ["ordinal", "periodic", *rng.choice(["ordinal", "categorical", "periodic"], count - 2)]
    return FactorSpace(tuple(f"f{k}" for k in range(count)), tuple(map(int, sizes)), tuple(kinds))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_the_sides_of_any_grid_are_disjoint_and_make_the_whole(kind, seed):
    space = random_grid(seed)
    found = split(Blank(space), kind, seed)
    train, test = found.train.to_base(), found.test.to_base()
    assert sorted([*train, *test]) == list(range(len(space)))
    every = np.arange(len(space))
    for part, cells in ((found.train, train), (found.test, test)):
        np.testing.assert_array_equal(part.indices.find(cells), np.arange(len(part)))
        assert (part.indices.find(np.setdiff1d(every, cells)) == -1).all()
        np.testing.assert_array_equal(part.factors(np.arange(len(part))), space.factors(cells))
    if kind != "random":
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
    shown = space.factors(train)
    for a, b in combinations(range(len(space.names)), 2):
        cells = np.zeros((space.sizes[a], space.sizes[b]))
        np.add.at(cells, (shown[:, a], shown[:, b]), 1)
        expected = cells * cells.size / len(space)
        np.testing.assert_allclose(found.seen(space.names[a], space.names[b]), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["interpolation", "extrapolation", "composition"])
@pytest.mark.parametrize("seed", range(25))
def test_rules_hold_on_any_grid(kind, seed):
    space = random_grid(seed)
    found = split(Blank(space), kind)
    train, test = (part.factors(np.arange(len(part))) for part in (found.train, found.test))
    for name, values in found.rule.sets.items():
        column = space.names.index(name)
        assert space.sizes[column] > 2
        assert space.kinds[column] != "categorical"
        if kind == "composition":
            assert not np.isin(test[:, column], values).any()
            assert set(train[:, column]) == set(range(space.sizes[column]))
        else:
            assert not np.isin(train[:, column], values).any()
        if kind == "interpolation":
            assert 0 not in values
            assert space.sizes[column] - 1 not in values
    if kind == "composition":
        assert not found.unseen
        return
    odd = sum(np.isin(test[:, space.names.index(name)], values).astype(int) for name, values in found.unseen.items())
    assert np.bincount(odd, minlength=len(found.unseen) + 1).tolist() == found.ood_counts()
    alone = found.one_ood()
    np.testing.assert_array_equal(np.sort(alone.to_base()), found.test.to_base()[odd == 1])
    np.testing.assert_array_equal(alone.indices.find(alone.to_base()), np.arange(len(alone)))


def test_interpolation_and_extrapolation_hold_out_equally_many():
    for seed in range(25):
        space = random_grid(seed)
        sizes = [len(split(Blank(space), kind).train) for kind in ("random", "interpolation", "extrapolation")]
        assert len(set(sizes)) == 1


def test_the_default_composition_trains_on_about_a_third():
    # 1 - (5/6)^2 = .3056 with two factors of six values, and .4213 with three: two are nearer to .3
    assert default_sets("abc", (6, 6, 6), ["ordinal"] * 3, "composition") == {"a": (0,), "b": (0,)}
    for sizes in ((10, 10, 10, 15), (40, 40, 6), (12, 20)):
        sets = default_sets("abcd"[: len(sizes)], sizes, ["ordinal"] * len(sizes), "composition")
        test = prod(1 - len(sets.get(name, ())) / size for name, size in zip("abcd", sizes, strict=False))
        assert 0.25 < 1 - test < 0.35


def test_the_defaults_are_the_published_values_where_a_fifth_is_held_out():
    ordinal = ["ordinal"] * 4
    held = default_sets("abcd", (3, 10, 15, 40), ordinal, "interpolation")
    assert held == {"a": (1,), "b": (2, 7), "c": (2, 7, 12), "d": tuple(range(2, 40, 5))}
    top = default_sets("abcd", (3, 10, 15, 40), ordinal, "extrapolation")
    assert top == {"a": (2,), "b": (8, 9), "c": (12, 13, 14), "d": tuple(range(32, 40))}


def test_random_splits_follow_from_their_seed():
    grid = Blank(GRIDS["rooms3d"])
    one, same, other = split(grid, "random", 3), split(grid, "random", 3), split(grid, "random", 4)
    index = np.arange(1000)
    np.testing.assert_array_equal(one.train.to_base(index), same.train.to_base(index))
    assert one.hash == same.hash != other.hash
    assert (one.train.to_base(index) != other.train.to_base(index)).mean() > 0.99
    # Uniform: the mean of n of N cells is (N - 1) / 2 within 5 standard deviations, N sqrt((1 - n/N) / 12 n).
    chosen, count = one.train.to_base(), len(grid)
    bound = 5 * count * np.sqrt((1 - len(chosen) / count) / (12 * len(chosen)))
    assert abs(chosen.mean() - (count - 1) / 2) < bound


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30, 1000])
def test_random_orders_are_permutations_that_can_be_undone(count):
    order = Permutation(count, seed=5)
    every = np.arange(count)
    assert sorted(order(every)) == list(every)
    np.testing.assert_array_equal(order.inverse(order(every)), every)


def test_every_place_of_a_random_order_is_equally_likely():
    # 2,000 seeds, 12 places: counts are binomial with mean 166.7; chi-square of 11 degrees exceeds 35 once in 4,000.
    first = np.array([Permutation(12, seed)(np.array([0]))[0] for seed in range(2000)])
    counts = np.bincount(first, minlength=12)
    assert ((counts - 2000 / 12) ** 2 / (2000 / 12)).sum() < 35


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", ["uni", "lap", "loc"])
@pytest.mark.parametrize("name", ["dsprites", "rooms3d", "arm3d", "celeb-flow"])
def test_pairs_stay_in_the_training_side(kind, protocol, name):
    train = split(Blank(GRIDS[name]), kind).train
    law = data.protocol(protocol, GRIDS[name], **({"changes": 1} if protocol == "uni" else {}))
    index = train.sample_index(10_000, np.random.default_rng(0))
    second = train.follow(law, index, np.random.default_rng(1))
    assert (second >= 0).mean() > 0.99
    index, second = index[second >= 0], second[second >= 0]
    differ = train.factors(index) != train.factors(second)
    if protocol == "uni":
        assert (differ.sum(axis=1) == 1).all()
    elif protocol == "lap":
        assert differ.any(axis=1).all()
        assert not differ[:, [kind == "categorical" for kind in GRIDS[name].kinds]].any()


def test_streams_of_pairs_run_on_a_side_and_through_wrappers():
    side = data.load("color-mini-sprites:split=interpolation")
    batch = make_stream("pairs:protocol=uni", side, 64, 0)(3)
    assert batch.images.shape == batch.partners.shape == (64, 64, 64, 3)
    held = split(data.load("mini-sprites"), "interpolation").unseen
    for name, values in held.items():
        assert not np.isin(batch.factors[:, side.factor_names.index(name)], values).any()


def test_steps_in_a_box_follow_the_law_among_its_values():
    # Laplace weights exp(-|j - 2| / ln 5) over the values 0, 2 and 4 alone; a factor at 2 that may stay.
    space = FactorSpace(("x", "y"), (5, 5), ("ordinal", "ordinal"))
    law = data.protocol("lap-nc", space).within([(0, 2, 4), (1, 3)])
    rows = np.tile([2, 3], (40_000, 1))
    reached = law.step(rows, np.random.default_rng(0))
    weights = np.exp(-np.array([2, 0, 2]) / np.log(5))
    shares = np.bincount(reached[:, 0], minlength=5)[[0, 2, 4]] / len(rows)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.01)
    assert set(np.unique(reached[:, 1])) == {1, 3}
    first, second = law.pairs(100, np.random.default_rng(0))
    for rows in (first, second):
        assert set(rows[:, 0]) <= {0, 2, 4}
        assert set(rows[:, 1]) <= {1, 3}


def test_starts_of_pairs_are_uniform_on_the_side():
    # Pairs that are dropped when they leave would come less often from the edge of what is seen.
    space = FactorSpace(("x", "y"), (10, 10), ("ordinal", "ordinal"))
    stream = make_stream("pairs", split(Blank(space), "extrapolation").train, 1000, 0)
    starts = np.concatenate([stream(step).factors[:, 0] for step in range(20)])
    np.testing.assert_allclose(np.bincount(starts, minlength=8) / len(starts), 1 / 8, atol=0.012)


def test_own_values_make_a_split(tmp_path):
    grid = data.load("mini-sprites")
    own = {"shape": {"test_only": [2]}, "x": {"test_only": [0, 7]}}
    found = split(grid, own)
    assert len(found.train) == 2 * 4 * 6 * 8
    assert found.unseen == {"shape": (2,), "x": (0, 7)}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(own))
    loaded = data.load(f"mini-sprites:split={file},side=test")
    assert loaded.side.hash == found.hash
    assert len(loaded) == len(found.test)
    again = data.load(loaded.recipe.name, **json.loads(json.dumps(loaded.recipe.options)))
    file.unlink()  # the recipe holds the values, not the file
    np.testing.assert_array_equal(again.to_base(), loaded.to_base())
    anchored = split(grid, {"x": {"train_only": 0}, "y": {"train_only": [0, 1]}})
    assert len(anchored.test) == 3 * 4 * 7 * 6
    assert not anchored.unseen


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"hue": {"test_only": [1]}}, "factor to split: 'hue'"),
        ({"x": {"tests": [1]}}, "test_only or train_only"),
        ({"x": {"test_only": [8]}}, r"not all, of 0..7; got \[8\]"),
        ({"x": {"test_only": list(range(8))}}, "not all"),
        ({"x": {"test_only": [1]}, "y": {"train_only": [1]}}, "got both"),
        ({}, "at least one factor"),
        ("extra", "extrapolation"),
        ("nowhere.json", "no JSON file"),
    ],
)
def test_wrong_rules_are_named(rule, words):
    with pytest.raises(UsageError, match=words):
        split(data.load("mini-sprites"), rule)


def test_sides_are_loaded_by_name_and_by_their_recipes():
    for text, count in {
        "mini-sprites:split=extrapolation": 324,
        "mini-sprites:split=extrapolation,side=test": 444,
        "mini-sprites:split=extrapolation,side=one-ood-scale": 108,
        "mini-sprites:split=random,split_seed=4,side=test": 444,
        "mini-sprites:shape=0,split=extrapolation,part=::2": 54,
    }.items():
        found = data.load(text)
        again = data.load(found.recipe.name, **found.recipe.options)
        assert len(found) == len(again) == count
        np.testing.assert_array_equal(found.to_base(), again.to_base())
        assert again.side == found.side is not None
    names = {data.load(f"mini-sprites:split={kind}").side.hash for kind in KINDS}
    assert len(names) == 4
    with pytest.raises(UsageError, match="side=test"):
        data.load("mini-sprites:split=random,part=test")
    with pytest.raises(UsageError, match="needs a split"):
        data.load("mini-sprites:side=test")
    with pytest.raises(UsageError, match="already"):
        split(data.load("mini-sprites:split=random"), "random")


def test_fixed_factors_keep_the_published_values_of_the_others():
    dsprites = Blank(GRIDS["dsprites"])
    assert split(dsprites.subset(shape=1), "extrapolation").rule.sets == split(dsprites, "extrapolation").rule.sets
    assert split(dsprites.subset(orientation=slice(10)), "composition").published
    thinned = split(dsprites.subset(orientation=slice(None, None, 4)), "extrapolation")
    assert not thinned.published
    assert thinned.unseen["orientation"] == (8, 9)


def test_images_that_fill_no_grid_split_by_their_table():
    tracks = data.load("pedestrians")
    found = split(tracks, "extrapolation")
    train, test = found.train.to_base(), found.test.to_base()
    assert len(np.intersect1d(train, test)) == 0
    assert len(train) + len(test) == len(tracks)
    x = tracks.factor_names.index("x")
    # The top two of ten levels are held out: no training image lies beyond the 80 % quantile.
    column = tracks.factors(np.arange(len(tracks)))[:, x]
    assert column[train].max() <= np.quantile(column, 0.8) < column[test].max()
    assert sum(found.ood_counts()) == len(test)
    first, second = found.train.draw_pairs(50, np.random.default_rng(0))
    assert max(first.max(), second.max()) < len(train)


def test_grids_without_enough_ordered_factors_are_refused():
    space = FactorSpace(("shape", "size", "x"), (5, 2, 9), ("categorical", "ordinal", "ordinal"))
    assert split(Blank(space), "extrapolation").unseen == {"x": (7, 8)}
    with pytest.raises(UsageError, match="at least 2 ordered factors"):
        split(Blank(space), "composition")
    with pytest.raises(UsageError, match="shows every value"):
        split(Blank(GRIDS["rooms3d"]), "composition").one_ood()


def test_a_composition_shows_less_of_the_far_corner():
    seen = split(Blank(GRIDS["arm3d"]), "composition").seen("horizontal_axis", "vertical_axis")
    assert (seen[:6] == 1).all()
    assert (seen[:, :6] == 1).all()
    assert (seen[6:, 6:] == 0).all()
    assert all(early == late for early, late in pairwise(seen[10:, 10]))
