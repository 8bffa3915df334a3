"""Losses on small images with the strengths of large ones: what ``reference_size`` weighs, and what it does not."""

import dataclasses

import pytest
import torch

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import VAE, BetaVAE, Inputs, Problem, VAEObjective

WEIGHED = [
    name
    for name in objectives.names()
    if issubclass(cls := objectives.get(name), VAEObjective)
    and cls.__module__.startswith("unbraid.")
    and "reference_size" in {field.name for field in dataclasses.fields(cls)}
]
SMALL = {"net": "mlp:width=16", "latents": 4, "discriminator_width": 16, "discriminator_depth": 2, "labels": 20}
PROBLEM = Problem((8, 8, 1), images=500, factor_sizes=(3, 5), factor_names=("x", "y"))


def make(name, **options):
    known = {field.name for field in dataclasses.fields(objectives.get(name))}
    return objectives.make(name, {key: value for key, value in (SMALL | options).items() if key in known})


def loss(objective):
    """Model and loss of a fixed batch, under weights and noise that are always the same."""
    generator = torch.Generator().manual_seed(0)
    images, partners = torch.rand(2, 6, 1, 8, 8, generator=generator)
    factors = torch.randint(3, (6, 2), generator=generator)
    inputs = Inputs(images, partners, partner_factors=factors, changed=factors > 0)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(1))
    _, terms = next(iter(objective.losses(model, inputs, 10, torch.Generator().manual_seed(2))))
    return model, terms


def test_every_vae_but_the_linear_one_has_the_option():
    vaes = {name for name in objectives.names() if issubclass(objectives.get(name), VAEObjective)}
    assert {"vae", "beta-vae", "factor-vae", "dip-vae-i", "dip-vae-ii", "beta-tcvae", "annealed-vae"} < set(WEIGHED)
    assert {"slow-vae", "ada-gvae", "s2-beta-vae", "full-beta-vae", "beta-tcvae-sampled"} < set(WEIGHED)
    assert {name for name in vaes - set(WEIGHED) if objectives.get(name).__module__.startswith("unbraid.")} == {
        "linear-vae"
    }


@pytest.mark.parametrize("name", WEIGHED)
def test_only_the_reconstruction_weighs_more(name):
    _, plain = loss(make(name))
    _, weighed = loss(make(name, reference_size=16))
    assert weighed.terms["weighed_reconstruction"].item() == pytest.approx(4 * plain.terms["reconstruction"].item())
    assert "reconstruction" not in weighed.terms
    assert "weighed_reconstruction" not in plain.terms | plain.watched
    same = {**plain.terms, **plain.watched}
    known = {**weighed.terms, **weighed.watched}
    assert known.keys() == same.keys() | {"weighed_reconstruction"}
    assert {key: known[key].item() for key in same} == {key: value.item() for key, value in same.items()}


def test_a_weight_is_a_weaker_beta_and_a_larger_loss():
    """w R + beta KL = w (R + beta / w KL), so both have the same gradient up to the factor."""
    model, weighed = loss(make("beta-vae", beta=6, reference_size=16))
    weaker, plain = loss(make("beta-vae", beta=1.5))
    torch.testing.assert_close(weighed.total, 4 * plain.total)
    weighed.total.backward()
    (4 * plain.total).backward()
    for one, other in zip(model.parameters(), weaker.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_small_images_weigh_as_much_as_the_same_images_enlarged(likelihood):
    """An image of half the size, every pixel of which stands for four: the loss is that of the large one."""
    generator = torch.Generator().manual_seed(0)
    images, output = torch.rand(2, 5, 3, 8, 8, generator=generator)
    posterior = Gaussian(*torch.randn(2, 5, 4, generator=generator))
    sample = posterior.sample(generator=generator)

    def total(objective, images, output):
        class Model(torch.nn.Module):
            def decoder(self, codes):
                return output

        return objective.terms(Model(), Inputs(images), posterior, sample, 0).total

    enlarge = torch.nn.Upsample(scale_factor=2)
    small = total(VAE(likelihood=likelihood, reference_size=16), images, output)
    torch.testing.assert_close(small, total(VAE(likelihood=likelihood), enlarge(images), enlarge(output)))


def test_what_judges_a_model_is_not_weighed():
    images = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    told = []
    for size in (0, 64):
        objective = make("vae", reference_size=size)
        model = objective.build(PROBLEM, torch.Generator().manual_seed(1))
        told.append(objective.describe(model, images, torch.Generator().manual_seed(2)))
    for key, value in told[0].items():
        assert torch.equal(value, told[1][key])


def test_sizes_that_are_none_are_refused():
    with pytest.raises(UsageError, match="reference_size must be a number that is not negative, got -64"):
        BetaVAE(reference_size=-64)
    with pytest.raises(UsageError, match="reference_size is for images"):
        BetaVAE(reference_size=64).weight(torch.zeros(5, 8).shape[2:])
