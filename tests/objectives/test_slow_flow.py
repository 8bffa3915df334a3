"""Flows: inverses, determinants, and the exact likelihood of pairs."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Laplace, Normal

from unbraid.errors import UsageError
from unbraid.nets import Coupling, Flow, InvertibleLinear, coupling_flow
from unbraid.objectives import Inputs, Problem, SlowFlow


def shaken(layer, seed=0):
    """A layer with random weights: fresh ones are the identity."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return layer.double()


LAYERS = {
    "linear": lambda: InvertibleLinear(5),
    "coupling": lambda: Coupling(5, width=8),
    "flipped coupling": lambda: Coupling(5, width=8, flip=True),
    "two numbers": lambda: Flow([Coupling(2, width=4), Coupling(2, width=4, flip=True)]),
    "flow": lambda: coupling_flow(5, blocks=3, width=8),
}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_log_det_is_that_of_the_jacobian_and_the_inverse_inverts(name):
    layer = shaken(LAYERS[name]())
    size = 2 if name == "two numbers" else 5
    x = torch.randn(4, size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z, log_det = layer(x)
    jacobians = [torch.autograd.functional.jacobian(lambda one: layer(one[None])[0][0], row) for row in x]
    torch.testing.assert_close(log_det, torch.linalg.slogdet(torch.stack(jacobians))[1])
    back, back_det = layer.inverse(z)
    torch.testing.assert_close(back, x)
    torch.testing.assert_close(back_det, -log_det)


def test_couplings_keep_volume_and_start_as_the_identity():
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    z, log_det = coupling_flow(4, blocks=4, width=16)(x)
    torch.testing.assert_close(z, x)
    assert log_det.tolist() == [0] * 6
    assert shaken(Coupling(4, width=8))(x.double())[1].tolist() == [0] * 6


def test_weights_follow_from_the_generator():
    first, again, other = (coupling_flow(4, blocks=2, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    for name, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert not torch.equal(first.layers[1].net[0].weight, other.layers[1].net[0].weight)


@pytest.mark.parametrize(("kind", "ar"), [("linear", 1.0), ("coupling", 0.7)])
def test_the_loss_is_the_exact_likelihood_of_the_pair(kind, ar):
    x, y = torch.randn(2, 8, 1, 1, 3, generator=torch.Generator().manual_seed(0))
    objective = SlowFlow(kind=kind, rate=2.0, ar=ar, blocks=2, width=8)
    model = objective.build(Problem((1, 3, 1), 8), torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    found = objective.loss(model, Inputs(x, y), 0, generator).total.item()

    def code(v):
        return model.flow(v[None])[0][0]

    total = 0.0
    for a, b in zip(x.flatten(1), y.flatten(1), strict=True):
        total -= Normal(0, 1).log_prob(code(a)).sum().item()
        total -= Laplace(0, 1 / 2.0).log_prob(code(b) - ar * code(a)).sum().item()
        for v in (a, b):
            total -= torch.linalg.slogdet(torch.autograd.functional.jacobian(code, v))[1].item()
    assert found == pytest.approx(total / 8, rel=1e-4)


def test_the_density_of_pairs_integrates_to_one():
    # One dimension, x = z / 2: p(x0, x1) over a grid wide enough for both.
    objective = SlowFlow(rate=3.0, alpha=0.5)
    model = objective.build(Problem((1, 1, 1), 1), torch.Generator())
    with torch.no_grad():
        model.flow.layers[0].weight.fill_(2.0)
    past = torch.linspace(-3, 3, 61)
    steps = torch.from_numpy(np.sinh(np.linspace(-7, 7, 4001)) / 40).float()
    widths = np.gradient(steps.double().numpy())
    x = past.repeat_interleave(len(steps))
    y = x + steps.repeat(len(past))
    z, log_det = model.flow(torch.stack([x, y], 1).reshape(-1, 1))
    z0, z1 = z.reshape(-1, 2).T
    log_p = Normal(0, 1).log_prob(z0) + math.log(2.25) - 3 * (z1 - z0).abs().sqrt() + 2 * log_det[0]
    mass = (log_p.exp().detach().double().numpy().reshape(61, -1) * widths).sum() * 0.1
    assert mass == pytest.approx(1, abs=0.01)
    losses = [
        objective.loss(model, Inputs(*v.reshape(2, 1, 1, 1, 1)), 0, torch.Generator()).total.item()
        for v in torch.stack([x, y], 1)[1000:1003]
    ]
    assert losses == pytest.approx((-log_p[1000:1003]).tolist(), rel=1e-4)


def test_decoding_inverts_encoding():
    objective = SlowFlow(kind="coupling", blocks=2, width=8)
    model = objective.build(Problem((2, 3, 1), 8), torch.Generator().manual_seed(0))
    images = torch.rand(4, 1, 2, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(objective.decode(model, objective.encode(model, images)), images)


def test_what_a_flow_cannot_do_is_refused():
    with pytest.raises(UsageError, match="at most 1024"):
        SlowFlow().build(Problem((64, 64, 1), 8), torch.Generator())
    with pytest.raises(UsageError, match="at least two numbers"):
        SlowFlow(kind="coupling").build(Problem((1, 1, 1), 8), torch.Generator())
    with pytest.raises(UsageError, match="kind"):
        SlowFlow(kind="radial")
    objective = SlowFlow()
    model = objective.build(Problem((1, 2, 1), 8), torch.Generator())
    with pytest.raises(UsageError, match="sampled"):
        objective.encode(model, torch.zeros(1, 1, 1, 2), torch.Generator())
