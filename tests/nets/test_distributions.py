"""Posterior and likelihoods against closed forms, Monte Carlo and scipy."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from unbraid import nets
from unbraid.errors import UsageError


def posterior(n: int = 3, latents: int = 4, seed: int = 0) -> nets.Gaussian:
    source = torch.Generator().manual_seed(seed)
    return nets.Gaussian.from_heads(torch.randn(n, 2 * latents, generator=source))


def test_the_kl_of_the_prior_is_zero_and_known_values_hold():
    assert nets.Gaussian(torch.zeros(2, 3), torch.zeros(2, 3)).kl().tolist() == [0, 0]
    # -log s + (m^2 + s^2 - 1) / 2 at m = 0.5, s = 0.2
    one = nets.Gaussian(torch.tensor([[0.5]]), torch.tensor([[2 * math.log(0.2)]]))
    assert one.kl().item() == pytest.approx(1.254438, abs=1e-6)


def test_kl_agrees_with_torch_and_sums_over_latents():
    q = posterior()
    normal = torch.distributions.Normal(q.mean, (0.5 * q.logvar).exp())
    expected = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0))
    torch.testing.assert_close(q.kl_per_latent(), expected)
    torch.testing.assert_close(q.kl(), expected.sum(1))


def test_kl_is_the_mean_log_ratio_of_samples():
    q = posterior(n=1)
    noise = torch.randn(200_000, 1, 4, generator=torch.Generator().manual_seed(1))
    codes = q.sample(noise)
    prior = nets.Gaussian(torch.zeros(1, 4), torch.zeros(1, 4))
    ratio = (q.log_prob(codes) - prior.log_prob(codes)).sum(-1)
    error = ratio.std().item() / math.sqrt(len(ratio))
    assert ratio.mean().item() == pytest.approx(q.kl().item(), abs=4 * error)


def test_log_prob_is_scipys_and_broadcasts_to_all_pairs():
    q, codes = posterior(), torch.randn(5, 4, generator=torch.Generator().manual_seed(2))
    pairs = q.log_prob(codes[:, None])
    assert pairs.shape == (5, 3, 4)
    scale = (0.5 * q.logvar).exp().numpy()
    expected = scipy.stats.norm.logpdf(codes.numpy()[:, None], q.mean.numpy(), scale)
    np.testing.assert_allclose(pairs.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_samples_have_the_moments_of_the_posterior_and_carry_gradients():
    heads = torch.tensor([[1.0, -2.0, 0.0, 2 * math.log(3.0)]], requires_grad=True)
    q = nets.Gaussian.from_heads(heads)
    many = nets.Gaussian(q.mean.expand(100_000, 2), q.logvar.expand(100_000, 2))
    codes = many.sample(generator=torch.Generator().manual_seed(0))
    assert codes.mean(0).tolist() == pytest.approx([1, -2], abs=0.05)
    assert codes.std(0).tolist() == pytest.approx([1, 3], rel=0.02)
    q.sample(torch.tensor([[0.5, 0.5]])).sum().backward()
    # dz/dmean = 1, dz/dlogvar = noise * scale / 2
    assert heads.grad.tolist() == [[1, 1, 0.25, 0.75]]


def test_samples_need_noise_from_somewhere():
    q = posterior()
    first, again = (q.sample(generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, again)
    with pytest.raises(UsageError, match="either"):
        q.sample()
    with pytest.raises(UsageError, match="two numbers per latent"):
        nets.Gaussian.from_heads(torch.zeros(1, 5))


def test_bernoulli_is_the_cross_entropy_summed_over_pixels_and_channels():
    source = torch.Generator().manual_seed(0)
    logits, images = torch.randn(4, 3, 5, 6, generator=source) * 5, torch.rand(4, 3, 5, 6, generator=source)
    loss = nets.likelihood("bernoulli").nll(logits, images)
    p = torch.sigmoid(logits.double())
    expected = -(images * p.log() + (1 - images) * (1 - p).log()).sum((1, 2, 3))
    torch.testing.assert_close(loss.double(), expected, rtol=1e-6, atol=1e-4)
    layouts = nets.likelihood("bernoulli").nll(logits.contiguous(memory_format=torch.channels_last), images)
    torch.testing.assert_close(layouts, loss)


def test_binary_pixels_give_scipys_bernoulli_and_extreme_logits_stay_finite():
    logits = torch.tensor([-100.0, -2.0, 0.0, 2.0, 100.0]).view(1, 1, 1, 5)
    images = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0]).view(1, 1, 1, 5)
    expected = -scipy.stats.bernoulli.logpmf(images.numpy(), scipy.special.expit(logits.double().numpy())).sum()
    assert nets.likelihood("bernoulli").nll(logits, images).item() == pytest.approx(expected, rel=1e-6)
    assert nets.likelihood("bernoulli").nll(-logits * 1e3, images).isfinite().all()


def test_subtracting_the_entropy_makes_a_perfect_reconstruction_free_and_keeps_the_gradient():
    images = torch.rand(2, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    images[0, 0, 0, 0], images[0, 0, 0, 1] = 0, 1
    logits = torch.logit(images, eps=1e-7).requires_grad_()
    free = nets.likelihood("bernoulli", subtract_entropy=True)
    assert free.nll(logits, images).tolist() == pytest.approx([0, 0], abs=1e-4)
    shifted = (logits + 1).detach().requires_grad_()
    (one,) = torch.autograd.grad(free.nll(shifted, images).sum(), shifted)
    (other,) = torch.autograd.grad(nets.likelihood("bernoulli").nll(shifted, images).sum(), shifted)
    torch.testing.assert_close(one, other)


def test_gaussian_is_the_sum_of_squares_by_default_and_scipys_density_when_normalised():
    source = torch.Generator().manual_seed(0)
    output, images = torch.randn(2, 1, 3, 3, generator=source), torch.rand(2, 1, 3, 3, generator=source)
    squares = (output - images).square().sum((1, 2, 3))
    torch.testing.assert_close(nets.likelihood("gaussian").nll(output, images), squares)
    # Variance 0.1 weighs squares by 5.
    torch.testing.assert_close(nets.likelihood("gaussian", scale=math.sqrt(0.1)).nll(output, images), 5 * squares)
    density = nets.likelihood("gaussian", scale=0.3, normalised=True).nll(output, images)
    expected = -scipy.stats.norm.logpdf(images.numpy(), output.numpy(), 0.3).sum((1, 2, 3))
    np.testing.assert_allclose(density.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", nets.likelihoods())
def test_the_mean_image_lies_between_black_and_white(name):
    mean = nets.likelihood(name).mean(torch.linspace(-30, 30, 16).view(1, 1, 4, 4))
    assert mean.min() >= 0
    assert mean.max() <= 1


def test_likelihoods_refuse_what_would_broadcast_silently():
    for name in nets.likelihoods():
        with pytest.raises(UsageError, match="same shape"):
            nets.likelihood(name).nll(torch.zeros(2, 1, 4, 4), torch.zeros(2, 3, 4, 4))
    with pytest.raises(UsageError, match="did you mean 'bernoulli'"):
        nets.likelihood("bernouli")
    with pytest.raises(UsageError, match="positive"):
        nets.likelihood("gaussian", scale=0.0)
