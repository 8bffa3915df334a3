"""The polarised regime: which latents are active, the simplified KL, its record during training."""

import numpy as np
import pytest

from unbraid.errors import UsageError
from unbraid.objectives import make
from unbraid.theory import polarisation, polarisation_hook, polarised_share
from unbraid.training import train


def posteriors(n=4000, seed=0):
    """An active latent, a passive one, and one that is active for half of the images."""
    rng = np.random.default_rng(seed)
    half = rng.random(n) < 0.5
    mean = np.stack([rng.standard_normal(n), 0.01 * rng.standard_normal(n), half * rng.standard_normal(n)], axis=1)
    logvar = np.stack([np.full(n, -5.0), np.zeros(n), np.where(half, -5.0, 0.0)], axis=1)
    return mean, logvar


def test_latents_are_active_passive_or_mixed():
    found = polarisation(*posteriors())
    assert found.kinds == ("active", "passive", "mixed")
    assert found.active.tolist() == [0, 2]
    assert found.active_by_variance.tolist() == [0, 2]
    assert found.order.tolist() == [0, 2, 1]


def test_the_two_tests_may_disagree():
    # A precise posterior around one place for all images: little noise, no spread.
    found = polarisation(np.zeros((10, 1)), np.full((10, 1), -3.0))
    assert (len(found.active), len(found.active_by_variance), found.disputed.tolist()) == (0, 1, [0])


def test_the_simplified_kl_drops_passive_latents_and_the_noise_of_active_ones():
    # One active latent with mu = ±1 and sigma^2 = exp(-4): KL 1/2 (1 + e^-4 + 4 - 1), simplified 1/2 (1 + 4 - 1) = 2.
    found = polarisation([[-1.0, 0.0], [1.0, 0.0]], [[-4.0, 0.0], [-4.0, 0.0]])
    assert found.simplified_kl == pytest.approx(2.0)
    assert found.kl == pytest.approx(2 + np.exp(-4) / 2)
    assert found.kl_error == pytest.approx((np.exp(-4) / 2) / (2 + np.exp(-4) / 2))
    assert found.polarised
    assert found.precision.tolist() == [4.0, 0.0]


def test_nothing_active_is_not_polarised_by_accident():
    found = polarisation(0.1 * np.random.default_rng(0).standard_normal((50, 2)), np.full((50, 2), -0.1))
    assert found.kl_error == 1.0
    assert not found.polarised


def test_the_share_counts_back_from_the_end():
    assert polarised_share([0.5, 0.01, 0.2, 0.02, 0.01]) == pytest.approx(0.4)
    assert polarised_share([0.01, 0.02]) == 1.0
    assert polarised_share([0.01, float("nan")]) == 0.0
    with pytest.raises(UsageError, match="empty"):
        polarised_share([])


def test_training_records_the_regime_and_ends_with_the_same_weights(dots, tmp_path):
    objective = make("beta-vae", {"net": "mlp:width=16", "latents": 3})
    options = {"steps": 20, "progress": "none", "batch_size": 16}
    watched = train(objective, dots, out=tmp_path / "a", hooks=[polarisation_hook(dots, images=50, every=5)], **options)
    plain = train(objective, dots, out=tmp_path / "b", **options)
    rows = watched.evaluations()
    assert rows["step"].unique().sort().to_list() == [5, 10, 15, 20]
    assert set(rows["name"]) == {"kl_error", "active", "active_by_variance", "passive", "mixed"}
    images = dots.images(np.arange(20))
    assert np.array_equal(watched.encode(images), plain.encode(images))


def test_a_plain_autoencoder_has_no_posterior_to_watch(dots, tmp_path):
    objective = make("ae", {"net": "mlp:width=8", "latents": 2})
    with pytest.raises(UsageError, match="no posterior"):
        train(objective, dots, out=tmp_path, steps=2, progress="none", hooks=[polarisation_hook(dots, every=1)])
