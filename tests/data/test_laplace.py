"""The generalized Laplace family against closed forms, quadrature, sampling and SciPy."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gamma

from unbraid.data import GeneralizedLaplace, latent_pairs
from unbraid.errors import UsageError

CASES = [(0.5, 3.0), (1.0, 6.0), (1.5, 2.0)]


@pytest.mark.parametrize(("alpha", "lam", "peak"), [(0.5, 3, 2.25), (1, 6, 3.0), (1.5, 2, 0.87921)])
def test_the_density_integrates_to_one(alpha, lam, peak):
    law = GeneralizedLaplace(alpha, lam)
    assert law.normaliser == pytest.approx(peak, abs=1e-5)
    # u = |d|^alpha takes the cusp out of the integral.
    total = (
        2
        * integrate.quad(lambda u: np.exp(law.log_prob(u ** (1 / alpha))) * u ** (1 / alpha - 1) / alpha, 0, np.inf)[0]
    )
    assert total == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("alpha", "lam", "printed"), [(0.5, 3, 0.75), (1.5, 2, 1.10773)])
def test_the_paper_s_constant_misses_one(alpha, lam, printed):
    # It is alpha * lam / (2 Gamma(1 / alpha)), right only where lam^(1 / alpha) is lam.
    assert alpha * lam / (2 * gamma(1 / alpha)) == pytest.approx(printed, abs=1e-5)
    assert abs(printed / GeneralizedLaplace(alpha, lam).normaliser - 1) > 0.2


def test_moments_have_their_closed_forms():
    assert GeneralizedLaplace(0.5, 3).variance == pytest.approx(1.481481, abs=1e-6)
    assert GeneralizedLaplace(1, 6).variance == pytest.approx(0.055556, abs=1e-6)
    assert [GeneralizedLaplace(alpha, 2).kurtosis for alpha in (0.5, 1, 2)] == pytest.approx([22.2, 3, 0])
    # alpha = 2 is a normal law of variance 1 / (2 lam).
    assert GeneralizedLaplace(2, 5).variance == pytest.approx(0.1)


@pytest.mark.parametrize(("alpha", "lam"), CASES)
def test_draws_have_the_variance_and_law_of_the_formula(alpha, lam):
    law = GeneralizedLaplace(alpha, lam, loc=0.3)
    draws = law.sample(400_000, np.random.default_rng(0))
    assert draws.var() == pytest.approx(law.variance, rel=0.03)
    assert stats.kstest(draws[:20_000], stats.gennorm(alpha, 0.3, law.scale).cdf).pvalue > 0.001


@pytest.mark.parametrize(("alpha", "lam"), CASES)
def test_the_density_is_scipys_gennorm(alpha, lam):
    law = GeneralizedLaplace(alpha, lam, loc=-0.2)
    at = np.linspace(-3, 3, 61)
    assert law.log_prob(at) == pytest.approx(stats.gennorm(alpha, -0.2, lam ** (-1 / alpha)).logpdf(at))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_fit_recovers_shape_and_scale(alpha):
    law = GeneralizedLaplace.from_scale(alpha, 4.0, loc=2.0)
    found = GeneralizedLaplace.fit(law.sample(20_000, np.random.default_rng(1)))
    assert found.alpha == pytest.approx(alpha, rel=0.06)
    assert found.scale == pytest.approx(4.0, rel=0.12)
    assert found.loc == pytest.approx(2.0, abs=0.1)
    if alpha == 0.5:
        assert abs(found.alpha - 0.5) < 0.03


def test_a_fit_is_at_least_as_likely_as_the_truth():
    law = GeneralizedLaplace(0.7, 2.0)
    draws = law.sample(5000, np.random.default_rng(3))
    assert GeneralizedLaplace.fit(draws).log_prob(draws).sum() >= law.log_prob(draws).sum()
    assert GeneralizedLaplace.fit(draws, loc=0.0).loc == 0.0


def test_latent_pairs_are_a_normal_start_and_an_independent_step():
    first, second = latent_pairs(50_000, 2, GeneralizedLaplace(1, 6), np.random.default_rng(0))
    assert first.std(axis=0) == pytest.approx(1, abs=0.02)
    assert (second - first).var(axis=0) == pytest.approx(1 / 18, rel=0.05)
    assert abs(np.corrcoef(first[:, 0], (second - first)[:, 0])[0, 1]) < 0.02


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GeneralizedLaplace(0, 1), "alpha and lam must be positive"),
        (lambda: GeneralizedLaplace.fit([1.0, 1.0, 1.0]), "not all equal"),
    ],
)
def test_wrong_use_is_named(call, words):
    with pytest.raises(UsageError, match=words):
        call()
