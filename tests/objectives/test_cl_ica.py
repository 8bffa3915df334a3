"""Contrastive nonlinear ICA: the loss against a loop, spaces of codes, and whether it finds the sources."""

import math

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.metrics import mcc
from unbraid.nets import Box, Sphere
from unbraid.objectives import CLICA, Inputs, contrastive_loss, dissimilarity

NET = "mlp:encoder=40+80+80+40,activation=leaky-relu"


def codes(seed, n=6, d=3):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_the_loss_is_the_sum_over_strangers_written_out(p):
    anchors, partners, tau = codes(0), codes(1), 0.7

    def s(first, second):
        return (-float(first @ second) if p == 0 else float((first - second).abs().pow(p).sum())) / tau

    expected = []
    for i, (anchor, partner) in enumerate(zip(anchors, partners, strict=True)):
        strangers = sum(math.exp(-s(anchor, other)) for j, other in enumerate(anchors) if j != i)
        expected.append(s(anchor, partner) + math.log(math.exp(-s(anchor, partner)) + strangers))
    loss, _ = contrastive_loss(anchors, partners, p=p, tau=tau)
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-9)


def test_an_anchor_is_not_its_own_stranger():
    # Two far anchors whose partners are themselves: with the anchor among its strangers the loss would be ln 2.
    anchors = torch.tensor([[0.0], [100.0]])
    loss, right = contrastive_loss(anchors, anchors, p=1, tau=1)
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert right.item() == 1


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_gradients_are_finite_where_codes_coincide(p):
    anchors = torch.zeros(3, 2, requires_grad=True)
    loss, _ = contrastive_loss(anchors, torch.zeros(3, 2), p=p, tau=1)
    assert loss.item() == pytest.approx(math.log(3))
    assert torch.isfinite(torch.autograd.grad(loss, anchors)[0]).all()


def test_powers_by_products_are_those_by_differences():
    first, second = codes(2), codes(3, n=4)
    for p in (1.0, 2.0):
        expected = (first[:, None] - second[None]).abs().pow(p).sum(2)
        torch.testing.assert_close(dissimilarity(first, second, p), expected)


def test_codes_lie_in_their_box_or_on_their_sphere_and_both_can_grow():
    given = 10 * codes(0).float()
    box, sphere = Box(3, 10.0), Sphere(2.0)
    assert ((box(given) >= 0) & (box(given) <= 10)).all()
    assert sphere(given).norm(dim=1).tolist() == pytest.approx([2.0] * 6)
    for space in (box, sphere):
        (weight,) = space.parameters()
        assert torch.autograd.grad(space(given).square().sum(), weight)[0].abs().min() > 0


def test_the_inner_product_on_the_sphere_of_radius_one_is_the_squared_distance_but_for_a_constant():
    # |h - h'|^2 = 2 - 2 h h': with tau doubled both losses are the same.
    first, second = (torch.nn.functional.normalize(codes(seed), dim=1) for seed in (0, 1))
    by_product, _ = contrastive_loss(first, second, p=0, tau=1)
    by_distance, _ = contrastive_loss(first, second, p=2, tau=2)
    assert by_product.item() == pytest.approx(by_distance.item())


def test_settings_that_make_no_sense_are_refused(tmp_path):
    for options, word in (
        ({"p": 0.5}, "p must"),
        ({"p": 0}, "sphere"),
        ({"tau": 0}, "tau"),
        ({"latents": 0}, "latents"),
    ):
        with pytest.raises(UsageError, match=word):
            CLICA(**options)
    with pytest.raises(UsageError, match="output space"):
        unbraid.train(CLICA(space="torus"), load("mixed-pairs:pairs=10"), steps=1, out=tmp_path / "unused")


def test_partners_lie_near_by_the_law_and_both_in_the_cube():
    for law, spread in (("laplace", 0.05), ("normal", 0.05 * math.sqrt(2 / math.pi))):
        data = load("mixed-pairs", law=law, pairs=20_000)
        first, second = data.factors(np.arange(40_000)).reshape(20_000, 2, 4).swapaxes(0, 1)
        assert first.min() >= 0 <= second.min()
        assert max(first.max(), second.max()) <= 1
        inside = (abs(first - 0.5) < 0.2).all(axis=1)  # far from the walls, where the law is not cut off
        assert abs(second - first)[inside].mean() == pytest.approx(spread, rel=0.05)


def test_fresh_points_go_through_the_same_mixing():
    data, fresh = load("mixed-pairs:pairs=50"), load("mixed-pairs:pairs=50,draw=1")
    assert not np.array_equal(data.factors([0]), fresh.factors([0]))
    both = np.concatenate([data.factors(np.arange(100)), fresh.factors(np.arange(100))])
    seen = np.concatenate([data.images(np.arange(100)), fresh.images(np.arange(100))])
    from unbraid.data.sets.mixtures import random_mixing

    assert random_mixing(both, 3, 0) == pytest.approx(seen, abs=1e-5)


def found(law, p, steps, out):
    data, fresh = load("mixed-pairs", law=law), load("mixed-pairs", law=law, draw=1, pairs=2_500)
    objective = CLICA(latents=4, net=NET, p=p, learning_rate=1e-3)
    run = unbraid.train(objective, data, steps=steps, batch_size=512, out=out, progress="none", precision="fp32")
    index = np.arange(5_000)
    return run.encode(fresh.images(index)), fresh.factors(index)


@pytest.mark.slow
def test_laplace_steps_give_the_sources_up_to_order_sign_and_scale(tmp_path):
    assert float(mcc(*found("laplace", 1.0, 5_000, tmp_path))) >= 0.95


@pytest.mark.slow
def test_normal_steps_give_the_sources_up_to_an_affine_map(tmp_path):
    features, sources = found("normal", 2.0, 4_000, tmp_path)
    known = np.column_stack([features, np.ones(len(features))])
    left = sources - known @ np.linalg.lstsq(known, sources, rcond=None)[0]
    assert 1 - left.var(axis=0).mean() / sources.var(axis=0).mean() >= 0.95


class Given(torch.nn.Module):
    """Codes that no network rounds."""

    def __init__(self, codes):
        super().__init__()
        self.codes = codes

    def forward(self, _):
        return self.codes


@pytest.mark.parametrize("p", [1, 2])
def test_the_loss_is_the_same_where_networks_run_in_half_precision(p):
    anchors = codes(2, 32).float()
    model = Given(torch.cat([anchors, anchors + 0.1 * codes(3, 32).float()]))
    inputs = Inputs(anchors, partners=anchors)
    losses = []
    for half in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            losses.append(CLICA(p=p).loss(model, inputs, 0, torch.Generator()).total)
    assert torch.equal(*losses)
