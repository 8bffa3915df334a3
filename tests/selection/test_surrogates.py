"""Surrogate labels: which latents give them, where they are kept, and how a model is scored by them."""

import numpy as np
import pytest

from dots import Dots
from unbraid.errors import UsageError
from unbraid.metrics import mig
from unbraid.selection.labelling import active_latents, label_dataset
from unbraid.selection.surrogates import SurrogateStore, surrogate_mig

FACTORS = Dots().space.factors(np.arange(144))


class Lookup:
    """A model whose codes and divergences are given by the position of the square in the image."""

    def __init__(self, codes, kl=(2.0, 0.3, 1.1, 0.0)):
        self.codes, self.kl = np.asarray(codes, dtype=float), np.asarray(kl)

    def encode(self, images):
        x = images[..., 0].max(axis=1).argmax(axis=1) - 1
        y = images[..., 0].max(axis=2).argmax(axis=1) - 1
        return self.codes[Dots().space.index(np.stack([x, y], axis=1))]

    def describe(self, images):
        return {"mean": self.encode(images), "kl_per_latent": np.tile(self.kl, (len(images), 1))}


def test_latents_above_one_nat_are_active():
    assert active_latents([2.0, 0.3, 1.1, 0.0]) == (0, 2)
    assert active_latents([1.0, 0.3]) == ()
    assert active_latents([2.0, 0.3, 1.1, 0.0], threshold=0.2) == (0, 1, 2)


def test_labels_are_the_mean_codes_of_the_active_latents_in_the_order_of_the_images():
    codes = np.random.default_rng(0).standard_normal((144, 4))
    found = label_dataset(Lookup(codes), Dots(), batch_size=50)
    assert found.active == (0, 2)
    assert found.kl == pytest.approx([2.0, 0.3, 1.1, 0.0])
    np.testing.assert_allclose(found.values, codes[:, [0, 2]], rtol=1e-6)


def test_a_model_without_active_latents_gives_no_labels():
    assert label_dataset(Lookup(FACTORS, kl=(0.9, 0.1)), Dots()) is None


def truth(*leaf_runs):
    store = SurrogateStore()
    store.add(0, 0, np.arange(144), FACTORS)
    for run in leaf_runs:
        store.add(run, 1, np.arange(0, 144, 12), FACTORS[::12, :1])
    return store


def test_codes_that_are_the_labels_reach_one():
    assert surrogate_mig(Lookup(FACTORS), Dots(), truth(1, 2)).value >= 0.97


def test_codes_rotated_by_45_degrees_have_no_gap():
    # Both codes know the same about x, and the same about y.
    rotated = FACTORS @ np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    assert surrogate_mig(Lookup(rotated), Dots(), truth()).value < 0.1


def test_with_labels_that_are_factors_it_is_the_gap_of_those_factors():
    codes = FACTORS + 1.5 * np.random.default_rng(1).standard_normal(FACTORS.shape)
    score = surrogate_mig(Lookup(codes), Dots(), truth())
    assert score.value == pytest.approx(mig(codes, FACTORS).value)


def test_a_leaf_run_scores_the_mean_over_all_columns_and_the_value_is_the_median_leaf_run():
    # The code is x alone. Root: gap 1 for x, 0 for y. Leaf-runs add columns x (1) or y (0):
    # 1: x, y | x x x -> 4/5; 2: x, y | y y y -> 1/5; 3: x, y | x y -> 1/2.
    store = truth()
    x, y = FACTORS[:, :1], FACTORS[:, 1:]
    for run, columns in enumerate([(x, x, x), (y, y, y), (x, y)], 1):
        store.add(run, 1, np.arange(144), np.hstack(columns))
    score = surrogate_mig(Lookup(np.hstack([x, 0 * y])), Dots(), store)
    assert score.parts["per_leaf_run"] == pytest.approx({"1": 0.8, "2": 0.2, "3": 0.5})
    assert score.value == pytest.approx(0.5)


def test_columns_that_do_not_vary_are_skipped():
    store = truth()
    store.add(1, 1, [3, 5], np.full((2, 1), 0.25))
    assert surrogate_mig(Lookup(FACTORS), Dots(), store).value == pytest.approx(1.0)


def test_the_same_images_are_drawn_for_every_model():
    codes = np.random.default_rng(0).standard_normal((144, 3))
    scores = [surrogate_mig(Lookup(codes), Dots(), truth(1), samples=40, seed=seed).value for seed in (0, 0, 1)]
    assert scores[0] == scores[1] != scores[2]


def test_a_store_comes_back_from_its_folder(tmp_path):
    store = truth(1, 3)
    store.save(tmp_path)
    store.save(tmp_path)
    again = SurrogateStore.load(tmp_path)
    assert again.leaf_runs == [1, 3]
    for old, new in zip(store.entries, again.entries, strict=True):
        assert (old.leaf_run, old.depth) == (new.leaf_run, new.depth)
        np.testing.assert_array_equal(old.indices, new.indices)
        np.testing.assert_array_equal(old.values, new.values)
    assert again.without_leaf_runs_above(1).leaf_runs == [1]


def test_labels_that_do_not_fit_are_refused():
    store = truth()
    with pytest.raises(UsageError, match="already"):
        store.add(0, 0, np.arange(144), FACTORS)
    with pytest.raises(UsageError, match="ascending"):
        store.add(1, 1, [3, 2], FACTORS[:2])
    with pytest.raises(UsageError, match="shape"):
        store.add(1, 1, [3, 2], FACTORS[:3])
    store.add(1, 1, [0, 500], FACTORS[:2])
    with pytest.raises(UsageError, match="image 500"):
        surrogate_mig(Lookup(FACTORS), Dots(), store)
    with pytest.raises(UsageError, match="no surrogate"):
        surrogate_mig(Lookup(FACTORS), Dots(), SurrogateStore())
