"""iVAE: its KL term, what it is without u, what codes mean, and whether u helps to find the sources."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.metrics import mcc
from unbraid.nets import Gaussian
from unbraid.objectives import IVAE, VAE, Inputs, Problem, conditional_kl
from unbraid.training import problem_of

SMALL = {"net": "mlp:width=16", "latents": 3}
CLASSES = Problem((8, 8, 1), 100, classes=4)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(n=5):
    return Inputs(torch.rand(n, 1, 8, 8, generator=generator()), labels=torch.arange(n) % 4)


def test_the_divergence_is_that_of_a_hundred_thousand_draws():
    mean, logvar, log_l = 0.5 * torch.randn(3, 2, 4, generator=generator(1), dtype=torch.float64)
    mean = mean + 2  # a divergence of some nats, of which 1 % is far above the noise of the draws
    posterior = Gaussian(mean, logvar)
    q = torch.distributions.Normal(mean, (logvar / 2).exp())
    p = torch.distributions.Normal(torch.zeros_like(mean), (log_l / 2).exp())
    z = mean + (logvar / 2).exp() * torch.randn(100_000, 2, 4, generator=generator(2), dtype=torch.float64)
    drawn = (q.log_prob(z) - p.log_prob(z)).sum(2).mean(0)
    torch.testing.assert_close(conditional_kl(posterior, log_l), drawn, rtol=0.01, atol=0)


def test_with_variances_of_one_and_without_u_it_is_the_vae():
    objective, plain = IVAE(**SMALL, sees=False, prior="standard"), VAE(**SMALL)
    losses = [
        one.loss(one.build(CLASSES, generator()), batch(), 0, generator(3)).total.item() for one in (objective, plain)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_the_prior_learns_a_variance_for_every_value_of_u():
    objective = IVAE(**SMALL)
    model = objective.build(CLASSES, generator())
    optimizer = objective.optimizers(model)["model"]
    objective.loss(model, Inputs(batch(2).images, labels=torch.tensor([1, 1])), 0, generator()).total.backward()
    weights = model.get_submodule("prior").log_variances
    assert (weights.grad.abs().sum(1) > 0).tolist() == [False, True, False, False]
    assert any(weights is one for group in optimizer.param_groups for one in group["params"])


@pytest.mark.parametrize("shape", [(8, 8, 1), (6,)])
def test_the_encoder_sees_u(shape):
    objective = IVAE(**SMALL, likelihood="gaussian")
    model = objective.build(Problem(shape, 100, classes=4), generator())
    one = torch.rand(1, *((1, 8, 8) if len(shape) == 3 else shape), generator=generator())
    images = torch.cat([one] * 4)
    means = objective.posterior(model, images, torch.arange(4)).mean
    assert len({tuple(row) for row in means.tolist()}) == 4


def test_an_image_alone_is_encoded_by_the_mean_over_u_weighed_by_evidence():
    objective = IVAE(**SMALL)
    model = objective.build(CLASSES, generator())
    images = batch(2).images
    with torch.no_grad():
        expected = []
        for image in images:
            bounds, means = [], []
            for u in range(4):
                q = objective.posterior(model, image[None], torch.tensor([u]))
                missed = objective.reconstruction(model.decoder(q.mean), image[None])
                bounds.append(-(missed + q.kl())[0])  # variances of the prior begin at 1
                means.append(q.mean[0])
            weights = torch.stack(bounds).softmax(0)
            expected.append(sum(w * m for w, m in zip(weights, means, strict=True)))
        torch.testing.assert_close(objective.encode(model, images), torch.stack(expected))


def test_u_is_a_class_or_a_factor_with_numbered_values():
    data = load("mini-sprites")
    assert IVAE(factor="shape").values(problem_of(data)) == 3
    given = Inputs(torch.zeros(2, 1, 8, 8), factors=torch.tensor([[2, 0, 0, 0], [1, 0, 0, 0]]))
    assert IVAE(factor="shape").known(problem_of(data), given).tolist() == [2, 1]
    with pytest.raises(UsageError, match=r"factor.*colour"):
        IVAE(factor="colour").values(problem_of(data))
    with pytest.raises(UsageError, match="--factor"):
        IVAE().values(problem_of(data))
    with pytest.raises(UsageError, match="prior"):
        IVAE(prior="flat")


def test_segments_have_scales_of_their_own_between_a_half_and_three():
    data = load("mixed-segments:points=2000,segments=5")
    sources = data.factors(np.arange(len(data))).reshape(5, 2000, 5)
    scales = sources.std(axis=1)
    assert 0.45 < scales.min() < scales.max() < 3.1
    assert scales.std(axis=0).min() > 0.1
    assert (data.labels() == np.repeat(np.arange(5), 2000)).all()


def found_and_plain(data, seed, folder):
    """MCC of iVAE's means with u, and of those of a plain VAE, after 60 epochs of 78 batches of 256 points."""
    index = np.arange(len(data))
    points, sources = data.images(index), data.factors(index)
    shared = {"net": "mlp:encoder=50+50+50,decoder=50+50+50,activation=leaky-relu", "latents": 5}
    shared |= {"likelihood": "gaussian:scale=0.1", "learning_rate": 3e-3}
    options = {"steps": 60 * 78, "batch_size": 256, "seed": seed, "progress": "none", "precision": "fp32"}
    told = unbraid.train(IVAE(**shared), data, out=folder / "told", **options)
    plain = unbraid.train(VAE(**shared), data, out=folder / "plain", **options)
    with torch.no_grad():
        u = torch.as_tensor(data.labels(index))
        codes = told.objective.posterior(told.model, torch.as_tensor(points).float(), u).mean.numpy()
    return float(mcc(codes, sources)), float(mcc(plain.encode(points), sources))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "expected"), [(0, (0.81, 0.63)), (1, (0.85, 0.67)), (2, (0.81, 0.67))])
def test_segments_that_are_told_give_sources_that_a_vae_does_not_find(seed, expected, tmp_path):
    found, plain = found_and_plain(load("mixed-segments:points=500,layers=2"), seed, tmp_path)
    assert found - plain >= 0.12
    assert (found, plain) == pytest.approx(expected, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "expected"), [(0, (0.56, 0.51)), (1, (0.60, 0.57)), (2, (0.49, 0.52))])
def test_on_three_mixing_layers_it_does_not_find_them_in_this_time(seed, expected, tmp_path):
    # The margin of two layers is not met on the three that are the default.
    found, plain = found_and_plain(load("mixed-segments:points=500"), seed, tmp_path)
    assert found - plain < 0.12
    assert (found, plain) == pytest.approx(expected, abs=0.06)
