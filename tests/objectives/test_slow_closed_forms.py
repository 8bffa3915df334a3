"""The generalised Laplace transition prior against published numbers, Monte Carlo, SciPy and its own limits."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import gamma, hyp1f1

from unbraid.nets import Gaussian
from unbraid.objectives import absolute_moment, cross_entropy, gaussian_entropy, gaussian_kl, log_normaliser

# (m, sigma, lambda) -> cross-entropy, KL to the Laplace transition
GOLDEN = [
    ((0, 1, 1), 1.491032, 0.072093),
    ((0, 1, 6), 3.688695, 2.269757),
    ((0.5, 0.2, 6), 1.906198, 2.096697),
    ((-1.3, 0.7, 6), 6.805102, 5.742839),
    ((2, 0.1, 10), 18.390562, 19.274209),
    ((0, 0.01, 6), -1.050739, 2.135492),
    ((3, 1, 1), 3.693911, 2.274973),
]


def real(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(("triple", "crossed", "divergence"), GOLDEN)
def test_golden_values_of_the_laplace_transition(triple, crossed, divergence):
    m, sigma, rate = triple
    found = cross_entropy(real(m), real(sigma), rate=rate)
    assert found.item() == pytest.approx(crossed, abs=1e-5)
    assert (found - gaussian_entropy(2 * real(sigma).log())).item() == pytest.approx(divergence, abs=1e-5)


@pytest.mark.parametrize(("m", "sigma", "rate"), [triple for triple, *_ in GOLDEN])
def test_cross_entropy_agrees_with_monte_carlo(m, sigma, rate):
    draws = m + sigma * np.random.default_rng(0).standard_normal(2_000_000)
    losses = rate * np.abs(draws) - math.log(rate / 2)
    found = cross_entropy(real(m), real(sigma), rate=rate).item()
    assert abs(found - losses.mean()) < 4 * losses.std() / math.sqrt(len(draws)) + 1e-12


@pytest.mark.parametrize(
    ("m", "s", "alpha", "value"),
    [
        (0.5, 0.2, 0.5, 0.690967),
        (0.5, 0.2, 1, 0.500802),
        (0.5, 0.2, 2, 0.29),
        (0, 1, 0.5, 0.822179),
        (1, 0.7, 1.5, 1.218652),
    ],
)
def test_golden_absolute_moments(m, s, alpha, value):
    assert absolute_moment(real(m), real(s), alpha).item() == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.999999, 1.5, 1.999999])
def test_absolute_moment_is_the_hypergeometric_formula_on_both_sides_of_its_switch(alpha):
    # The two series meet at m^2 / (2 s^2) = 20; the grid reaches from 0 to 800.
    m, s = (grid.ravel() for grid in np.meshgrid(np.linspace(-4, 4, 161), [0.1, 0.5, 1.0, 3.0]))
    expected = s**alpha * 2 ** (alpha / 2) * gamma((1 + alpha) / 2) / math.sqrt(math.pi)
    expected = expected * hyp1f1(-alpha / 2, 0.5, -(m**2) / (2 * s**2))
    found = absolute_moment(torch.from_numpy(m), torch.from_numpy(s), alpha).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_absolute_moments_near_alpha_one_and_two_meet_the_closed_forms():
    m, s = torch.randn(2, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for alpha in (1.0, 2.0):
        near = absolute_moment(m, s.abs(), alpha - 1e-9)
        torch.testing.assert_close(near, absolute_moment(m, s.abs(), alpha), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_gradients_of_absolute_moments_agree_with_finite_differences(alpha):
    m, s = real(-1.3, 0.4, 0.0, 5.0, -3.0).requires_grad_(), real(0.7, 0.2, 1.0, 0.5, 0.4).requires_grad_()
    assert torch.autograd.gradcheck(lambda m, s: absolute_moment(m, s, alpha), (m, s))


@pytest.mark.parametrize("rate", [1.0, 6.0, 12.0])
def test_the_least_divergence_without_a_step_is_the_same_for_every_rate(rate):
    # The derivative of rate s sqrt(2/pi) - log s vanishes at s = sqrt(pi/2) / rate; there the KL divergence is
    # log 2 + 1 - log sqrt(2 pi e) - log(pi/2)/2.
    best = math.sqrt(math.pi / 2) / rate
    scales = torch.linspace(0.5 * best, 2 * best, 1501, dtype=torch.float64)
    divergence = cross_entropy(0 * scales, scales, rate=rate) - gaussian_entropy(2 * scales.log())
    assert divergence.min().item() == pytest.approx(0.0484173, abs=1e-6)
    assert scales[divergence.argmin()].item() == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_the_divergence_is_never_negative_and_even_in_the_step(alpha):
    generator = torch.Generator().manual_seed(0)
    shift = 3 * torch.randn(2000, generator=generator, dtype=torch.float64)
    logvar = 3 * torch.randn(2000, generator=generator, dtype=torch.float64)
    for rate in (0.1, 1.0, 6.0):
        crossed = cross_entropy(shift, (logvar / 2).exp(), rate=rate, alpha=alpha)
        assert (crossed - gaussian_entropy(logvar)).min() >= -1e-12
        torch.testing.assert_close(crossed, cross_entropy(-shift, (logvar / 2).exp(), rate=rate, alpha=alpha))


@pytest.mark.parametrize(("alpha", "rate", "peak"), [(0.5, 3, 2.25), (1, 6, 3.0), (1.5, 2, 0.87921)])
def test_the_prior_integrates_to_one_with_the_corrected_constant(alpha, rate, peak):
    height = math.exp(log_normaliser(alpha, rate))
    assert height == pytest.approx(peak, abs=1e-5)
    half = quad(lambda d: math.exp(-rate * d**alpha), 0, math.inf)[0]
    assert 2 * height * half == pytest.approx(1, abs=1e-3)
    printed = alpha * rate / (2 * math.gamma(1 / alpha))
    assert (abs(2 * printed * half - 1) < 1e-3) == (alpha == 1)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_single_precision_holds_for_extreme_posteriors(alpha):
    logvar, shift = torch.meshgrid(torch.linspace(-20, 10, 61), torch.linspace(-50, 50, 101), indexing="ij")
    logvar, shift = logvar.clone().requires_grad_(), shift.clone().requires_grad_()
    value = cross_entropy(shift, (logvar / 2).exp(), alpha=alpha) - gaussian_entropy(logvar)
    value.sum().backward()
    for each in (value, logvar.grad, shift.grad):
        assert torch.isfinite(each).all()
    far = absolute_moment(torch.tensor(50.0), torch.tensor(math.exp(-10)), alpha)
    assert far.item() == pytest.approx(50**alpha, rel=2e-6)


def test_golden_divergences_between_posteriors():
    first = Gaussian(real(0.1, -0.4)[None], 2 * real(0.5, 0.2).log()[None])
    second = Gaussian(real(0.3, -0.4)[None], 2 * real(0.4, 0.3).log()[None])
    assert gaussian_kl(second, first).sum().item() == pytest.approx(0.342678, abs=1e-6)
    assert gaussian_kl(first, second).sum().item() == pytest.approx(0.310794, abs=1e-6)
    assert gaussian_kl(first, first).tolist() == [[0, 0]]
    prior = Gaussian(torch.zeros(1, 2, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64))
    torch.testing.assert_close(gaussian_kl(first, prior), first.kl_per_latent())
