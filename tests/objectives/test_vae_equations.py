"""The formulas of the VAE methods against closed forms, Monte Carlo and each other."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import (
    DIPVAEI,
    DIPVAEII,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    Inputs,
    Problem,
    S2BetaTCVAE,
    S2BetaVAE,
    batch_covariance,
    batch_total_correlation,
    label_loss,
    total_correlation_offset,
)

SMALL = {"net": "mlp:width=16", "latents": 4}
PROBLEM = Problem((8, 8, 1), images=500, factor_sizes=(3, 5))


def random_posterior(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda: torch.randn(n, d, generator=generator, dtype=torch.float64)  # noqa: E731
    return Gaussian(draw(), 0.5 * draw()), draw()


def flat(posterior):
    """A posterior with the same numbers for every image: mean and log variance zero."""
    return Gaussian(torch.zeros_like(posterior.mean), torch.zeros_like(posterior.logvar))


def total(objective, seed=0):
    """The loss of a fixed batch under weights and noise that depend on the seed only."""
    generator = torch.Generator().manual_seed(seed)
    images, labelled = torch.rand(2, 12, 1, 8, 8, generator=generator)
    inputs = Inputs(images, labelled, partner_factors=torch.randint(3, (12, 2), generator=generator))
    model = objective.build(PROBLEM, torch.Generator().manual_seed(seed))
    return objective.loss(model, inputs, 10, torch.Generator().manual_seed(seed))


def test_kl_is_zero_at_the_prior_and_agrees_with_monte_carlo():
    posterior, _ = random_posterior(3, 5)
    assert flat(posterior).kl().tolist() == [0, 0, 0]
    noise = torch.randn(100_000, 3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    codes = posterior.sample(noise)
    logs = Normal(posterior.mean, (posterior.logvar / 2).exp()).log_prob(codes) - Normal(0, 1).log_prob(codes)
    torch.testing.assert_close(posterior.kl(), logs.sum(-1).mean(0), rtol=0.01, atol=0)


def test_kl_is_computed_once_but_never_without_the_gradient_that_is_asked_for():
    mean = torch.zeros(2, 3, requires_grad=True)
    posterior = Gaussian(mean, torch.zeros(2, 3))
    with torch.no_grad():
        posterior.kl()
    assert posterior.kl().requires_grad
    assert posterior.kl_per_latent() is posterior.kl_per_latent()


def test_beta_weighs_the_kl():
    posterior, sample = random_posterior(6, 3)
    assert BetaVAE(beta=4).penalty(posterior, sample, 0).total.item() == pytest.approx(4 * posterior.kl().mean().item())


@pytest.mark.parametrize(("step", "part"), [(0, 0), (50_000, 0.5), (100_000, 1), (300_000, 1)])
def test_annealed_capacity_rises_linearly_and_stays(step, part):
    assert AnnealedVAE(c_max=75).capacity(step) == 75 * part


def test_annealed_loss_is_symmetric_around_the_capacity():
    # One latent with unit variance and mean m has KL m^2/2; C(t) = 10 at half the way to 20.
    objective = AnnealedVAE(c_max=20, gamma=1000)
    for distance in (0.0, 1.0, 4.0):
        for sign in (-1, 1):
            mean = torch.tensor([[math.sqrt(2 * (10 + sign * distance))]], dtype=torch.float64)
            terms = objective.penalty(Gaussian(mean, torch.zeros(1, 1)), mean, 50_000)
            assert terms.total.item() == pytest.approx(1000 * distance, abs=1e-9)
            assert terms.watched["capacity"].item() == 10


def test_annealing_looks_at_the_mean_kl_of_the_batch():
    # KL 0 and 20 lie 10 away from the capacity each, their mean on it.
    mean = torch.tensor([[0.0], [math.sqrt(40)]], dtype=torch.float64)
    assert AnnealedVAE(c_max=20).penalty(Gaussian(mean, mean * 0), mean, 50_000).total.item() == pytest.approx(
        0, abs=1e-9
    )


@pytest.mark.parametrize(("batch", "d"), [(2, 1), (16, 3), (64, 10)])
def test_total_correlation_of_equal_posteriors_is_exactly_minus_d_minus_one_log_batch(batch, d):
    # Every pair has the same density p: log(B p) - sum_k log(B p_k) = -(d - 1) log B.
    posterior, sample = random_posterior(batch, d)
    assert batch_total_correlation(flat(posterior), sample).item() == pytest.approx(
        -(d - 1) * math.log(batch), rel=1e-12
    )


def test_total_correlation_is_the_formula_written_as_loops():
    posterior, sample = random_posterior(5, 3)
    mean, deviation, z = posterior.mean.numpy(), np.exp(posterior.logvar.numpy() / 2), sample.numpy()
    estimates = []
    for j in range(5):
        density = np.exp(-(((z[j] - mean) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)  # [5, 3]
        estimates.append(np.log(density.prod(1).sum()) - np.log(density.sum(0)).sum())
    assert batch_total_correlation(posterior, sample).item() == pytest.approx(np.mean(estimates), rel=1e-10)


def test_total_correlation_of_a_large_batch_finds_that_of_correlated_means():
    # A batch that is the whole data set (N = B): the marginal estimates need - log B, not - log(N B), each.
    rho, n = 0.9, 2000
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(2, n, generator=generator, dtype=torch.float64)
    mean = torch.stack([first, rho * first + math.sqrt(1 - rho**2) * second], 1)
    posterior = Gaussian(mean, torch.full_like(mean, math.log(0.01)))
    sample = posterior.sample(torch.randn(n, 2, generator=generator, dtype=torch.float64))
    truth = -0.5 * math.log(1 - (rho / 1.01) ** 2)  # the noise adds 0.01 to both variances
    assert batch_total_correlation(posterior, sample).item() + math.log(n) == pytest.approx(truth, abs=0.1)


def test_raw_and_corrected_total_correlation_differ_by_the_constant():
    watched = total(BetaTCVAE(**SMALL)).watched
    expected = 3 * math.log(500 * 12)  # (d - 1) log(N B)
    assert total_correlation_offset(4, 500, 12) == pytest.approx(expected)
    assert (watched["tc"] - watched["tc_raw"]).item() == pytest.approx(expected, rel=1e-6)


def test_beta_tcvae_weighs_the_excess_total_correlation():
    terms = total(BetaTCVAE(beta=7, **SMALL))
    expected = terms.watched["kl"] + 6 * terms.watched["tc_raw"]
    assert terms.terms["penalty"].item() == pytest.approx(expected.item(), rel=1e-6)


def test_covariance_divides_by_the_number_of_codes():
    codes = torch.randn(7, 3, dtype=torch.float64)
    np.testing.assert_allclose(batch_covariance(codes), np.cov(codes.T, bias=True), rtol=1e-12)


def test_dip_penalties_of_orthonormal_and_of_collapsed_codes():
    # Columns orthogonal to each other and to the ones vector, of squared length n: covariance I.
    n, d = 12, 4
    columns = torch.cat([torch.ones(n, 1), torch.randn(n, d, generator=torch.Generator().manual_seed(0))], 1).double()
    mean = torch.linalg.qr(columns).Q[:, 1:] * math.sqrt(n)
    unit = Gaussian(mean, torch.zeros(n, d, dtype=torch.float64))
    collapsed = flat(unit)

    def moments(objective, posterior):
        return (objective.penalty(posterior, posterior.mean, 0).total - posterior.kl().mean()).item()

    assert moments(DIPVAEI(lambda_od=3), unit) == pytest.approx(0, abs=1e-12)
    assert moments(DIPVAEII(lambda_od=3), collapsed) == 0
    assert moments(DIPVAEI(lambda_od=3), collapsed) == pytest.approx(30 * d)  # lambda_d * d, lambda_d = 10 lambda_od
    assert moments(DIPVAEII(lambda_od=3), unit) == pytest.approx(3 * d)  # every variance is 1 + 1


def test_dip_counts_every_covariance_twice():
    # Two codes (1, 1) and (-1, -1): variances 1, covariance 1; off-diagonal squares sum to 2.
    mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    terms = DIPVAEI(lambda_od=5).penalty(Gaussian(mean, torch.zeros(2, 2)), mean, 0)
    assert terms.watched["off_diagonal"].item() == pytest.approx(2)
    assert terms.watched["diagonal"].item() == pytest.approx(0)
    assert terms.total.item() == pytest.approx(1 + 10)  # KL of (±1, ±1) is 1


@pytest.mark.parametrize(
    "objective",
    [
        BetaVAE(beta=1, **SMALL),
        BetaTCVAE(beta=1, **SMALL),
        DIPVAEI(lambda_od=0, **SMALL),
        DIPVAEII(lambda_od=0, **SMALL),
        FactorVAE(gamma=0, discriminator_width=8, **SMALL),
        AnnealedVAE(gamma=1, c_max=0, **SMALL),
        S2BetaVAE(beta=1, gamma_sup=0, **SMALL),
        S2BetaTCVAE(beta=1, gamma_sup=0, **SMALL),
    ],
    ids=lambda objective: objective.name,
)
def test_every_method_at_its_neutral_strength_is_the_plain_vae(objective):
    plain = total(VAE(**SMALL))
    assert total(objective).total.item() == pytest.approx(plain.total.item(), rel=1e-6)
    assert plain.total.item() == pytest.approx((plain.terms["reconstruction"] + plain.watched["kl"]).item(), rel=1e-6)


def test_label_loss_is_the_summed_cross_entropy_to_v_over_size():
    # Logits 0 cost log 2 per factor whatever the target; the third latent is free.
    sizes = torch.tensor([4.0, 2.0])
    assert label_loss(torch.zeros(5, 3), torch.ones(5, 2), sizes).item() == pytest.approx(10 * math.log(2))
    mean, factors = torch.tensor([[0.3, -2.0, 9.0]]), torch.tensor([[3, 1]])
    p = 1 / (1 + np.exp([-0.3, 2.0]))
    target = np.array([3 / 4, 1 / 2])
    expected = -(target * np.log(p) + (1 - target) * np.log(1 - p)).sum()
    assert label_loss(mean, factors, sizes).item() == pytest.approx(expected, rel=1e-6)


def test_few_labels_add_the_weighted_label_loss():
    plain, terms = total(BetaVAE(beta=2, **SMALL)), total(S2BetaVAE(beta=2, gamma_sup=10, **SMALL))
    assert terms.total.item() == pytest.approx((plain.total + 10 * terms.watched["label_loss"]).item(), rel=1e-6)


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [
        (BetaVAE, "beta", -1.0),
        (BetaVAE, "beta", float("nan")),
        (BetaVAE, "learning_rate", 0.0),
        (BetaVAE, "latents", 0),
        (AnnealedVAE, "c_max", -5.0),
        (AnnealedVAE, "gamma", -1.0),
        (AnnealedVAE, "anneal_steps", 0),
        (FactorVAE, "gamma", -10.0),
        (FactorVAE, "discriminator_width", 0),
        (FactorVAE, "discriminator_depth", 0),
        (FactorVAE, "discriminator_learning_rate", -1e-4),
        (BetaTCVAE, "beta", float("inf")),
        (DIPVAEI, "lambda_od", -1.0),
        (DIPVAEII, "lambda_d_factor", -1.0),
        (S2BetaVAE, "gamma_sup", -1.0),
        (S2BetaVAE, "labels", 0),
        (S2BetaTCVAE, "label_seed", -1),
        (S2BetaTCVAE, "beta", -1.0),
    ],
)
def test_a_wrong_sign_is_refused_by_name(cls, field, value):
    with pytest.raises(UsageError, match=f"^{field} must"):
        cls(**{field: value})
