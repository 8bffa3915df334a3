"""Traversals: which factor each latent is named after."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import unbraid
from unbraid.data import counter_rng, from_arrays, load
from unbraid.errors import UsageError
from unbraid.report.traversal import _known, traverse, walk
from unbraid.theory import entangle


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "dots"
    return unbraid.train("ae", "dots", steps=150, out=out, net="mlp:width=32", latents=3, progress="none")


def test_a_latent_is_named_after_the_factor_whose_entropy_it_knows_most_of(run):
    data = load("dots")
    found = traverse(run, data, seed=4)
    index = data.sample_index(1000, counter_rng(4, 0))  # the images that the traversal looks at
    codes, factors = run.encode(data.images(index)), data.factors(index)
    assert any(found.knows)
    for latent, known in zip(found.latents, found.knows, strict=True):
        code = codes[:, latent]
        binned = np.digitize(code, np.linspace(code.min(), code.max(), 21)[1:-1])
        # Corrected for chance, as adjusted mutual information is: 0 for independent ones, 1 for a factor itself.
        shares = [
            (mutual_info_score(binned, factor) - expected(binned, factor))
            / (mutual_info_score(factor, factor) - expected(binned, factor))
            for factor in factors.T
        ]
        best = int(np.argmax(shares))
        if known is None:
            assert shares[best] < 0.12
        else:
            assert known == (data.factor_names[best], pytest.approx(shares[best], abs=0.03))


def expected(binned, factor):
    return expected_mutual_information(contingency_matrix(binned, factor, sparse=True), len(factor))


def test_noise_is_named_after_nothing(run):
    # 19 x 182 free cells of 1,000 images are 1.7 nats by chance, a third of the entropy of a factor of 183 values.
    rng = np.random.default_rng(0)
    many = rng.integers(183, size=(3000, 1))
    data = from_arrays(rng.integers(0, 256, (3000, 16, 16, 1), dtype=np.uint8), factors=many, names=["many"])
    assert not any(traverse(run, data, values=3).knows)


def test_data_without_factors_leave_latents_unnamed(run):
    images = load("dots").images(np.arange(20))
    assert traverse(run, from_arrays(images), values=3).knows is None


def test_discrete_codes_are_walked_value_by_value(tmp_path):
    out = tmp_path / "run"
    run = unbraid.train("fsq", "dots", steps=5, out=out, net="mlp:width=16", latents=3, values=4, progress="none")
    data = load("dots")
    codes = run.encode(data.images(np.arange(len(data))))
    found = traverse(run, data, values=6)
    assert found.images.shape[:2] == found.values.shape == (3, 6)
    for latent, path in zip(found.latents, found.values, strict=True):
        assert np.isin(path, codes[:, latent]).all()
        assert (np.diff(path) >= 0).all()
    assert run.discrete_codes
    assert not entangle(run, matrix="random").discrete_codes
    for kind in ("prior", "range"):
        with pytest.raises(UsageError, match="codes of a few values"):
            traverse(run, data, kind=kind)


def test_a_walk_takes_values_evenly_or_repeats_them():
    codes = np.array([3.0, 0.0, 1.0, 7.0, 1.0, 20.0, 3.0])
    assert walk(codes, 3, discrete=True).tolist() == [0, 3, 20]
    assert walk(codes, 5, discrete=True).tolist() == [0, 1, 3, 7, 20]
    assert walk(codes[:2], 4, discrete=True).tolist() == [0, 0, 3, 3]
    assert walk(codes, 3, discrete=False).tolist() == pytest.approx(
        [*np.linspace(*np.quantile(codes, [0.01, 0.99]), 3)]
    )


def test_discrete_codes_are_named_by_their_values():
    data = load("dots")
    index = data.sample_index(1000, counter_rng(0, 0))
    places = np.unique(data.factors(index)[:, 0], return_inverse=True)[1]
    codes = 10.0 ** (-places)[:, None]  # most of these values lie in one bin of equal width
    counted, cut = (_known(codes, data, index, counter_rng(0, 1), discrete=each)[0] for each in (True, False))
    assert counted == (data.factor_names[0], pytest.approx(1.0))
    assert cut is None or cut[1] < 0.7
