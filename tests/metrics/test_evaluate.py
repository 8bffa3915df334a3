import json
import subprocess
import sys

import numpy as np
import pytest
from metric_toys import FactorPixels, draws, identity

from unbraid.data import from_arrays, from_vectors
from unbraid.errors import UsageError
from unbraid.metrics import METRICS, beta_vae, evaluate, factor_vae, has_no_factors, mcc, mig, score_codes

QUICK = ["beta_vae", "factor_vae", "mig", "mcc", "gaussian_total_correlation", "r2"]
SMALL = {"train": 200, "test": 100, "batch": 8}

FROM_ARRAYS = ("codes", "sample", "train and test")


def test_every_distinct_image_is_encoded_once():
    data = FactorPixels((3, 4, 5))
    seen = []

    def encode(images):
        seen.append(len(images))
        return identity(images)

    scores = evaluate(encode, data, QUICK, **SMALL)
    assert list(scores) == [name for name in METRICS if name in QUICK]
    assert sum(seen) == data.served == len(data)  # thousands of draws, 60 images


def test_interventional_scores_are_those_of_their_functions():
    data = FactorPixels((3, 4, 5))
    scores = evaluate(identity, data, ["beta_vae", "factor_vae"], **SMALL)
    assert float(scores["beta_vae"]) == float(beta_vae(identity, data, **SMALL))
    assert float(scores["factor_vae"]) == float(factor_vae(identity, data, **SMALL, plain=200))


@pytest.mark.parametrize(("stochastic", "sampled"), [(False, False), (True, False), (False, True)])
def test_leaving_a_score_out_does_not_change_the_others(stochastic, sampled):
    class Run:
        def encode(self, images, *, kind="mean", seed=0):
            noise = np.random.default_rng(seed).normal(size=(3, len(images))).T if kind == "sampled" else 0
            return np.sin(37 * identity(images)) + noise

    class TwoDraws(FactorPixels):
        def images(self, index, rng=None):
            # Two draws per batch: the second depends on how many images the batch has.
            pixels = super().images(index, rng)
            return pixels ^ rng.integers(0, 2, size=pixels.shape, dtype=np.uint8) if self.noisy else pixels

    data = TwoDraws((3, 4, 5), noisy=stochastic)
    options = {**SMALL, "representation": "sampled" if sampled else "mean"}
    everything = evaluate(Run(), data, QUICK, **options)
    for name in QUICK:
        assert float(evaluate(Run(), data, name, **options)[name]) == float(everything[name])


def test_images_that_depend_on_chance_are_encoded_draw_by_draw():
    data = FactorPixels((3, 4), noisy=True)
    evaluate(identity, data, ["mig"], train=200, test=100)
    assert data.served == 300


def test_sampled_codes_come_from_the_run_with_fresh_noise_per_batch():
    class Run:
        def __init__(self):
            self.seeds = []

        def encode(self, images, *, kind="mean", seed=0):
            assert kind == "sampled"
            self.seeds.append(seed)
            return identity(images) + np.random.default_rng(seed).normal(size=(len(images), 2))

    run, data = Run(), FactorPixels((30, 30))
    first = evaluate(run, data, "mcc", representation="sampled", train=500, test=10, batch_size=100)["mcc"]
    assert len(set(run.seeds)) == len(run.seeds) > 3
    assert float(first) < float(evaluate(identity, data, "mcc", train=500, test=10)["mcc"])
    small = FactorPixels((2, 2))
    evaluate(Run(), small, "mcc", representation="sampled", train=200, test=100)
    assert small.served == 300  # four images, but three hundred draws of noise
    again = evaluate(Run(), data, "mcc", representation="sampled", train=500, test=10, batch_size=100)["mcc"]
    assert float(first) == float(again)
    with pytest.raises(UsageError, match="needs a run"):
        evaluate(identity, data, "mcc", representation="sampled")


def test_kinds_and_options_reach_the_scores():
    data = FactorPixels((5, 4))
    data.space = type(data.space)(data.space.names, data.space.sizes, ("categorical", "ordinal"))
    shuffled = lambda images: np.array([3, 0, 4, 1, 2])[images.reshape(len(images), -1)]  # noqa: E731
    plain, told = (evaluate(shuffled, data, "mcc", train=500, test=10, use_kinds=use)["mcc"] for use in (False, True))
    assert float(told) > float(plain) + 0.1
    bins = evaluate(identity, data, "mig", train=50, test=10, options={"mig": {"bins": 2}})["mig"]
    assert bins.settings["bins"] == 2
    with pytest.raises(UsageError, match="not among the chosen"):
        evaluate(identity, data, "mig", options={"mcc": {}})
    with pytest.raises(UsageError, match="unknown option of mig 'bin'; did you mean 'bins'"):
        evaluate(identity, data, "mig", options={"mig": {"bin": 2}})
    with pytest.raises(UsageError, match="unknown option of beta_vae 'batch'"):
        evaluate(identity, data, "beta_vae", options={"beta_vae": {"batch": 2}})


