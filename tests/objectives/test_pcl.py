"""Permutation-contrastive learning: its classifier, its shuffling, and that it finds what moves."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.errors import UsageError
from unbraid.nets import PairComparison
from unbraid.objectives import PCL, Inputs, Problem, derangement

SMALL = {"net": "mlp:width=16", "latents": 3}


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 40), st.integers(0, 10_000))
def test_a_derangement_is_an_order_in_which_nothing_stays(n, seed):
    order = derangement(n, torch.Generator().manual_seed(seed))
    assert sorted(order.tolist()) == list(range(n))
    assert not (order == torch.arange(n)).any()


def test_the_logit_is_the_formula_written_out():
    comparison = PairComparison(2)
    values = {"present": [1.0, 0.5], "past": [-1.0, -0.7], "shift": [0.1, -0.2], "constant": 0.3}
    squares = [[0.4, 0.2], [0.1, 0.6]]
    with torch.no_grad():
        for name, value in values.items():
            getattr(comparison, name).copy_(torch.tensor(value))
        comparison.squares.copy_(torch.tensor(squares).expm1().log())  # softplus inverted
    h, g = (1.5, -2.0), (0.5, 1.0)
    expected = 0.3
    for i in range(2):
        expected -= abs(values["present"][i] * h[i] + values["past"][i] * g[i] + values["shift"][i])
        expected += squares[0][i] * h[i] ** 2 + squares[1][i] * g[i] ** 2
    assert comparison(torch.tensor([h]), torch.tensor([g])).item() == pytest.approx(expected, abs=1e-5)


def test_at_the_start_the_logit_falls_with_the_distance():
    comparison = PairComparison(1)
    logits = comparison(torch.zeros(3, 1), torch.tensor([[0.0], [0.5], [1.0]]))
    assert logits[0] > logits[1] > logits[2]


def test_the_loss_is_the_cross_entropy_of_true_and_shuffled_pairs():
    images, partners = torch.rand(2, 6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    objective = PCL(**SMALL)
    model = objective.build(Problem((8, 8, 1), 100), torch.Generator().manual_seed(0))
    found = objective.loss(model, Inputs(images, partners), 0, torch.Generator().manual_seed(1)).total.item()
    with torch.no_grad():
        past, present = objective.encode(model, images), objective.encode(model, partners)
        order = derangement(6, torch.Generator().manual_seed(1))
        logits = torch.cat([model.comparison(present, past), model.comparison(present, past[order])])
    p = torch.sigmoid(logits)
    assert found == pytest.approx(-0.5 * (p[:6].log().mean() + (1 - p[6:]).log().mean()).item(), rel=1e-5)


def test_it_learns_to_tell_neighbours_from_strangers(dots):
    objective = PCL(net="mlp:width=32", latents=2, learning_rate=3e-3)
    model = objective.build(Problem(dots.shape, 144), torch.Generator().manual_seed(0))
    optimizer = objective.optimizers(model)["model"]
    rng, noise = np.random.default_rng(0), torch.Generator().manual_seed(0)
    for step in range(150):
        index = rng.integers(144, size=64)
        both = np.concatenate([dots.images(index), dots.images(np.clip(index + rng.integers(-1, 2, 64), 0, 143))])
        images, partners = (torch.from_numpy(both).permute(0, 3, 1, 2) / 255).chunk(2)
        terms = objective.loss(model, Inputs(images, partners), step, noise)
        optimizer.zero_grad()
        terms.total.backward()
        optimizer.step()
    assert terms.total.item() < 0.5 * math.log(2)
    assert terms.watched["accuracy"].item() > 0.85


def test_there_is_no_sampled_code_no_decoder_and_no_batch_of_one():
    objective = PCL(**SMALL)
    model = objective.build(Problem((8, 8, 1), 100), torch.Generator().manual_seed(0))
    images = torch.rand(1, 1, 8, 8)
    with pytest.raises(UsageError, match="sampled"):
        objective.encode(model, images, torch.Generator())
    with pytest.raises(UsageError, match="decode"):
        objective.decode(model, torch.zeros(1, 3))
    with pytest.raises(UsageError, match="at least two pairs"):
        objective.loss(model, Inputs(images, images), 0, torch.Generator())


def test_pcl_with_a_flow_keeps_all_that_is_seen_and_is_linear_at_first():
    objective = PCL(latents=4, flow=2, flow_width=8)
    model = objective.make_model(Problem((2, 2, 1), 100), torch.Generator().manual_seed(0))
    images = torch.rand(5, 1, 2, 2)
    # Untrained, couplings and matrices are the identity.
    assert torch.allclose(objective.encode(model, images), images.flatten(1))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    back = model.encoder.flow.inverse(objective.encode(model, images))[0]
    assert torch.allclose(back, images.flatten(1), atol=1e-4)
    with pytest.raises(UsageError, match="latents must be 4, got 3"):
        PCL(latents=3, flow=2).make_model(Problem((2, 2, 1), 100), torch.Generator())
