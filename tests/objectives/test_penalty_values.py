"""Values of penalties against derivations, closed forms and brute force."""

import numpy as np
import pytest
import torch

from unbraid import objectives
from unbraid.objectives import Codes, Problem
from unbraid.objectives.penalties import View, make
from unbraid.objectives.penalties._differences import normal, signs
from unbraid.objectives.penalties.bio import biological
from unbraid.objectives.penalties.hessian import mixed_curvature
from unbraid.objectives.penalties.hfs import HausdorffSupport, all_pairs, support_gaps
from unbraid.objectives.penalties.ima import column_contrast, columns
from unbraid.objectives.penalties.klm import information_of_pairs, released_multi_information
from unbraid.objectives.penalties.nhp import mixed_share
from unbraid.objectives.penalties.orojar import column_products
from unbraid.theory import mechanism_contrast

JACOBIAN = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], dtype=torch.float64)  # columns (1, 1, 0), (0, 1, 2)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_hessian_penalty_of_a_quadratic():
    # G = z0 z1 + 3 z0^2 has H = [[6, 1], [1, 0]]: mixed 2 * 2 * 1^2 = 4, whole 2 * (36 + 1 + 1) = 76.
    def outputs(z):
        return [(z[:, 0] * z[:, 1] + 3 * z[:, 0] ** 2)[:, None]]

    codes = torch.randn(50, 2, generator=generator(), dtype=torch.float64)
    (mixed,) = mixed_curvature(outputs, codes, signs(4096, codes, generator(1)), 0.1)
    (whole,) = mixed_curvature(outputs, codes, normal(4096, codes, generator(2)), 0.1)
    assert mixed.mean().item() == pytest.approx(4, rel=0.01)
    assert whole.mean().item() == pytest.approx(76, rel=0.04)
    assert mixed_share(mixed, whole).item() == pytest.approx(2 / 38, rel=0.04)


def test_pooled_shares_of_curvature_are_right_where_those_of_images_are_not():
    # 20 outputs z' H z / 2, symmetric random H: the share is that of off-diagonal squares in all.
    half = torch.randn(20, 6, 6, generator=generator(), dtype=torch.float64)
    hessians = (half + half.transpose(1, 2)) / 2
    squares = hessians.square()
    truth = 1 - (squares.diagonal(dim1=1, dim2=2).sum() / squares.sum()).item()

    def outputs(z):
        return [0.5 * torch.einsum("ni,oij,nj->no", z, hessians, z)]

    noise, found = generator(1), {True: [], False: []}
    codes = torch.randn(64, 6, generator=noise, dtype=torch.float64)
    for _ in range(400):
        both = [mixed_curvature(outputs, codes, draw(2, codes, noise), 0.1)[0] for draw in (signs, normal)]
        for pooled, values in found.items():
            values.append(mixed_share(*both, pooled=pooled).item())
    assert np.mean(found[True]) == pytest.approx(truth, abs=0.03)
    assert np.mean(found[False]) > truth + 0.5