def test_scores_tell_their_time_and_fit_into_json():
    data = FactorPixels((3, 4))
    told: list[str] = []
    scores = evaluate(identity, data, QUICK, **SMALL, progress=told.append)
    assert told == ["encoding: 12 of 12 images, 0:00 left", *scores]
    for score in scores.values():
        assert score.settings["seconds"] >= 0
        assert score.settings["representation"] == "mean"
        json.dumps(score.to_json(), allow_nan=False)


def test_codes_from_anywhere_are_scored_like_by_hand():
    factors = draws((4, 5), 300)
    codes = factors + 0.1 * np.random.default_rng(0).normal(size=factors.shape)
    scores = score_codes(codes, factors, metrics=["mcc", "mig"], kinds=["ordinal", "categorical"])
    assert float(scores["mig"]) == float(mig(codes, factors))
    assert float(scores["mcc"]) == float(mcc(codes, factors, kinds=["ordinal", "categorical"]))


def test_wrong_names_get_the_nearest_right_one():
    with pytest.raises(UsageError, match="did you mean 'modularity'"):
        score_codes(draws((2, 2), 20), draws((2, 2), 20), metrics=["modularty"])
    with pytest.raises(UsageError, match="udr compares several models"):
        score_codes(draws((2, 2), 20), draws((2, 2), 20), metrics="udr")
    with pytest.raises(UsageError, match=r"call unbraid.metrics.beta_vae\(encode, data\)"):
        score_codes(draws((2, 2), 20), draws((2, 2), 20), metrics="beta_vae")
    with pytest.raises(UsageError, match="known factors"):
        evaluate(identity, np.zeros(3), "mig")


ALONE = [entry.name for entry in METRICS.values() if entry.needs == "codes"]


def test_codes_without_factors_get_the_scores_that_need_none():
    codes = np.random.default_rng(0).normal(size=(300, 3))
    factors = draws((4, 5), 300)
    alone, beside = score_codes(codes), score_codes(codes, factors, metrics=ALONE)
    assert list(alone) == ALONE
    assert [float(score) for score in alone.values()] == [float(score) for score in beside.values()]
    with pytest.raises(UsageError, match=f"mig, mcc cannot do without.*alone: {', '.join(ALONE)}"):
        score_codes(codes, metrics=["mig", "mcc", ALONE[0]])
    with pytest.raises(UsageError, match="udr compares several models"):
        score_codes(codes, metrics="udr")


class Plain:
    """Images of three pixels and nothing known about them."""

    def images(self, index, rng=None):
        pixels = np.random.default_rng(0).integers(0, 256, size=(200, 1, 1, 3), dtype=np.uint8)
        return pixels[np.asarray(index)]

    def sample_index(self, n, rng):
        return rng.integers(200, size=n)


def test_data_without_factors_get_the_scores_of_the_codes_alone():
    scores = evaluate(identity, Plain(), train=100)
    assert list(scores) == ALONE
    assert all(score.settings["samples"] == 100 for score in scores.values())
    assert all({"seconds", "encoding_seconds"} <= set(score.settings) for score in scores.values())
    assert list(evaluate(identity, Plain(), ALONE[:1], train=100)) == ALONE[:1]
    with pytest.raises(UsageError, match="no factors to score against, which mig cannot do without"):
        evaluate(identity, Plain(), ["mig"], train=100)
    with pytest.raises(UsageError, match="train must be at least 2"):
        evaluate(identity, Plain(), train=1)


def test_the_code_of_a_single_image_has_no_score():
    single = FactorPixels((3, 4)).subset(f0=1, f1=2)
    assert len(single) == 1
    assert evaluate(identity, single, train=100) == {}
    with pytest.raises(UsageError, match="shows a single image"):
        evaluate(identity, single, ALONE, train=100)


def test_importing_the_scores_imports_neither_torch_nor_the_heavy_parts_of_scipy():
    heavy = "torch", "sklearn", "numba", "scipy.stats", "scipy.optimize"
    code = f"import sys, unbraid.metrics; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class Measured:
    """Images whose two pixels are continuous factors, rounded: the second one falls as the first one rises."""

    factor_names = ("height", "weight")
    values = np.stack([np.arange(200) / 7, np.exp(-np.arange(200) / 50)], axis=1)

    def factors(self, index):
        return self.values[index]

    def images(self, index, rng=None):
        return np.asarray(index, dtype=np.uint8).reshape(-1, 1, 1, 1)

    def sample_index(self, n, rng):
        return rng.integers(200, size=n)


