"""Which latents two images share, and what takes the place of their posteriors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Normal

from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import AdaGVAE, AdaMLVAE, Inputs, Problem, gaussian_kl, halves, shared_latents

SMALL = {"net": "mlp:width=16", "latents": 4}


def example():
    """The published pair: mu0 (.1, -.4), sigma0 (.5, .2), mu1 (.3, -.4), sigma1 (.4, .3)."""
    mean = torch.tensor([[0.1, -0.4], [0.3, -0.4]], dtype=torch.float64)
    return Gaussian(mean, 2 * torch.tensor([[0.5, 0.2], [0.4, 0.3]], dtype=torch.float64).log())


def random_posterior(n, d, seed):
    generator = torch.Generator().manual_seed(seed)
    mean, logvar = torch.randn(2, 2 * n, d, generator=generator, dtype=torch.float64)
    return Gaussian(mean, logvar)


def test_golden_mask_of_the_example():
    first, second = halves(example())
    assert gaussian_kl(first, second)[0].tolist() == pytest.approx([0.183106, 0.127687], abs=1e-6)
    # The threshold is (.183106 + .127687) / 2 = .155397: the second latent is shared.
    assert shared_latents(first, second).tolist() == [[False, True]]


def test_the_direction_of_the_divergence_can_change_the_mask():
    # Forward divergences of (s 1 -> .1; m 0 -> 3 at s 1): 47.2 and 4.5; reverse: 1.8 and 4.5.
    first = Gaussian(torch.zeros(1, 2), torch.tensor([[0.0, 0.0]]))
    second = Gaussian(torch.tensor([[0.0, 3.0]]), torch.tensor([[2 * math.log(0.1), 0.0]]))
    assert shared_latents(first, second, "forward").tolist() == [[False, True]]
    assert shared_latents(first, second, "reverse").tolist() == [[True, False]]
    assert shared_latents(first, second, "symmetric").tolist() == [[False, True]]


def test_ada_gvae_averages_mean_and_variance_of_the_shared_latent():
    coupled = AdaGVAE().couple(example())
    assert coupled.mean.flatten().tolist() == pytest.approx([0.1, -0.4, 0.3, -0.4])
    assert coupled.logvar.exp().flatten().tolist() == pytest.approx([0.25, 0.065, 0.16, 0.065])


def test_ada_ml_vae_averages_precisions_and_weighs_means_by_them():
    # v = 2 v1 v2 / (v1 + v2) = 2 * .04 * .09 / .13 and mu = (mu1 / v1 + mu2 / v2) v / 2.
    posterior = example()
    posterior.mean[0, 1] = -0.38
    coupled = AdaMLVAE().couple(posterior)
    v = 2 * 0.04 * 0.09 / 0.13
    assert coupled.logvar.exp()[:, 1].tolist() == pytest.approx([v, v])
    assert coupled.mean[:, 1].tolist() == pytest.approx([(-0.38 / 0.04 - 0.4 / 0.09) * v / 2] * 2)
    assert torch.equal(coupled.mean[:, 0], posterior.mean[:, 0])


def test_the_shared_posterior_of_ada_ml_vae_is_the_geometric_mean_of_both_densities():
    # sqrt(q1 q2) is proportional to the shared density: their logarithms differ by a constant.
    first, second = halves(example())
    both = AdaMLVAE().average(first, second)
    z = torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None]
    logs = [Normal(q.mean, (q.logvar / 2).exp()).log_prob(z) for q in (first, second, both)]
    gap = 0.5 * (logs[0] + logs[1]) - logs[2]
    torch.testing.assert_close(gap, gap[:1].expand_as(gap))


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 1000), st.sampled_from(["forward", "reverse", "symmetric"]))
def test_the_farthest_latent_is_kept_and_kept_latents_are_untouched(n, d, seed, distance):
    posterior = random_posterior(n, d, seed)
    first, second = halves(posterior)
    shared = shared_latents(first, second, distance)
    assert not shared.all(1).any()
    for cls in (AdaGVAE, AdaMLVAE):
        coupled = cls(distance=distance).couple(posterior)
        one, other = halves(coupled)
        assert torch.equal(one.mean == other.mean, shared)
        kept = ~shared.repeat(2, 1)
        assert torch.equal(coupled.mean[kept], posterior.mean[kept])
        assert torch.equal(coupled.logvar[kept], posterior.logvar[kept])


def test_two_equal_images_share_nothing_for_want_of_a_nearer_latent():
    first, _ = halves(random_posterior(3, 4, 0))
    assert not shared_latents(first, first).any()


def test_a_pair_costs_the_mean_reconstruction_and_beta_times_the_mean_kl():
    images, partners = torch.rand(2, 5, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    terms = {}
    for beta in (1.0, 4.0):
        objective = AdaGVAE(**SMALL, beta=beta)
        model = objective.build(Problem((8, 8, 1), 100), torch.Generator().manual_seed(0))
        terms[beta] = objective.loss(model, Inputs(images, partners), 0, torch.Generator().manual_seed(0))
    with torch.no_grad():
        posterior = objective.couple(objective.posterior(model, torch.cat([images, partners])))
        output = model.decoder(posterior.sample(generator=torch.Generator().manual_seed(0)))
        expected = objective.reconstruction(output, torch.cat([images, partners])).mean()
    assert terms[1.0].terms["reconstruction"].item() == pytest.approx(expected.item(), rel=1e-6)
    assert terms[4.0].terms["penalty"].item() == pytest.approx(4 * posterior.kl().mean().item(), rel=1e-6)
    shared = shared_latents(*halves(objective.posterior(model, torch.cat([images, partners]))))
    assert terms[1.0].watched["shared"].item() == pytest.approx(shared.sum(1).float().mean().item())


def test_gradients_flow_through_shared_posteriors_not_through_the_mask():
    posterior = random_posterior(2, 3, 1)
    noise = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for cls in (AdaGVAE, AdaMLVAE):

        def total(mean, logvar, cls=cls):
            q = cls().couple(Gaussian(mean, logvar))
            return q.sample(noise).square().sum() + q.kl().sum()

        assert torch.autograd.gradcheck(
            total, (posterior.mean.clone().requires_grad_(), posterior.logvar.clone().requires_grad_())
        )


def test_single_precision_survives_extreme_variances():
    logvar = torch.tensor([[-100.0, 20.0], [-90.0, -20.0]], requires_grad=True)
    mean = torch.tensor([[50.0, -50.0], [50.0, 50.0]])
    for cls in (AdaGVAE, AdaMLVAE):
        both = cls().average(*halves(Gaussian(mean, logvar)))
        assert torch.isfinite(both.mean).all()
        assert torch.isfinite(both.logvar).all()
        assert torch.isfinite(torch.autograd.grad(both.logvar.sum() + both.mean.sum(), logvar)[0]).all()


def test_unknown_distances_are_refused():
    with pytest.raises(UsageError, match="distance"):
        AdaGVAE(distance="euclid")
