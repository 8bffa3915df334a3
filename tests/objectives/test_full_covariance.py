"""The posterior with all covariances: KL, sampling, density; and the objective that uses it."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from unbraid.errors import UsageError
from unbraid.nets import FullGaussian, Gaussian, full_heads
from unbraid.objectives import make
from unbraid.training import train


def posterior(latents=3, n=4, seed=0):
    numbers = torch.randn(n, full_heads(latents) * latents, generator=torch.Generator().manual_seed(seed))
    return FullGaussian.from_numbers(numbers, latents)


@pytest.mark.parametrize("latents", [1, 2, 3, 6])
def test_the_heads_suffice_and_waste_less_than_one_number_per_latent(latents):
    needed = latents + latents * (latents + 1) // 2
    assert needed <= full_heads(latents) * latents < needed + latents


def test_kl_and_density_are_those_of_torch():
    ours = posterior()
    reference = MultivariateNormal(ours.mean, scale_tril=ours.factor)
    prior = MultivariateNormal(torch.zeros(3), torch.eye(3))
    assert torch.allclose(ours.kl(), kl_divergence(reference, prior), rtol=1e-5)
    codes = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(ours.log_prob(codes).sum(-1), reference.log_prob(codes), rtol=1e-4, atol=1e-4)
    assert torch.allclose(ours.logvar.exp(), reference.variance, rtol=1e-5)


def test_no_latents_share_of_the_kl_is_negative():
    assert (posterior(6, 200).kl_per_latent() >= -1e-6).all()


def test_a_diagonal_covariance_gives_the_diagonal_kl():
    mean, logvar = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    full = FullGaussian(mean, logvar, torch.diag_embed((0.5 * logvar).exp()))
    diagonal = Gaussian(mean, logvar)
    assert torch.allclose(full.kl(), diagonal.kl(), atol=1e-10)
    noise = torch.randn(5, 4, dtype=torch.float64)
    assert torch.allclose(full.sample(noise), diagonal.sample(noise))


@pytest.mark.parametrize("full", [True, False])
def test_kl_is_what_sampling_estimates(full):
    # E_q[log q - log p] with a million draws of one posterior.
    ours = posterior(2, 1, seed=3)
    ours = ours if full else Gaussian(ours.mean, ours.logvar)
    codes = ours.sample(torch.randn(1_000_000, 1, 2, generator=torch.Generator().manual_seed(4)))
    prior = Normal(torch.tensor(0.0), torch.tensor(1.0)).log_prob(codes).sum(-1)
    assert float((ours.log_prob(codes).sum(-1) - prior).mean()) == pytest.approx(float(ours.kl()), rel=0.01)


def test_draws_have_the_covariance():
    ours = posterior(3, 1, seed=5)
    draws = ours.sample(torch.randn(200_000, 1, 3, generator=torch.Generator().manual_seed(6)))[:, 0]
    spread = ours.covariance[0].diagonal().sqrt()
    assert np.allclose(
        torch.cov(draws.T) / torch.outer(spread, spread), ours.covariance[0] / torch.outer(spread, spread), atol=0.01
    )
    assert np.allclose((draws.mean(0) - ours.mean[0]) / spread, 0, atol=0.01)


def test_turning_a_posterior_does_not_change_its_kl():
    ours = posterior(3, 1)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(7)))[0]
    covariance = turn @ ours.covariance[0] @ turn.T
    turned = FullGaussian(
        (turn @ ours.mean[0])[None], covariance.diagonal().log()[None], torch.linalg.cholesky(covariance)[None]
    )
    assert float(turned.kl()) == pytest.approx(float(ours.kl()), rel=1e-5)


def test_too_few_numbers_are_refused():
    with pytest.raises(UsageError, match="needs 9 numbers, got 6"):
        FullGaussian.from_numbers(torch.zeros(1, 6), 3)


def test_a_run_describes_its_covariances(dots, tmp_path):
    objective = make("full-beta-vae", {"net": "mlp:width=8", "latents": 4, "beta": 2.0})
    run = train(objective, dots, out=tmp_path, steps=3, progress="none", batch_size=8)
    found = run.describe(dots.images(np.arange(6)))
    assert found["covariance"].shape == (6, 4, 4)
    assert np.allclose(np.log(found["covariance"].diagonal(axis1=1, axis2=2)), found["logvar"], atol=1e-5)