def test_measured_factors_are_scored_as_they_are_or_in_bins():
    # Both factors are monotone in the position, so one code that follows it has rank correlation 1 with either; a
    # one-to-one assignment gives the other factor the constant code: (1 + 0) / 2.
    def encode(images):
        position = images.reshape(-1).astype(float)
        return np.stack([position**3, np.zeros_like(position)], axis=1)

    scores = evaluate(encode, Measured(), train=100)
    assert float(scores["mcc"]) == pytest.approx(0.5)
    assert scores["mcc"].settings["samples"] == 100
    assert scores["mig"].settings["factor_bins"] == 10
    assert set(scores) | set(scores.not_possible) == {
        e.name for e in METRICS.values() if e.needs != "models" and e.usual
    }
    assert {"beta_vae", "factor_vae"} <= set(scores.not_possible)
    with pytest.raises(KeyError, match="beta_vae is not possible: it chooses factor values itself"):
        scores["beta_vae"]
    assert "not possible: it chooses factor values itself" in scores._repr_html_()


def test_a_score_that_refuses_the_sample_does_not_cost_the_others():
    codes = np.random.default_rng(0).normal(size=(600, 3))
    every = np.arange(600)[:, None]  # a value per sample, which InfoMEC cannot tell apart
    scores = score_codes(codes, every, metrics=["mcc", "infomec"])
    assert list(scores) == ["mcc"]
    assert "600 values in 600 samples" in scores.not_possible["infomec"]
    with pytest.raises(UsageError, match="600 values"):
        score_codes(codes, every, metrics="infomec")
    with pytest.raises(UsageError, match="bins must lie"):
        score_codes(codes, every, metrics=["mcc", "mig"], options={"mig": {"bins": 1}})


def test_classes_are_a_categorical_factor_where_there_is_no_other():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    images = np.zeros((300, 4, 4), np.uint8)
    images[:, 0, 0] = np.array([200, 3, 90])[labels]  # no order of the classes
    own = from_arrays(images, labels=labels)
    scores = evaluate(lambda x: x[:, 0, 0].astype(float), own, ["mig", "mcc"], train=200, test=100)
    # The code tells the class: correlation ratio 1, all of its entropy.
    assert float(scores["mcc"]) == pytest.approx(1)
    assert float(scores["mig"]) == pytest.approx(1)
    assert scores["mcc"].settings["kinds"] == ["categorical"]
    assert not has_no_factors(own)


def test_a_part_is_scored_as_its_table_of_factors_is():
    # Every second image: no grid any more, so images are drawn by position and compared with the table of factors.
    whole = FactorPixels((4, 6))
    part = whole.part(slice(None, None, 2))
    scores = evaluate(identity, part, train=400, test=200)
    sampled = [entry.name for entry in METRICS.values() if entry.usual and entry.needs in FROM_ARRAYS]
    assert list(scores) == sampled
    rng = np.random.default_rng(0)
    index, later = part.sample_index(400, rng), part.sample_index(200, rng)
    sample, test = ((identity(part.images(drawn)), part.factors(drawn)) for drawn in (index, later))
    alone = score_codes(*sample, test=test)
    assert {name: float(score) for name, score in scores.items()} == pytest.approx(
        {name: float(score) for name, score in alone.items()}, nan_ok=True
    )
    assert "factors" not in scores["mig"].settings
    for name in ("beta_vae", "factor_vae"):
        with pytest.raises(UsageError, match=f"{name} chooses factor values itself"):
            evaluate(identity, part, name)
        with pytest.raises(UsageError, match=r"full grid.*a part of a grid is none"):
            METRICS[name].function(identity, part)


def test_factors_that_stand_still_in_a_part_are_left_out():
    # The first six images of (4, 6) have the first factor at 0.
    part = FactorPixels((4, 6)).part(slice(0, 6))
    scores = evaluate(identity, part, ["mig", "sap"], train=100, test=50, use_kinds=True)
    assert scores["mig"].settings["factors"] == ["f1"]
    assert len(scores["mig"].parts["per_factor"]) == 1


@pytest.mark.parametrize("measured", [False, True])
def test_a_part_whose_factors_all_stand_still_has_scores_of_codes_alone(measured):
    vectors = np.random.default_rng(0).normal(size=(40, 3))
    factors = (np.arange(40) // 20)[:, None]
    data = from_vectors(vectors, factors=factors / 2 if measured else factors)
    still = data.part(slice(20, 40))
    assert has_no_factors(still)
    assert not has_no_factors(data.part(slice(19, 40)))
    alone = {entry.name for entry in METRICS.values() if entry.needs == "codes"}
    assert set(evaluate(np.asarray, still, "all", train=100, test=50)) == alone
    assert evaluate(np.asarray, still.part([3]), "all", train=100, test=50) == {}
    with pytest.raises(UsageError, match="no factors to score against, which mig cannot do without"):
        evaluate(np.asarray, still, ["mig"], train=100)
