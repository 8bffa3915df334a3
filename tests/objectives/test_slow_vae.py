"""SlowVAE's loss against its published example, its variants against each other, and what pairs must do."""

import dataclasses

import pytest
import torch
from torch.distributions import Laplace, Normal

import unbraid
from unbraid.data import Batch
from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import (
    PMVAE,
    BetaVAE,
    GaussianSlowVAE,
    Inputs,
    Problem,
    SlowVAE,
    halves,
    make,
    transition_terms,
)
from unbraid.options import Named

SMALL = {"net": "mlp:width=16", "latents": 3}
PROBLEM = Problem((8, 8, 1), images=100)


def example():
    """One pair, two latents: mu0 (.1, -.4), sigma0 (.5, .2), mu1 (.3, -.4), sigma1 (.4, .3)."""
    mean = torch.tensor([[0.1, -0.4], [0.3, -0.4]], dtype=torch.float64)
    return Gaussian(mean, 2 * torch.tensor([[0.5, 0.2], [0.4, 0.3]], dtype=torch.float64).log())


def random_posterior(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    mean, logvar, noise = torch.randn(3, 2 * n, d, generator=generator, dtype=torch.float64)
    posterior = Gaussian(mean, logvar - 1)
    return posterior, posterior.sample(noise)


def loss(objective, images, partners, seed=0):
    model = objective.build(PROBLEM, torch.Generator().manual_seed(seed))
    return objective.loss(model, Inputs(images, partners), 0, torch.Generator().manual_seed(seed))


def test_golden_terms_of_the_example():
    posterior = example()
    crossed, entropy = transition_terms(posterior, posterior.mean, rate=6)
    assert posterior.kl().tolist() == pytest.approx([1.532585, 1.370264], abs=1e-6)
    # Row 0 is the first image given the second, row 1 the second given the first.
    assert crossed.tolist() == pytest.approx([1.342870, 1.388391], abs=1e-6)
    assert entropy.tolist() == pytest.approx([0.535292, 0.717614], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "transition", "total"),
    [
        ({}, 0.739178, 8.843202),
        ({"variant": "release"}, 2.104808, 22.499507),
        ({"expectation": "exact"}, 2.116110, None),
    ],
)
def test_golden_regularisers_of_the_example(options, transition, total):
    posterior = example()
    terms = SlowVAE(**options).penalty(posterior, posterior.mean, 0)
    assert terms.watched["transition"].item() == pytest.approx(transition, abs=1e-6)
    if total is not None:
        assert terms.total.item() == pytest.approx(total, abs=1e-5)


def test_the_exact_expectation_gives_both_directions_the_same_cross_entropy():
    posterior = example()
    crossed, _ = transition_terms(posterior, posterior.mean, rate=6, expectation="exact")
    assert crossed.tolist() == pytest.approx([2.742562, 2.742562], abs=1e-6)


def test_release_exceeds_paper_by_gamma_times_the_mean_cross_entropy():
    posterior, sample = random_posterior(7, 3)
    paper, release = (SlowVAE(gamma=10, variant=v).penalty(posterior, sample, 0).total for v in ("paper", "release"))
    first, second = halves(posterior)
    by_hand = 0
    for this, other in ((first, second), (second, first)):
        draws = Normal(this.mean, (this.logvar / 2).exp()).icdf((torch.arange(20_000) + 0.5)[:, None, None] / 20_000)
        by_hand = by_hand - Laplace(other.mean, 1 / 6).log_prob(draws).mean(0).sum(1).mean() / 2
    assert (release - paper).item() == pytest.approx(10 * by_hand.item(), rel=1e-3)


def test_the_exact_expectation_is_the_mean_over_samples():
    posterior, _ = random_posterior(4, 2)
    many = Gaussian(*(x.repeat_interleave(100_000, 0) for x in (posterior.mean, posterior.logvar)))
    sample = many.sample(generator=torch.Generator().manual_seed(1))
    drawn, _ = transition_terms(many, sample, rate=6, expectation="sample")
    exact, _ = transition_terms(posterior, posterior.mean, rate=6, expectation="exact")
    drawn = drawn.reshape(8, 100_000)
    assert ((drawn.mean(1) - exact).abs() < 4 * drawn.std(1) / 100_000**0.5).all()


def test_with_no_noise_left_all_three_expectations_agree():
    mean = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    posterior = Gaussian(mean, torch.full_like(mean, -40))
    found = [transition_terms(posterior, mean, rate=6, expectation=e)[0] for e in ("mean", "sample", "exact")]
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0], found[2])


@pytest.mark.parametrize("variant", ["paper", "release"])
@pytest.mark.parametrize("expectation", ["mean", "sample", "exact"])
def test_swapping_the_images_of_all_pairs_changes_nothing(variant, expectation):
    posterior, sample = random_posterior(5, 3)
    swapped = Gaussian(posterior.mean.roll(5, 0), posterior.logvar.roll(5, 0))
    objective = SlowVAE(variant=variant, expectation=expectation)
    before, after = objective.penalty(posterior, sample, 0), objective.penalty(swapped, sample.roll(5, 0), 0)
    assert before.total.item() == pytest.approx(after.total.item(), rel=1e-12)


