"""Traversals: which factor each latent is named after."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

import unbraid
from unbraid.data import counter_rng, from_arrays, load
from unbraid.report.traversal import traverse


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
        entropies = [mutual_info_score(factor, factor) for factor in factors.T]
        shares = [mutual_info_score(binned, factor) / e for factor, e in zip(factors.T, entropies, strict=True)]
        best = int(np.argmax(shares))
        if shares[best] < 0.1:
            assert known is None
        else:
            assert known == (data.factor_names[best], pytest.approx(shares[best], abs=0.01))


def test_data_without_factors_leave_latents_unnamed(run):
    images = load("dots").images(np.arange(20))
    assert traverse(run, from_arrays(images), values=3).knows is None
