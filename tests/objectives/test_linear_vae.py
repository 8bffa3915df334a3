"""The linear VAE against its closed form: trained on synthetic data, it ends where theory says."""

import dataclasses

import numpy as np
import pytest
import torch

from unbraid.data import Blobs, SyntheticLinear, SyntheticNonlinear, load
from unbraid.errors import UsageError
from unbraid.objectives import Inputs, LinearVAE, Problem, make
from unbraid.theory import linear_vae_optimum
from unbraid.training.numerics import to_tensor


def minimised(data, objective, seed=0):
    """A model at the minimum of the exact loss over 2,000 images: no noise, so that quasi-Newton steps get there."""
    model = objective.build(Problem(data.shape, len(data)), torch.Generator().manual_seed(seed))
    inputs = Inputs(pixels(data, 2000))
    optimiser = torch.optim.LBFGS(
        model.parameters(), max_iter=3000, tolerance_grad=1e-9, tolerance_change=1e-13, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        loss = 100 * objective.loss(model, inputs, 0, torch.Generator()).total
        loss.backward()
        return loss

    optimiser.step(closure)
    return model


def pixels(data, n):
    index = np.random.default_rng(0).integers(len(data), size=n)
    return to_tensor(data.images(index))


def posterior_variances(model, objective, data):
    with torch.no_grad():
        return objective.posterior(model, pixels(data, 2000)).logvar.exp().mean(0).numpy()


def test_the_exact_loss_is_the_mean_of_the_sampled_one():
    data = SyntheticLinear()
    exact = LinearVAE(beta=0.01)
    problem = Problem(data.shape, len(data))
    model = exact.build(problem, torch.Generator().manual_seed(1))
    images = pixels(data, 10_000)
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        one = exact.loss(model, Inputs(images), 0, noise)
        other = [
            float(dataclasses.replace(exact, sampled=True).loss(model, Inputs(images), 0, noise).total)
            for _ in range(20)
        ]
    assert float(one.total) == pytest.approx(np.mean(other), rel=0.01)
    assert 0 < float(one.watched["stochastic"]) < float(one.terms["reconstruction"])


@pytest.mark.parametrize("seed", [0, 1])
def test_it_ends_at_the_closed_form(seed):
    data = SyntheticLinear()
    beta = 0.05 * data.scale**2
    objective = LinearVAE(beta=beta)
    model = minimised(data, objective, seed)
    expected = linear_vae_optimum(np.cov(pixels(data, 2000).reshape(2000, -1), rowvar=False), beta, 2)
    columns = model.decoder[0].weight.detach().numpy()
    order = np.argsort(-(columns**2).sum(axis=0))
    columns = columns[:, order]
    lengths = np.linalg.norm(columns, axis=0)
    cosines = np.abs(np.sum(columns / lengths * expected.directions, axis=0))
    assert (cosines > 0.999).all()
    assert np.allclose(lengths**2, expected.data_variances - beta / 2, rtol=0.01)
    assert np.allclose(posterior_variances(model, objective, data)[order], expected.variances, rtol=0.01)


@pytest.mark.parametrize(("beta", "alive"), [(0.1, 2), (0.4, 1), (1.0, 0)])
def test_latents_die_at_twice_the_variance(beta, alive):
    # Thresholds 1/6 and 2/3 in units of the published data.
    data = SyntheticLinear()
    objective = LinearVAE(beta=beta * data.scale**2)
    model = minimised(data, objective)
    assert int((posterior_variances(model, objective, data) < 0.8).sum()) == alive


def test_network_and_likelihood_are_not_options():
    assert make("linear-vae").net == "linear"
    with pytest.raises(UsageError, match="net"):
        make("linear-vae", {"net": "conv"})


@pytest.mark.parametrize("ratio", [1.0, 1.2, 1.5, 2.0])
def test_the_synthetic_rectangle_has_the_variances_it_says(ratio):
    # Uniform factors on 224 cells: variance (1 - 1/224^2) / 12 each, stretched by the ratio.
    data = load(f"synth-linear:ratio={ratio}")
    values = data.images(np.arange(len(data))).astype(np.float64)
    found = np.linalg.eigvalsh(np.cov(values, rowvar=False))[::-1] / data.scale**2
    cells = 1 - 1 / 224**2
    assert np.allclose(found, [cells * ratio**2 / 12, cells / 12, 0], atol=1e-5)


def test_synthetic_vectors_are_the_map_of_their_factors():
    data = SyntheticLinear(1.5)
    factors = (data.space.factors([7000, 12_345]) + 0.5) / 224
    vectors = (data.images([7000, 12_345]) - data.offset) / data.scale
    assert np.allclose(vectors, factors @ data.map.T, atol=1e-6)


def test_the_nonlinear_set_depends_on_its_seed_and_is_no_plane():
    one, two = SyntheticNonlinear(0), SyntheticNonlinear(1)
    index = np.arange(0, 50_000, 50)
    assert not np.array_equal(one.images(index), two.images(index))
    assert np.array_equal(one.images(index), load("synth-nonlinear").images(index))
    values = one.images(index)
    assert np.linalg.eigvalsh(np.cov(values, rowvar=False))[-3] > 1e-4


def test_blobs_lie_where_their_factors_say():
    data = Blobs()
    images = data.images(data.space.index([[0, 15], [9, 3]]))[..., 0].astype(float)
    rows, columns = np.mgrid[:16, :16]
    centre = np.stack([(images * columns).sum((1, 2)), (images * rows).sum((1, 2))], 1) / images.sum((1, 2))[:, None]
    places = np.linspace(4, 11, 16)
    assert np.allclose(centre, [[places[0], places[15]], [places[9], places[3]]], atol=0.05)
    with pytest.raises(UsageError, match="positive"):
        Blobs(0.0)