def test_the_jacobian_penalty_of_a_linear_map():
    # J'J = [[2, 1], [1, 5]]: 2 * (1^2 + 1^2) = 4.
    codes = torch.randn(50, 2, generator=generator(), dtype=torch.float64)
    directions = signs(4096, codes, generator(1))
    assert column_products(lambda z: z @ JACOBIAN.T, codes, directions, 0.1).mean().item() == pytest.approx(4, rel=0.01)
    orthogonal = torch.tensor([[1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64)
    assert column_products(lambda z: z @ orthogonal, codes, directions, 0.1).max() < 1e-20


def test_the_contrast_of_mechanisms_knows_angles_only():
    # cos = 1 / sqrt(2 * 5), so -1/2 log(1 - 1/10) = 0.0527.
    def decode(z):
        return z @ JACOBIAN.T

    codes, units = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)
    found = column_contrast(columns(decode, codes, units, 0.01))
    assert found.item() == pytest.approx(-0.5 * np.log(0.9), abs=1e-5)
    scaled = column_contrast((JACOBIAN * torch.tensor([1e3, 1.0]))[None])
    assert scaled.item() == pytest.approx(found.item(), abs=1e-9)
    zero = column_contrast((JACOBIAN * torch.tensor([0.0, 1.0]))[None])
    assert zero.item() == pytest.approx(0, abs=1e-5)
    parallel = column_contrast(torch.ones(1, 3, 2, dtype=torch.float64))
    assert 5 < parallel.item() < 10  # infinite in truth


def test_the_contrast_is_the_one_that_theory_measures():
    jacobians = torch.randn(5, 20, 6, generator=generator(), dtype=torch.float64)
    np.testing.assert_allclose(column_contrast(jacobians).numpy(), mechanism_contrast(jacobians.numpy()), rtol=1e-4)


def test_columns_are_the_jacobian():
    def decode(z):
        return torch.stack([z[:, 0] * z[:, 1], z[:, 0] ** 2, z[:, 1].sin()], 1)

    codes = torch.tensor([[2.0, 3.0]], dtype=torch.float64)
    expected = torch.tensor([[3.0, 2.0], [4.0, 0.0], [0.0, np.cos(3.0)]], dtype=torch.float64)
    found = columns(decode, codes, torch.ones(2, dtype=torch.float64), 1e-3)
    torch.testing.assert_close(found[0], expected, atol=1e-6, rtol=0)


def test_biological_codes_pay_below_zero_and_for_energy():
    codes = torch.tensor([[1.0, -2.0]])
    assert biological(codes, 0.1).item() == pytest.approx(1 + 0.1 * 2.5)
    assert biological(torch.zeros(3, 2), 0.1).item() == 0


def gap(points):
    codes = torch.as_tensor(np.asarray(points), dtype=torch.float64)
    return support_gaps(codes, all_pairs(codes.shape[1])).sum().item()


def grid(n, low=0.0, high=1.0):
    values = np.linspace(low, high, n)
    return np.stack(np.meshgrid(values, values), -1).reshape(-1, 2)


def turned(points, degrees):
    angle = np.radians(degrees)
    return points @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def arm(a):
    """An L on a fine grid of the unit square: what lies within a of the left or of the lower side."""
    points = grid(41)
    return points[(points <= a + 1e-9).any(1)]


@pytest.mark.parametrize(
    ("points", "value"),
    [
        (grid(5), 0),
        ([[0, 0], [1, 1]], 1),  # the corner (0, 1) is 1 from both
        ([[0, 0], [1, 0], [0, 2]], 1),  # the corner (1, 2) is 1 from (0, 2)
        (np.linspace(0, 1, 5)[:, None].repeat(2, 1), 0.5),  # the corner (0, 1) is nearest to (1/2, 1/2)
        (arm(0.25), 0.5625),  # (1 - 1/4)^2
        (turned(grid(5), 15), 0.068930),
        (turned(grid(5), 30), 0.1875),
        (turned(grid(5), 45), 0.25),
    ],
)
def test_gaps_of_supports_in_closed_form(points, value):
    assert gap(points) == pytest.approx(value, abs=1e-6)


def broadcast(codes):
    """All corners, all codes, all pairs at once, with gradients through max and min."""
    total = 0
    for i, j in all_pairs(codes.shape[1]).tolist():
        first = (codes[:, None, i] - codes[:, i]).square()
        second = (codes[:, None, j] - codes[:, j]).square()
        total = total + (first[:, None] + second[None]).amin(-1).amax()
    return total


def test_gathering_the_winners_gives_value_and_gradient_of_the_whole_table():
    codes = torch.randn(20, 4, generator=generator(), dtype=torch.float64, requires_grad=True)
    whole = broadcast(codes)
    (expected,) = torch.autograd.grad(whole, codes)
    value = support_gaps(codes, all_pairs(4)).sum()
    (found,) = torch.autograd.grad(value, codes)
    torch.testing.assert_close(value, whole)
    torch.testing.assert_close(found, expected)
    # Two points: the corner pulls on both of them.
    points = torch.tensor([[0.0, 0.0], [1.0, 1.0]], requires_grad=True)
    (pulls,) = torch.autograd.grad(support_gaps(points, all_pairs(2)).sum(), points)
    assert pulls.abs().sum(1).min() > 0


def test_gaps_know_neither_order_nor_place_nor_repetition():
    codes = torch.randn(20, 3, generator=generator(), dtype=torch.float64)
    value = gap(codes)
    assert gap(codes.flip(0)) == pytest.approx(value)
    assert gap(codes + torch.tensor([3.0, -2.0, 10.0])) == pytest.approx(value)
    assert gap(torch.cat([codes, codes[:7]])) == pytest.approx(value)
    assert gap(3 * codes) == pytest.approx(9 * value)


def test_large_batches_are_searched_in_parts(monkeypatch):
    from unbraid.objectives.penalties import hfs

    codes = torch.randn(30, 2, generator=generator())
    whole = gap(codes)
    monkeypatch.setattr(hfs, "ROOM", 7 * 900)
    assert gap(codes) == whole


@pytest.mark.parametrize(
    ("sigma", "true", "mixed"), [(np.inf, 0.042, 0.261), (0.4, 0.094, 0.187), (0.2, 0.248, 0.071), (0.1, 0.372, 0.028)]
)
def test_mixed_codes_fill_their_square_better_than_strongly_correlated_factors(sigma, true, mixed):
    # A 10x10 grid, batches of 64, weights exp(-(c1 - c2)^2 / (2 sigma^2)), codes as they are and turned by 45.
    rng, points = np.random.default_rng(0), grid(10)
    weights = np.exp(-((points[:, 0] - points[:, 1]) ** 2) / (2 * sigma**2))
    batches = [points[rng.choice(100, 64, p=weights / weights.sum())] for _ in range(200)]
    assert np.mean([gap(batch) for batch in batches]) == pytest.approx(true, abs=0.03)
    assert np.mean([gap(turned(batch, 45)) for batch in batches]) == pytest.approx(mixed, abs=0.03)


@pytest.mark.parametrize("keep", ["variance", "range"])
def test_what_keeps_latents_from_shrinking_is_of_the_batch(keep):
    codes = 0.2 * torch.randn(32, 3, generator=generator())
    term = HausdorffSupport(delta=1.0, keep=keep).kept
    torch.testing.assert_close(term(codes), term(codes[torch.randperm(32, generator=generator(1))]))
    assert term(codes) > 0
    assert term(20 * codes) == 0
    # One latent without any spread costs 1, whatever the others do.
    codes = torch.cat([20 * codes[:, :2], torch.ones(32, 1)], 1)
    assert term(codes).item() == pytest.approx(1, abs=1e-5)


def uniform(d, noise, copied=False):
    codes = 2 * torch.rand(64, d, generator=noise) - 1
    codes[:, 1] = codes[:, 0] if copied else codes[:, 1]
    return codes


def test_kernels_on_pairs_see_a_copied_latent_and_the_released_ones_do_not():
    noise = generator()
    values = {
        (estimate, copied): [estimate(uniform(12, noise, copied)).item() for _ in range(100)]
        for estimate in (information_of_pairs, released_multi_information)
        for copied in (False, True)
    }
    apart, alike = values[information_of_pairs, False], values[information_of_pairs, True]
    assert np.mean(alike) - np.mean(apart) > 2 * max(np.std(alike), np.std(apart))
    assert np.mean(apart) == pytest.approx(-1.19, abs=0.1)
    difference = np.mean(values[released_multi_information, True]) - np.mean(values[released_multi_information, False])
    assert abs(difference) < 0.05


@pytest.mark.parametrize("estimate", [information_of_pairs, released_multi_information])
def test_kernels_know_no_scale(estimate):
    codes = uniform(5, generator())
    scaled = codes * torch.tensor([1e-3, 1e-1, 1.0, 10.0, 100.0])
    assert estimate(scaled).item() == pytest.approx(estimate(codes).item(), abs=1e-3)
    still = torch.cat([codes, torch.full((64, 1), 0.3)], 1).requires_grad_()
    (gradient,) = torch.autograd.grad(estimate(still), still)
    assert torch.isfinite(gradient).all()


def test_kernels_on_pairs_against_densities_by_hand():
    # Three codes, two latents: every density is a mean over the two others.
    codes = torch.tensor([[0.0, 1.0], [2.0, -1.0], [5.0, 0.5]], dtype=torch.float64)
    widths = codes.std(0).numpy() * 3 ** (-1 / 6)

    def kernel(i, j, k):
        return np.exp(-0.5 * ((codes[i, k] - codes[j, k]).item() / widths[k]) ** 2) / (widths[k] * np.sqrt(2 * np.pi))

    total = 0.0
    for i in range(3):
        others = [j for j in range(3) if j != i]
        joint = np.mean([kernel(i, j, 0) * kernel(i, j, 1) for j in others])
        total += np.log(joint / np.mean([kernel(i, j, 0) for j in others]) / np.mean([kernel(i, j, 1) for j in others]))
    assert information_of_pairs(codes).item() == pytest.approx(total / 3)


def test_with_a_memory_a_turn_of_two_uniform_codes_shows():
    # Turned by 45 degrees the square is a diamond, whose coordinates know ln 2 - 1/2 = 0.19 nats of each other.
    noise, root = generator(), torch.tensor(2.0).sqrt()

    def trials(memory):
        found = {False: [], True: []}
        for _ in range(40):
            codes, kept = (2 * torch.rand(n, 2, generator=noise) - 1 for n in (64, memory))
            for turn, values in found.items():
                matrix = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / root if turn else torch.eye(2)
                values.append(information_of_pairs(codes @ matrix, kept @ matrix).item())
        return (np.mean(found[True]) - np.mean(found[False])) / np.std(found[False])

    assert trials(1024) > 2 * trials(1)


def test_ima_of_parallel_columns_is_finite_in_single_precision():
    # Rank one and rounding: the determinant of the cosines, 1e-6 at least by construction, is below float32's digits.
    rng = torch.Generator().manual_seed(0)
    jacobian = torch.randn(64, 1024, 1, generator=rng) * torch.randn(64, 1, 10, generator=rng)
    jacobian += 1e-4 * torch.randn(64, 1024, 10, generator=rng)
    found = column_contrast(jacobian)
    assert found.isfinite().all()
    assert (found > 10).all()


def test_the_images_of_a_sum_have_no_mixed_curvature_also_where_they_leave_the_range():
    # f(a) + f(b) has a diagonal Hessian whatever f is; clipped to [0, 1] it would not.
    objective = objectives.get("ae")(net="additive:net=mlp:width=16,blocks=2", latents=2, likelihood="gaussian")
    model = objective.make_model(Problem((1, 8, 8), 10), torch.Generator().manual_seed(0)).double()
    codes = 3 * torch.randn(16, 2, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    view = View(objective, model, Codes(codes, codes), 0)
    images = view.decode(codes)
    assert (images < 0).any()
    assert make("nhp:k=8")(view, torch.Generator().manual_seed(2)).item() < 1e-6


def test_inner_stages_are_neither_linear_nor_images():
    objective = objectives.get("ae")(net="mlp:width=16,depth=3", latents=2)
    model = objective.make_model(Problem((1, 8, 8), 10), torch.Generator().manual_seed(0))
    codes = torch.randn(4, 2, generator=torch.Generator().manual_seed(1))
    view = View(objective, model, Codes(codes, codes), 0)
    stages = view.stages(codes)
    assert stages
    for stage, up, down in zip(stages, view.stages(codes + 1), view.stages(codes - 1), strict=True):
        assert stage[0].numel() == 16
        assert not torch.allclose(up + down, 2 * stage, atol=1e-4)
