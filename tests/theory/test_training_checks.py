"""Trained models against the theory: minutes each, so they run apart from the quick tests."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from unbraid.data import Blobs, SyntheticLinear, SyntheticNonlinear, make_stream
from unbraid.metrics import mig
from unbraid.objectives import AE, BetaVAE, FullBetaVAE, LinearVAE, Problem
from unbraid.theory import (
    decoder_jacobian,
    distance_to_orthogonality,
    linear_vae_optimum,
    pca_alignment,
    polarisation,
)
from unbraid.training import Loop

pytestmark = pytest.mark.slow


class Trained:
    """A model after so many steps, then ``polish`` more at a tenth of the step size; judged on 1,000 images."""

    def __init__(self, data, objective, steps, polish, seed):
        model = objective.build(Problem(data.shape, len(data)), torch.Generator().manual_seed(seed))
        stream = make_stream("images", data, 128, seed)
        loop = Loop(objective, model, stream, seed, torch.device("cpu"), "fp32")
        for step in range(steps + polish):
            if step == steps:
                for group in loop.optimizers["model"].param_groups:
                    group["lr"] /= 10
            loop.advance()
        self.index = np.random.default_rng(0).integers(len(data), size=1000)
        self.points = data.images(self.index).reshape(1000, -1) / 255
        images = torch.as_tensor(data.images(self.index) / 255, dtype=torch.float32).permute(0, 3, 1, 2)
        with torch.no_grad():
            found = objective.describe(model, images, torch.Generator())
            self.codes = objective.encode(model, images).numpy()
        self.seen = polarisation(self.codes, found["logvar"].numpy()) if "logvar" in found else None
        self.jacobians = decoder_jacobian(model["decoder"], self.codes[:256])
        # A single active latent is orthogonal to nothing: its distance of 0 would pass every check. After 8,000 steps
        # that is where most linear models still are.
        assert self.seen is None or len(self.seen.active) == self.codes.shape[1]
        self.distance = distance_to_orthogonality(self.jacobians).mean
        self.aligned = pca_alignment(self.jacobians.mean(axis=0), self.points)


def linear(data, kind, beta, seed, steps=15_000, latents=2, **options):
    """A linear model of a kind; beta in units of the published data."""
    shared = {"latents": latents, "learning_rate": 3e-3}
    if kind == "diagonal":
        objective = LinearVAE(beta=beta * data.scale**2, **shared, **options)
    elif kind == "full":
        objective = FullBetaVAE(beta=beta * data.scale**2, net="linear", likelihood="gaussian", **shared)
    else:
        objective = AE(net="linear", likelihood="gaussian", **shared)
    return Trained(data, objective, steps, steps // 3, seed)


@pytest.mark.parametrize("sampled", [False, True])
def test_a_linear_vae_is_pca(sampled):
    data = SyntheticLinear()
    for seed in range(3):
        found = linear(data, "diagonal", 0.05, seed, sampled=sampled)
        expected = linear_vae_optimum(np.cov(found.points, rowvar=False), 0.05 * data.scale**2, 2)
        assert found.aligned.cosines.min() > 0.98
        assert found.distance < 0.03
        order = found.seen.order
        assert np.allclose(found.seen.variance[order], expected.variances, rtol=0.05)
        lengths = (found.jacobians[0] ** 2).sum(axis=0)[order]
        # 1,000 images know the variance to about 3 %.
        assert np.allclose(lengths, expected.data_variances - expected.beta / 2, rtol=0.08)


def test_the_simplified_kl_is_off_by_what_the_closed_form_says():
    # sigma^2 = 0.03 and 0.12 at beta 0.02: 2.67 %.
    assert linear(SyntheticLinear(), "diagonal", 0.02, 0).seen.kl_error == pytest.approx(0.0267, abs=0.003)


def test_diagonal_posteriors_align_full_ones_and_autoencoders_share_only_the_plane():
    data = SyntheticLinear()
    steps = {"diagonal": 15_000, "full": 15_000, "ae": 6000}
    found = {kind: [linear(data, kind, 0.05, seed, steps[kind]) for seed in range(8)] for kind in steps}
    mean = {kind: np.mean([each.distance for each in runs]) for kind, runs in found.items()}
    assert mean["diagonal"] < 0.05
    assert mean["full"] > 0.15
    assert mean["ae"] > 0.2
    assert max(each.aligned.angles.max() for kind in ("full", "ae") for each in found[kind]) < 2


def test_alignment_goes_where_variances_meet():
    distances = {
        ratio: [linear(SyntheticLinear(ratio), "diagonal", 0.05, seed, 15_000).distance for seed in range(8)]
        for ratio in (1.0, 1.2, 1.5)
    }
    mean = {ratio: np.mean(values) for ratio, values in distances.items()}
    assert mean[1.0] > 0.3
    assert np.std(distances[1.0]) > 0.15
    assert mean[1.0] > mean[1.2] > mean[1.5]
    assert mean[1.2] < 0.15
    assert mean[1.5] < 0.03


def network(kind, beta, net):
    shared = {"net": net, "latents": 2, "likelihood": "gaussian", "learning_rate": 1e-3}
    return AE(**shared) if kind == "ae" else {"diagonal": BetaVAE, "full": FullBetaVAE}[kind](beta=beta, **shared)


def test_nonlinear_data_align_with_a_diagonal_posterior_only():
    data = SyntheticNonlinear()
    net = "mlp:encoder=60+40+20,decoder=20+40+60,activation=tanh"
    mean = {
        kind: np.mean(
            [Trained(data, network(kind, 1e-2 * data.scale**2, net), 12_000, 3000, s).distance for s in range(3)]
        )
        for kind in ("diagonal", "full", "ae")
    }
    assert mean["diagonal"] <= 0.7 * min(mean["full"], mean["ae"])


BLOBS = "mlp:encoder=128+128,decoder=128+128,decoder_activation=tanh"


def test_blobs_come_apart_with_a_diagonal_posterior_only():
    data = Blobs()
    scores = {}
    for kind in ("diagonal", "full", "ae"):
        found = [Trained(data, network(kind, 0.3, BLOBS), 4000, 1000, seed) for seed in range(6)]
        scores[kind] = (
            np.mean([float(mig(each.codes, data.space.factors(each.index))) for each in found]),
            np.mean([each.distance for each in found]),
        )
    assert scores["diagonal"][0] > 0.7
    assert scores["diagonal"][1] < 0.25
    for kind in ("full", "ae"):
        assert scores[kind][0] < 0.5
        assert scores[kind][1] > 0.4


def test_the_distance_picks_the_good_restarts_without_labels():
    data = Blobs(1.4, 1.6)
    found = [Trained(data, network("diagonal", 0.3, BLOBS), 2500, 625, seed) for seed in range(14)]
    scores = np.array([float(mig(each.codes, data.space.factors(each.index))) for each in found])
    distances = np.array([each.distance for each in found])
    order = np.argsort(distances)
    assert spearmanr(scores, distances).statistic < -0.7
    assert np.ptp(scores) > 0.5
    assert scores[order[0]] > 0.8
    assert np.median(scores[order[:4]]) - np.median(scores[order[-4:]]) > 0.4
