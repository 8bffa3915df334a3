"""Perturbations of an exact size: norms, bounds, gradients, and the same answer by sorting."""

import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets.projection import clip_l2_ball, clip_linf, project_l2


def by_sorting(images, delta, eps):
    """The published way: sort the points where entries meet their bounds and walk along the segments."""
    x, d = images.flatten(1), delta.flatten(1)
    power = d.square()
    points = torch.where(d >= 0, 1 - x, x).square() / power.clamp_min(1e-20)
    points, order = points.sort(1)
    power = power.gather(1, order)
    slopes = power.flip(1).cumsum(1).flip(1)
    gaps = points.diff(dim=1, prepend=torch.zeros_like(points[:, :1]))
    heights = (slopes * gaps).cumsum(1)
    place = (heights < eps**2).sum(1, keepdim=True)
    within = place.clamp(max=x.shape[1] - 1)
    back = (heights.gather(1, within) - eps**2) / slopes.gather(1, within).clamp_min(1e-20)
    s = points.gather(1, within) - torch.where(place < x.shape[1], back, 0)
    return (x + s.sqrt() * d).clamp(0, 1).view_as(images)


def drawn(*shape, seed=0, dtype=torch.float32):
    noise = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=noise, dtype=dtype), torch.randn(*shape, generator=noise, dtype=dtype)


def distances(images, others):
    return (images - others).flatten(1).norm(dim=1)


@pytest.mark.parametrize("eps", [0.1, 1.0, 5.0, 10.0])
@pytest.mark.parametrize("kind", ["grey", "binary"])
def test_the_norm_after_clipping_is_exact_and_as_by_sorting(eps, kind):
    images, delta = drawn(40, 1, 28, 28)
    if kind == "binary":
        images = (images > 0.8).float()
    found = project_l2(images, delta, eps)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (distances(found, images) - eps).abs().max() < 1e-4 * max(1, eps)
    torch.testing.assert_close(found, by_sorting(images.double(), delta.double(), eps).float(), rtol=1e-4, atol=1e-5)


def test_a_budget_out_of_reach_leaves_every_moved_entry_at_its_bound():
    images, delta = drawn(6, 1, 8, 8)
    delta[:, :, :2] = 0
    found = project_l2(images, delta, 100.0)
    expected = torch.where(delta > 0, 1.0, torch.where(delta < 0, 0.0, images))
    assert torch.equal(found, expected)
    torch.testing.assert_close(found, by_sorting(images, delta, 100.0))


def test_on_black_only_what_brightens_moves():
    # 784 entries, about half of them positive: at most sqrt(392) = 19.8 away.
    _, delta = drawn(5, 1, 28, 28)
    found = project_l2(torch.zeros_like(delta), delta, 10.0)
    assert (found[delta < 0] == 0).all()
    assert (found[delta > 0] > 0).all()
    torch.testing.assert_close(found.flatten(1).norm(dim=1), torch.full((5,), 10.0))


def test_rows_with_budgets_of_their_own_and_without_any_way_to_go():
    images = torch.tensor([[0.5, 0.5], [0.5, 0.5], [1.0, 1.0], [0.2, 0.2], [0.5, 0.5]])
    delta = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 2.0], [1.0, -1.0], [1e-30, 1e-30]]).requires_grad_()
    eps = torch.tensor([0.25, 1.0, 1.0, 0.0, 0.1 * 2**0.5])
    found = project_l2(images, delta, eps)
    expected = torch.tensor([[0.65, 0.7], [0.5, 0.5], [1.0, 1.0], [0.2, 0.2], [0.6, 0.6]])
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    assert delta.grad.isfinite().all()


def test_only_the_direction_of_delta_matters():
    images, delta = drawn(3, 50, dtype=torch.float64)
    torch.testing.assert_close(project_l2(images, 1e-6 * delta, 2.0), project_l2(images, 1e5 * delta, 2.0))


@pytest.mark.parametrize("eps", [0.3, 1.0, 2.0])
def test_gradients_are_those_of_finite_differences(eps):
    # Budgets at which few, many, and most of the 16 entries are at a bound.
    images, delta = drawn(3, 16, seed=1, dtype=torch.float64)
    images[0, :4] = 0
    budgets = torch.full((3,), eps, dtype=torch.float64)
    weights = torch.linspace(-1, 1, 16, dtype=torch.float64)

    def loss(x, d, e):
        return (project_l2(x, d, e, low=-0.5, high=1.5) * weights).square().sum(1)

    inputs = tuple(part.requires_grad_() for part in (images, delta, budgets))
    assert torch.autograd.gradcheck(loss, inputs, rtol=1e-3)
    # The norm is fixed, so that moving delta along itself changes nothing.
    (into,) = torch.autograd.grad(loss(*inputs).sum(), delta)
    torch.testing.assert_close((into * delta).sum(1), torch.zeros(3, dtype=torch.float64), atol=1e-9, rtol=0)


def test_gradients_where_nothing_can_move_are_zero():
    images, delta = torch.zeros(2, 4), -torch.ones(2, 4)
    delta = delta.requires_grad_()
    project_l2(images, delta, 1.0).sum().backward()
    assert (delta.grad == 0).all()


def test_what_attacks_clip_to():
    images, delta = drawn(4, 1, 6, 6)
    found = clip_linf(images, delta, torch.tensor([0.1, 0.2, 0.3, 0.4]))
    for place, radius in enumerate((0.1, 0.2, 0.3, 0.4)):
        expected = (images[place] + delta[place].clamp(-radius, radius)).clamp(0, 1)
        torch.testing.assert_close(found[place], expected)
    short = 1e-3 * delta
    torch.testing.assert_close(clip_l2_ball(images, short, 1.0), (images + short).clamp(0, 1))
    grey = torch.full_like(images, 0.5)
    torch.testing.assert_close(distances(clip_l2_ball(grey, delta, 0.2), grey), torch.full((4,), 0.2))
    assert (distances(clip_l2_ball(images, delta, 2.0), images) <= 2).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": torch.zeros(2, 5)}, r"one shape \[n, ...\], got \[2, 4\] and \[2, 5\]"),
        ({"delta": torch.tensor([[0.0, float("nan"), 0, 0]] * 2)}, "delta must be finite"),
        ({"images": torch.tensor([[0.0, float("nan"), 0, 0]] * 2)}, "images must lie between 0.0 and 1.0"),
        ({"images": torch.full((2, 4), 1.5)}, "images must lie between 0.0 and 1.0, got 1.5 to 1.5"),
        ({"images": torch.zeros(2, 4, dtype=torch.int64)}, "must be floats, got torch.int64"),
        ({"eps": -1.0}, "eps must be numbers that are not negative, got -1.0"),
        ({"eps": float("nan")}, "eps must be numbers"),
        ({"low": 1.0, "high": 0.0}, "low must be below high"),
    ],
)
def test_what_cannot_be_projected_is_refused(change, message):
    given = {"images": torch.zeros(2, 4), "delta": torch.ones(2, 4), "eps": 1.0, **change}
    with pytest.raises(UsageError, match=message):
        project_l2(**given)
