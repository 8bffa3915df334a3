"""The definitions on cases made by hand, and example 6."""

import numpy as np
import pytest
import torch
from torch import nn

from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.invariance import (
    classes_of,
    in_preimage,
    is_invariance_adversarial,
    is_perturbation_adversarial,
    misaligned_rule,
    on_sphere,
    perturbation_kind,
    preimage_gap,
    shift_last_coordinate,
    sphere_oracle,
)

ORACLE, RULE = sphere_oracle((1, 3)), misaligned_rule((1, 3))


def test_steps_along_and_across_spheres_are_nuisance_and_semantic():
    x = torch.tensor([[1.0, 0, 0], [1.0, 0, 0], [0, 3.0, 0]])
    other = torch.tensor([[0, 1.0, 0], [3.0, 0, 0], [0, 0, 3.0]])
    assert perturbation_kind(ORACLE, x, other) == ["nuisance", "semantic", "nuisance"]


def test_a_point_moved_through_the_ignored_coordinate_is_invariance_adversarial():
    x = torch.tensor([[0.6, 0, 0.8]])
    other = shift_last_coordinate(x, 3.0)
    assert other[0, 2].item() == pytest.approx((9 - 0.36) ** 0.5)
    assert is_invariance_adversarial(RULE, ORACLE, x.double(), other).tolist() == [True]
    # the same step is seen by the right rule, and a step to itself is none
    assert is_invariance_adversarial(ORACLE, ORACLE, x.double(), other).tolist() == [False]
    assert is_invariance_adversarial(RULE, ORACLE, x, x).tolist() == [False]
    # nor is a nuisance step, though the rule is invariant to it
    assert is_invariance_adversarial(RULE, ORACLE, x, torch.tensor([[0, 0.6, 0.8]])).tolist() == [False]


def test_one_point_is_both_kinds_with_other_references():
    # x* lies on the outer sphere and is called inner: from the inner sphere D is kept and o changes, from the outer one
    # o is kept and D changes.
    inner, outer = torch.tensor([[0.6, 0, 0.8]]).double(), torch.tensor([[3.0, 0, 0]]).double()
    other = shift_last_coordinate(inner, 3.0)
    assert is_invariance_adversarial(RULE, ORACLE, inner, other).item()
    assert is_perturbation_adversarial(RULE, ORACLE, outer, other).item()
    assert not is_invariance_adversarial(RULE, ORACLE, outer, other).item()
    distance = float((outer - other).norm())
    assert is_perturbation_adversarial(RULE, ORACLE, outer, other, radius=distance + 0.01).item()
    assert not is_perturbation_adversarial(RULE, ORACLE, outer, other, radius=distance - 0.01).item()


def test_preimages_are_nested():
    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    logits = nn.Sequential(first, nn.Linear(4, 2))
    x, other = torch.randn(500, 3), torch.randn(500, 3)
    x[:3] = other[:3]
    with torch.no_grad():
        layer, score = (in_preimage(part, x, other) for part in (first, logits))
        decision = in_preimage(lambda points: classes_of(logits, points), x, other)
    assert bool((layer <= score).all())
    assert bool((score <= decision).all())
    assert layer[:3].all()
    assert decision.sum() > score.sum()


def test_the_gap_is_the_largest_difference():
    gap = preimage_gap(
        lambda points: points * torch.tensor([1.0, 10.0]), torch.zeros(2, 2), torch.tensor([[1.0, 0.5], [0, 0]])
    )
    assert gap.tolist() == [5.0, 0.0]


@pytest.mark.parametrize(("d", "radius"), [(100, 10.0), (500, 1.3)])
def test_example_6_is_perfect_until_the_last_coordinate_moves(d, radius):
    n = 20_000 if d == 100 else 4000
    data = load("spheres", d=d, radius=radius, images=n)
    x, labels = torch.tensor(data.images(np.arange(n))).double(), torch.tensor(data.labels())
    x *= torch.where(labels == 1, radius, 1.0)[:, None] / x.norm(dim=1, keepdim=True)
    rule, oracle = misaligned_rule((1, radius)), sphere_oracle((1, radius))
    assert torch.equal(oracle(x), labels)
    assert (rule(x) == labels).double().mean() >= (1 if d == 100 else 0.9995)
    inner = x[labels == 0]
    moved = shift_last_coordinate(inner, radius)
    assert torch.equal(rule(moved), rule(inner))
    assert (moved.norm(dim=1) - radius).abs().max() < 1e-9
    assert on_sphere(moved, (1, radius)).all()
    assert (rule(moved) == oracle(moved)).double().mean() == 0
    everything = torch.cat([moved, x[labels == 1]])
    assert (rule(everything) == oracle(everything)).double().mean() == pytest.approx(0.5, abs=0.02)


def test_in_few_dimensions_the_last_coordinate_matters():
    data = load("spheres", d=20, radius=1.3, images=20_000)
    x, labels = torch.tensor(data.images(np.arange(20_000))), torch.tensor(data.labels())
    # |x_1..19|^2 = 1.69 (1 - x_20^2 / 1.69) < 1.15^2 where the last coordinate takes 22 % of the squared norm or more.
    assert (misaligned_rule((1, 1.3))(x) == labels).double().mean() == pytest.approx(0.984, abs=0.004)


def test_wrong_input_is_named():
    with pytest.raises(UsageError, match=r"one shape, got \[2, 3\] and \[2, 2\]"):
        preimage_gap(ORACLE, np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(UsageError, match=r"classes .* or scores"):
        classes_of(lambda x: x[:, :, None], torch.zeros(2, 3))
    with pytest.raises(UsageError, match="ascend, inner sphere first"):
        sphere_oracle((3, 1))
    with pytest.raises(UsageError, match=r"farther than 1\.0 from the origin"):
        shift_last_coordinate(torch.tensor([[2.0, 0]]), 1.0)
