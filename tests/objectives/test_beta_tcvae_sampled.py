"""The single-sample beta-TCVAE: its decomposition telescopes, its estimates are those of the analytic quantities."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import (
    BetaTCVAE,
    BetaTCVAESampled,
    Inputs,
    Problem,
    batch_total_correlation,
    decomposed_kl,
    stratified_log_weights,
    total_correlation_offset,
    weighted_log_weights,
)

SMALL = {"net": "mlp:width=16", "latents": 4}
PROBLEM = Problem((8, 8, 1), images=500)
WEIGHTS = {"weighted": weighted_log_weights, "stratified": stratified_log_weights}


def random_posterior(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda: torch.randn(n, d, generator=generator, dtype=torch.float64)  # noqa: E731
    posterior = Gaussian(draw(), 0.5 * draw())
    return posterior, posterior.sample(draw())


def terms(objective, batch=12):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(batch, 1, 8, 8, generator=generator, dtype=torch.float64)
    model = objective.build(PROBLEM, generator).double()
    posterior = objective.posterior(model, images)
    posterior = Gaussian(posterior.mean.double(), posterior.logvar.double())
    sample = posterior.sample(torch.randn(batch, 4, generator=generator, dtype=torch.float64))
    found = objective.terms(model, Inputs(images), posterior, sample, 0)
    log_ratio = Normal(posterior.mean, (posterior.logvar / 2).exp()).log_prob(sample) - Normal(0, 1).log_prob(sample)
    return found, log_ratio.sum(-1).mean().item()


@pytest.mark.parametrize("sampling", WEIGHTS)
@pytest.mark.parametrize("batch", [1, 2, 12])
def test_beta_one_is_the_plain_single_sample_elbo(sampling, batch):
    # -ELBO = -log p(x|z) + log q(z|x) - log p(z), with densities from torch.distributions.
    found, log_ratio = terms(BetaTCVAESampled(beta=1, sampling=sampling, **SMALL), batch)
    assert found.total.item() == pytest.approx(found.terms["reconstruction"].item() + log_ratio, abs=1e-5)


@pytest.mark.parametrize("sampling", WEIGHTS)
@pytest.mark.parametrize(("batch", "d"), [(1, 1), (1, 10), (2, 3), (64, 10)])
def test_the_three_terms_add_up_to_the_log_ratio_of_posterior_and_prior_for_any_batch(batch, d, sampling):
    posterior, sample = random_posterior(batch, d)
    parts = decomposed_kl(posterior, sample, WEIGHTS[sampling](737_280, sample))
    deviation = (posterior.logvar / 2).exp()
    expected = (Normal(posterior.mean, deviation).log_prob(sample) - Normal(0, 1).log_prob(sample)).sum(-1)
    torch.testing.assert_close(sum(parts), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sampling", WEIGHTS)
def test_with_one_image_the_code_says_log_n_and_its_latents_are_apart_by_the_constants(sampling):
    # B = 1: log q(z) = log q(z|x) - log N and log q(z_k) = log q(z_k|x) - log N, so MI = log N, TC = (d - 1) log N.
    posterior, sample = random_posterior(1, 5)
    information, correlation, _ = decomposed_kl(posterior, sample, WEIGHTS[sampling](1000, sample))
    assert information.item() == pytest.approx(math.log(1000))
    assert correlation.item() == pytest.approx(4 * math.log(1000))
    # A data set of that one image: nothing to say, nothing to correlate, and the rest is the KL's estimate.
    information, correlation, _ = decomposed_kl(posterior, sample, WEIGHTS[sampling](1, sample))
    assert information.item() == pytest.approx(0, abs=1e-12)
    assert correlation.item() == pytest.approx(0, abs=1e-12)


def test_the_loss_is_the_formula_written_as_loops():
    objective, batch, n = BetaTCVAESampled(beta=6, **SMALL), 5, 500
    posterior, sample = random_posterior(batch, 4)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    found = objective.regulariser(model, Inputs(sample), posterior, sample, 0).total.item()
    mean, deviation, z = posterior.mean.numpy(), np.exp(posterior.logvar.numpy() / 2), sample.numpy()
    expected = []
    for j in range(batch):
        density = np.exp(-(((z[j] - mean) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)  # [i, k]
        conditional = np.log(density[j].prod())
        joint = np.log(density.prod(1).sum() / (n * batch))
        marginals = sum(np.log(density[:, k].sum() / (n * batch)) for k in range(4))
        prior = sum(-(z[j, k] ** 2) / 2 - math.log(2 * math.pi) / 2 for k in range(4))
        expected.append((conditional - joint) + 6 * (joint - marginals) + (marginals - prior))
    assert found == pytest.approx(np.mean(expected), rel=1e-10)


def test_it_differs_from_beta_tcvae_by_the_estimate_of_the_kl_and_a_constant():
    posterior, sample = random_posterior(9, 4)
    model = BetaTCVAE(**SMALL).build(PROBLEM, torch.Generator().manual_seed(0))
    penalties = [
        cls(beta=5, **SMALL).regulariser(model, Inputs(sample), posterior, sample, 0).total.item()
        for cls in (BetaTCVAESampled, BetaTCVAE)
    ]
    log_ratio = (posterior.log_prob(sample) - Normal(0, 1).log_prob(sample)).sum(-1).mean().item()
    constant = 4 * total_correlation_offset(4, 500, 9)  # beta - 1 times (d - 1) log(N B)
    assert penalties[0] - penalties[1] == pytest.approx(log_ratio - posterior.kl().mean().item() + constant, rel=1e-9)
    correlation = decomposed_kl(posterior, sample, weighted_log_weights(500, sample))[1].mean().item()
    assert correlation == pytest.approx(
        batch_total_correlation(posterior, sample).item() + total_correlation_offset(4, 500, 9)
    )


def test_the_single_sample_estimate_is_unbiased_for_the_analytic_kl():
    posterior, _ = random_posterior(3, 4, seed=2)
    draws = 40_000
    noise = torch.randn(draws, 3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    codes = posterior.sample(noise)
    weights = weighted_log_weights(100, codes[0])
    estimates = torch.vmap(lambda z: sum(decomposed_kl(posterior, z, weights)))(codes)  # [draws, 3]
    error = (estimates.mean(0) - posterior.kl()).abs() / (estimates.std(0) / math.sqrt(draws))
    assert (error < 4).all()  # standard errors


def test_stratified_sampling_estimates_the_density_of_a_code_without_bias():
    # All ways to complete a code's image by two of the four others: the mean of the estimates is q(z) itself.
    posterior, sample = random_posterior(5, 2)
    density = posterior.log_prob(sample[:1, None]).sum(-1).exp()[0]  # of the code of image 0 under every image: [5]
    weights = stratified_log_weights(5, sample[:3]).exp()[0]
    estimates = [(weights * density[[0, *others]]).sum().item() for others in combinations(range(1, 5), 2)]
    assert np.mean(estimates) == pytest.approx(density.mean().item(), rel=1e-12)
    assert weights.sum().item() == pytest.approx(1)


def test_an_unknown_kind_of_sampling_is_refused():
    with pytest.raises(UsageError, match="did you mean 'stratified'"):
        BetaTCVAESampled(sampling="stratifed")