def test_the_gaussian_control_does_not_see_rotations_and_the_laplace_prior_does():
    # Equal variances in all directions, so that the rotated posterior is diagonal again.
    posterior, _ = random_posterior(6, 2)
    posterior = Gaussian(posterior.mean, torch.full_like(posterior.mean, -3))
    turn = torch.tensor([[0.8, -0.6], [0.6, 0.8]], dtype=torch.float64)
    rotated = Gaussian(posterior.mean @ turn.T, posterior.logvar)
    blind, sparse = GaussianSlowVAE(), SlowVAE()
    for objective, same in ((blind, True), (sparse, False)):
        first, second = (objective.penalty(q, q.mean, 0).total.item() for q in (posterior, rotated))
        assert (abs(first - second) < 1e-9) == same


def test_the_gaussian_control_is_the_divergence_to_a_normal_of_variance_one_over_twice_the_rate():
    posterior = example()
    first, second = halves(posterior)
    expected = 0
    for this, other in ((first, second), (second, first)):
        q, p = Normal(this.mean, (this.logvar / 2).exp()), Normal(other.mean, (1 / 12) ** 0.5)
        expected += torch.distributions.kl_divergence(q, p).sum() / 2
    found = GaussianSlowVAE(rate=6).penalty(posterior, posterior.mean, 0).watched["transition"]
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_posterior_matching_of_the_example():
    # (KL(q1||q0) + KL(q0||q1)) / 2 = (0.342678 + 0.310794) / 2, and the mean KL to the prior.
    terms = PMVAE(gamma=10).penalty(example(), example().mean, 0)
    assert terms.watched["transition"].item() == pytest.approx(0.326736, abs=1e-6)
    assert terms.total.item() == pytest.approx((1.532585 + 1.370264) / 2 + 3.26736, abs=1e-5)


@pytest.mark.parametrize("name", ["slow-vae", "pm-vae"])
def test_without_transitions_a_pair_costs_both_reconstructions_and_the_mean_kl(name):
    images, partners = torch.rand(2, 4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    pairs = loss(make(name, {**SMALL, "gamma": 0.0}), images, partners)
    single = loss(BetaVAE(**SMALL, beta=1.0), torch.cat([images, partners]), None)
    assert pairs.terms["reconstruction"].item() == pytest.approx(2 * single.terms["reconstruction"].item(), rel=1e-6)
    assert pairs.terms["penalty"].item() == pytest.approx(single.terms["penalty"].item(), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("expectation", ["mean", "sample", "exact"])
def test_gradients_agree_with_finite_differences(alpha, expectation):
    posterior, noise = random_posterior(2, 2)
    objective = SlowVAE(alpha=alpha, expectation=expectation)

    def total(mean, logvar):
        q = Gaussian(mean, logvar)
        return objective.penalty(q, q.sample(noise), 0).total

    assert torch.autograd.gradcheck(total, (posterior.mean.requires_grad_(), posterior.logvar.requires_grad_()))


def test_the_stream_follows_from_the_options():
    assert SlowVAE().needs == Named("pairs")
    assert PMVAE(pairs="protocol=lap,rate=2").needs == Named("pairs", {"protocol": "lap", "rate": 2})


def test_after_training_on_pairs_a_single_image_is_encoded_alone(dots, tmp_path):
    generator = torch.Generator().manual_seed(0)

    def stream(_):
        index = torch.randint(144, (16,), generator=generator).numpy()
        return Batch(images=dots.images(index), partners=dots.images((index + 1) % 144))

    run = unbraid.train(SlowVAE(**SMALL), dots, out=tmp_path, steps=3, stream=stream, progress="none")
    images = dots.images(range(5))
    assert run.encode(images[:1]) == pytest.approx(run.encode(images)[:1], abs=1e-6)
    assert run.describe(images)["kl_per_latent"].shape == (5, 3)


@pytest.mark.parametrize(
    "options",
    [{"alpha": 2.5}, {"alpha": 0.0}, {"rate": 0.0}, {"gamma": -1.0}, {"variant": "printed"}, {"expectation": "median"}],
)
def test_impossible_options_are_refused_by_name(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        SlowVAE(**options)


def test_a_stream_without_pairs_is_refused():
    images = torch.rand(4, 1, 8, 8)
    with pytest.raises(UsageError, match="partners"):
        loss(SlowVAE(**SMALL), images, None)
    with pytest.raises(UsageError, match="shaped like images"):
        loss(SlowVAE(**SMALL), images, images[:2])


def test_the_control_differs_from_slow_vae_in_alpha_only():
    defaults = [{field.name: field.default for field in dataclasses.fields(cls)} for cls in (SlowVAE, GaussianSlowVAE)]
    assert {name for name in defaults[0] if defaults[0][name] != defaults[1][name]} == {"alpha"}
