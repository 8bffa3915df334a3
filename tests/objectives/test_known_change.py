"""GVAE and ML-VAE: the pattern of change is given, and posteriors are shared by it."""

import pytest
import torch

from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.nets import Gaussian
from unbraid.objectives import GVAE, MLVAE, BetaVAE, Inputs, Problem, halves
from unbraid.training import problem_of

BOTH = pytest.mark.parametrize("cls", [GVAE, MLVAE])
SMALL = {"net": "mlp:width=16"}
PROBLEM = Problem((8, 8, 1), 100, factor_sizes=(3, 4), factor_names=("x", "y"))


def pair_of_images(changed):
    images, partners = torch.rand(2, 5, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    return Inputs(images, partners, changed=torch.tensor(changed).expand(5, 2))


def test_means_0_and_2_and_variances_1_and_3_are_shared_as_derived():
    # GVAE: mean 1, variance 2, KL = (2 + 1 - 1 - ln 2) / 2; ML-VAE: variance 2 * 1 * 3 / 4 = 1.5, mean
    # (0 / 1 + 2 / 3) * 1.5 / 2 = .5, KL = (1.5 + .25 - 1 - ln 1.5) / 2.
    mean = torch.tensor([[0.0], [2.0]], dtype=torch.float64)
    posterior = Gaussian(mean, torch.tensor([[1.0], [3.0]], dtype=torch.float64).log())
    nothing = Inputs(mean, mean, changed=torch.tensor([[False]]))
    expected = {GVAE: (1.0, 2.0, 0.653426), MLVAE: (0.5, 1.5, 0.172267)}
    for cls, (centre, variance, kl) in expected.items():
        coupled = cls(latents=1).couple(posterior, nothing)
        assert coupled.mean.flatten().tolist() == pytest.approx([centre] * 2)
        assert coupled.logvar.exp().flatten().tolist() == pytest.approx([variance] * 2)
        assert coupled.kl().tolist() == pytest.approx([kl] * 2, abs=1e-6)


@BOTH
def test_where_everything_changed_it_is_the_beta_vae_on_both_images(cls):
    inputs = pair_of_images([True, True])
    objective, plain = cls(**SMALL, latents=2, beta=3.0), BetaVAE(**SMALL, latents=2, beta=3.0)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    both = Inputs(torch.cat([inputs.images, inputs.partners]))
    ours, theirs = (
        one.loss(model, given, 0, torch.Generator().manual_seed(1)).total.item()
        for one, given in ((objective, inputs), (plain, both))
    )
    assert ours == pytest.approx(theirs, rel=1e-6)


@BOTH
def test_latents_of_changed_factors_stay_apart_and_all_others_are_equal_to_the_bit(cls):
    objective = cls(**SMALL, latents=4)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    for pattern in ([False, False], [False, True]):
        inputs = pair_of_images(pattern)
        posterior = objective.posterior(model, torch.cat([inputs.images, inputs.partners]))
        first, second = halves(objective.couple(posterior, inputs))
        equal = (first.mean == second.mean) & (first.logvar == second.logvar)
        assert equal.tolist() == [[not pattern[0], not pattern[1], True, True]] * 5
        before, _ = halves(posterior)
        assert torch.equal(first.mean[~equal], before.mean[~equal])


@BOTH
def test_swapping_the_images_of_a_pair_changes_nothing(cls):
    inputs = pair_of_images([True, False])
    objective = cls(**SMALL, latents=3)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    posteriors = [
        halves(objective.couple(objective.posterior(model, torch.cat(both)), inputs))
        for both in ((inputs.images, inputs.partners), (inputs.partners, inputs.images))
    ]
    (first, second), (swapped_second, swapped_first) = posteriors
    for one, other in ((first, swapped_first), (second, swapped_second)):
        torch.testing.assert_close(one.mean, other.mean)
        torch.testing.assert_close(one.logvar, other.logvar)


@pytest.mark.parametrize("changes", [1, 2])
def test_the_stream_says_exactly_which_factors_changed(dots, changes):
    batch = make_stream(f"pairs:protocol=uni,changes={changes}", dots, 64, 0)(3)
    assert (batch.changed.sum(axis=1) == changes).all()
    top = [image.any(axis=(1, 2)).argmax() for image in batch.images]
    below = [image.any(axis=(1, 2)).argmax() for image in batch.partners]
    # A dot's first white row moves exactly if y changed.
    assert [a != b for a, b in zip(top, below, strict=True)] == batch.changed[:, 1].tolist()


@BOTH
def test_what_it_cannot_know_is_refused(cls, dots):
    with pytest.raises(UsageError, match=r"latents must be at least 2.*x, y"):
        cls(latents=1).build(problem_of(dots), torch.Generator())
    with pytest.raises(UsageError, match="ada-gvae"):
        cls().build(Problem((8, 8, 1), 100), torch.Generator())
    with pytest.raises(UsageError, match="which factors changed"):
        cls(latents=1).couple(Gaussian(torch.zeros(2, 1), torch.zeros(2, 1)))
