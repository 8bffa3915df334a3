"""Trained models against the theory: minutes each, so they run apart from the quick tests."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from unbraid.data import Blobs, SyntheticLinear, SyntheticNonlinear
from unbraid.data.sets.synthetic import linear_map
from unbraid.metrics import mig
from unbraid.objectives import AE, BetaVAE, FullBetaVAE, LinearVAE
from unbraid.theory import fit, linear_vae_optimum, pca_trials
from unbraid.theory.pca_experiments import TANH

pytestmark = pytest.mark.slow


def linear(beta, seed, ratio=2.0, batch_size=512, **options):
    """A linear VAE after 9,000 steps and 3,000 smaller ones; beta in units of the published data.

    Steps of 0.03 and batches of 512 leave the saddle at which one latent is off in half the published number of steps.
    """
    data = SyntheticLinear(ratio)
    objective = LinearVAE(beta=beta * data.scale**2, learning_rate=3e-2, **options)
    return fit(objective, data, steps=9000, polish=3000, batch_size=batch_size, seed=seed)


def mean_of(rows, value, **cell):
    """Mean of a number over the trials of a cell, all of which must have it: one active latent has no distance."""
    found = [row[value] for setting, row in rows if cell.items() <= setting.items()]
    assert found
    assert None not in found
    return np.mean(found)


# Batches leave the weights trembling around the optimum: by up to 7 % of a squared length at 512, below 1 % at 2048.
@pytest.mark.parametrize("sampled", [False, True])
def test_a_linear_vae_is_pca(sampled):
    scale = SyntheticLinear().scale
    spread = scale * linear_map(2.0)
    expected = linear_vae_optimum(spread @ spread.T / 12, 0.05 * scale**2, 2)
    for seed in range(3):
        found = linear(0.05, seed, batch_size=2048, sampled=sampled)
        assert found.aligned.cosines.min() > 0.98
        assert found.orthogonality.mean < 0.03
        order = found.seen.order
        assert np.allclose(found.seen.variance[order], expected.variances, rtol=0.05)
        lengths = (found.jacobians[0] ** 2).sum(axis=0)[order]
        assert np.allclose(lengths, expected.data_variances - expected.beta / 2, rtol=0.05)


def test_the_simplified_kl_is_off_by_what_the_closed_form_says():
    # sigma^2 = 0.03 and 0.12 at beta 0.02: 2.67 %.
    assert linear(0.02, 0).seen.kl_error == pytest.approx(0.0267, abs=0.003)


def test_latents_that_are_not_needed_switch_off():
    found = linear(0.02, 0, latents=10)
    assert len(found.seen.active) == len(found.seen.active_by_variance) == 2
    lengths = np.linalg.norm(found.jacobians[0], axis=0) / SyntheticLinear().scale
    assert np.delete(lengths, found.seen.active).max() < 0.02
    assert found.orthogonality.mean < 0.03


@pytest.mark.parametrize(("beta", "kept"), [(0.1, 2), (0.25, 1), (0.5, 1), (1.0, 0)])
def test_latents_switch_off_at_twice_their_variance(beta, kept):
    # Variances 1/3 and 1/12: off beyond beta = 2/3 and 1/6.
    assert len(linear(beta, 0).seen.active_by_variance) == kept


def test_diagonal_posteriors_align_full_ones_and_autoencoders_share_only_the_plane():
    rows = [
        (trial.setting, trial.run())
        for trial in pca_trials("orthogonality", seeds=8, steps=9000)
        if trial.setting["data"] == "synth-linear"
    ]
    distance = {model: mean_of(rows, "distance", model=model) for model in ("beta-vae", "full-beta-vae", "ae")}
    assert distance["beta-vae"] < 0.05
    assert distance["full-beta-vae"] > 0.15
    assert distance["ae"] > 0.2
    for setting, row in rows:
        if setting["model"] in ("full-beta-vae", "ae"):
            assert row["angle"] < 2


def test_nonlinear_data_align_with_a_diagonal_posterior_only():
    every = [
        (trial.setting, trial.run())
        for trial in pca_trials("orthogonality", seeds=4)
        if trial.setting["data"] == "synth-nonlinear"
    ]
    # A direction whose variance is below beta / 2 = 0.005 is given up: the third map (0.002) is as good as a curve, and
    # one column has no angle to another. Which maps these are is known before training, and nothing else is left out.
    kept = {seed: int((SyntheticNonlinear(seed).local_variances > 0.005).sum()) for seed in range(4)}
    assert kept == {0: 2, 1: 2, 2: 1, 3: 2}
    for setting, row in every:
        if setting["model"] in ("beta-vae", "full-beta-vae"):
            assert row["active"] == kept[setting["seed"]], setting
    rows = [(setting, row) for setting, row in every if kept[setting["seed"]] == 2]
    distance = {model: mean_of(rows, "distance", model=model) for model in ("beta-vae", "full-beta-vae", "ae")}
    assert distance["beta-vae"] <= 0.7 * min(distance["full-beta-vae"], distance["ae"])
    score = {model: mean_of(rows, "ds", model=model) for model in ("beta-vae", "full-beta-vae", "ae")}
    assert score["beta-vae"] > max(score["full-beta-vae"], score["ae"])


def test_on_one_map_nonlinear_data_align_with_a_diagonal_posterior_from_every_seed():
    data = SyntheticNonlinear(0)  # both directions of which have more variance than beta / 2: nothing is left out
    shared = {"net": TANH, "latents": 2, "likelihood": "gaussian", "learning_rate": 1e-3}
    beta = 1e-2 * data.scale**2
    made = {
        "diagonal": BetaVAE(beta=beta, **shared),
        "full": FullBetaVAE(beta=beta, **shared),
        "ae": AE(**shared),
    }
    rows = {
        name: [
            fit(one, data, steps=9000, polish=3000, batch_size=128, seed=seed).to_row(seed=seed) for seed in range(3)
        ]
        for name, one in made.items()
    }
    assert all(row["active"] == 2 for several in rows.values() for row in several)
    distance, score = ({name: np.mean([row[key] for row in rows[name]]) for name in rows} for key in ("distance", "ds"))
    assert distance["diagonal"] <= 0.7 * min(distance["full"], distance["ae"])
    assert score["diagonal"] > max(score["full"], score["ae"])


def test_alignment_goes_where_variances_meet():
    rows = [(trial.setting, trial.run()) for trial in pca_trials("degeneracy", seeds=8)]
    mean = {ratio: mean_of(rows, "distance", ratio=ratio) for ratio in (1.0, 1.2, 1.5)}
    assert mean[1.0] > 0.3
    assert np.std([row["distance"] for setting, row in rows if setting["ratio"] == 1.0]) > 0.15
    assert mean[1.0] > mean[1.2] > mean[1.5]
    assert mean[1.2] < 0.15
    assert mean[1.5] < 0.03


BLOBS = "mlp:encoder=128+128,decoder=128+128,decoder_activation=tanh"


def blobs(kind, seed, data, steps=4000):
    shared = {"net": BLOBS, "latents": 2, "likelihood": "gaussian", "learning_rate": 1e-3}
    made = {"diagonal": BetaVAE, "full": FullBetaVAE}
    objective = AE(**shared) if kind == "ae" else made[kind](beta=0.3, **shared)
    return fit(objective, data, steps=steps, polish=steps // 4, seed=seed)


def test_blobs_come_apart_with_a_diagonal_posterior_only():
    data = Blobs()
    scores = {}
    for kind in ("diagonal", "full", "ae"):
        found = [blobs(kind, seed, data) for seed in range(6)]
        scores[kind] = (
            np.mean([float(mig(each.codes, each.factors)) for each in found]),
            np.mean([each.orthogonality.mean for each in found]),
        )
    assert scores["diagonal"][0] > 0.7
    assert scores["diagonal"][1] < 0.25
    for kind in ("full", "ae"):
        assert scores[kind][0] < 0.5
        assert scores[kind][1] > 0.4


def test_the_distance_picks_the_good_restarts_without_labels():
    data = Blobs(1.4, 1.6)
    found = [blobs("diagonal", seed, data, 2500) for seed in range(14)]
    scores = np.array([float(mig(each.codes, each.factors)) for each in found])
    distances = np.array([each.orthogonality.mean for each in found])
    order = np.argsort(distances)
    assert spearmanr(scores, distances).statistic < -0.7
    assert np.ptp(scores) > 0.5
    assert scores[order[0]] > 0.8
    assert np.median(scores[order[:4]]) - np.median(scores[order[-4:]]) > 0.4
