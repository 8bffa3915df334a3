"""Lower bounds of analysis by synthesis: no attack comes nearer, and they are what the formulas say."""

import numpy as np
import pytest
import torch
from synthesis_toys import LinearGenerators, LinearSynthesis

from unbraid.errors import UsageError
from unbraid.nets import explain
from unbraid.robustness import attacks
from unbraid.robustness.synthesis import binary_bound, l2_bound, lower_bounds, scaled_l2_bound, spread_misfit


def test_the_bound_is_where_the_two_energies_meet():
    # d = 5, R = 2, K = 3: (25 - 4 - 3) / (2 * 7) = 18 / 14; there (2 + e)^2 + 3 = (5 - e)^2 = 13.796.
    found = l2_bound(np.array([[5.0]]), np.array([2.0]), np.array([3.0]))[0]
    assert found == pytest.approx(18 / 14)
    assert (2 + found) ** 2 + 3 == pytest.approx((5 - found) ** 2) == pytest.approx(13.796, abs=1e-3)
    ones = np.ones((1, 1))
    scaled = scaled_l2_bound(np.array([[5.0]]), np.array([2.0]), np.array([3.0]), ones[0], ones)
    assert scaled[0] == pytest.approx(18 / 14, abs=1e-9)
    assert l2_bound(np.array([[2.0, 9.0]]), np.array([2.0]), np.array([1.0]))[0] == 0  # the nearest class decides
    # 1.5 ((2 + e)^2 + 3) = (5 - e)^2: 0.5 e^2 + 16 e - 14.5 = 0, e = -16 + sqrt(256 + 29)
    heavier = scaled_l2_bound(np.array([[5.0]]), np.array([2.0]), np.array([3.0]), np.array([1.5]), ones)
    assert heavier[0] == pytest.approx(-16 + np.sqrt(285), abs=1e-9)


def test_a_thresholded_image_moves_by_its_cheapest_pixels():
    images = np.array([[0.0, 0.4, 0.45, 1.0]])
    # A bound of 1.2 needs ceil(1.44) = 2 flips: the pixels at 0.05 and 0.1 from the threshold.
    assert binary_bound(images, np.array([1.2]))[0] == pytest.approx(np.hypot(0.05, 0.1))
    assert binary_bound(images, np.array([1.0]))[0] == pytest.approx(0.05)
    assert binary_bound(images, np.array([0.0]))[0] == 0


def test_squares_spread_as_far_as_pixels_can_move():
    most, least = spread_misfit(np.array([0.3, -0.1]), 0.2)
    assert (most, least) == (pytest.approx(0.25 + 0.09), pytest.approx(0.01))


@pytest.fixture(scope="module")
def bounded():
    made = LinearGenerators()
    noise = torch.Generator().manual_seed(5)
    truth = torch.arange(12) % 3
    images = (made.shifts[truth] + 0.05 * torch.randn(12, 9, generator=noise)).clamp(0, 1).view(12, 1, 3, 3)
    found = lower_bounds(None, images, truth, coupled=True, linf=True, generators=made)
    return made, images.flatten(1), truth, found


def test_no_change_within_a_bound_changes_the_decision(bounded):
    made, flat, truth, found = bounded
    assert found.right.all()
    assert (found.l2 > 0).any()
    attacked = attacks.latent_descent(LinearSynthesis(made), flat.view(-1, 1, 3, 3), truth, step=0.1, steps=100)
    assert attacked.success.all()
    assert (np.asarray(attacked.distances) >= found.coupled).all()
    noise = torch.Generator().manual_seed(9)
    for row in range(len(flat)):
        ways = torch.randn(1000, 9, generator=noise)
        worst = [made.shifts[c] - flat[row] for c in range(3)]
        ways = torch.cat([ways, torch.stack(worst)])
        unit = ways / ways.norm(dim=1, keepdim=True)
        for bound, step in ((found.l2, unit), (found.coupled, unit), (found.linf, ways.sign())):
            moved = flat[row] + 0.999 * float(bound[row]) * step
            assert (made.energies(moved).argmin(1) == truth[row]).all()


def test_no_smaller_change_of_linf_than_the_bound_is_found_by_brute_force(bounded):
    made, flat, truth, found = bounded
    assert found.linf is not None
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * 9)  # all 19,683 ways to move 9 pixels or not
    sizes = torch.linspace(0.02, 0.6, 30)
    for row, bound in enumerate(found.linf):
        guesses = [made.energies(flat[row] + size * signs).argmin(1) for size in (*sizes, 0.999 * float(bound))]
        fooled = [bool((guess != truth[row]).any()) for guess in guesses]
        assert not fooled.pop()
        nearest = float(sizes[fooled.index(True)])  # each image falls at one of the sizes
        assert bound <= nearest
        assert nearest < 4 * bound + 0.02, "a bound far below what can be reached would pass whatever it is"


def test_counting_the_divergence_of_others_gives_more(bounded):
    *_, found = bounded
    assert (found.coupled >= found.l2 - 1e-3).all()
    assert found.coupled.mean() > found.l2.mean()
    assert (found.linf <= found.coupled + 1e-3).all()  # a change of Linf e has an L2 of e or more
    assert "valid if the search found" in str(found)


def test_no_change_within_a_bound_of_scaled_classes_changes_the_decision(bounded):
    made, flat, truth, plain = bounded
    scales = torch.tensor([1.0, 1.3, 0.8])
    images = flat.view(-1, 1, 3, 3)
    found = lower_bounds(None, images, truth, coupled=True, linf=True, scales=scales, generators=made)
    same = lower_bounds(None, images, truth, coupled=False, scales=[2.0, 2.0, 2.0], generators=made)
    np.testing.assert_allclose(same.l2, plain.l2, atol=1e-6)  # what multiplies all classes changes nothing
    own = (scales * made.energies(flat)).argmin(1) == truth
    assert (found.right == own.numpy()).all()
    assert 0 < (found.l2 > 0).sum() < len(flat) or (found.l2 != plain.l2).any()
    assert (found.coupled >= found.l2 - 1e-3).all()
    noise = torch.Generator().manual_seed(4)
    for row in range(len(flat)):
        ways = torch.cat([torch.randn(1000, 9, generator=noise), made.shifts - flat[row]])
        unit = ways / ways.norm(dim=1, keepdim=True)
        for bound, step in ((found.l2, unit), (found.coupled, unit), (found.linf, ways.sign())):
            if bound[row] > 0:
                moved = flat[row] + 0.999 * float(bound[row]) * step
                assert ((scales * made.energies(moved)).argmin(1) == truth[row]).all()
    with pytest.raises(UsageError, match="scales must be 3 numbers"):
        lower_bounds(None, images, truth, scales=[1.0, 2.0], generators=made)


def test_a_better_search_can_only_lower_a_bound_and_bounds_say_how_far_they_hang_on_it(bounded):
    made, flat, truth, found = bounded
    images = flat.view(-1, 1, 3, 3)

    def l2(**asked):
        return lower_bounds(None, images, truth, coupled=False, generators=made, **asked).l2

    # One pass evaluates only: the nearest of few random latents, or the latent of the energy.
    poor, many, long = l2(samples=5, iterations=1), l2(iterations=1, restarts=20), l2(iterations=400, restarts=5)
    assert (long <= found.l2 + 1e-6).all()
    assert (found.l2 <= poor + 1e-6).all()
    assert poor.mean() > found.l2.mean() + 1e-3
    assert (many <= l2(iterations=1) + 1e-6).all()
    # The latents of another seed lead to the same place, but for what is left of the way.
    other = l2(seed=1)
    np.testing.assert_allclose(other, found.l2, atol=0.02)
    assert (l2(seed=1, iterations=1) != l2(iterations=1)).any()
    # Exactly: the least |x - W z - b|^2 with a weight of 0 on the divergence is a projection, within the ball.
    apart = flat[:, None] - made.shifts
    codes = torch.linalg.lstsq(made.weights.expand(len(flat), -1, -1, -1), apart[..., None]).solution[..., 0]
    inside = (codes.norm(dim=-1) < made.search.radius).all(1)
    d = (apart - torch.einsum("cpl,ncl->ncp", made.weights, codes)).norm(dim=-1)
    own = explain(made.decode, images, made.known, made.search)
    rows = torch.arange(len(flat))
    r = (own.reconstruction[rows, truth] - images).flatten(1).norm(dim=1)
    k = 0.5 * own.codes[rows, truth].square().sum(-1)
    others = d[torch.arange(3) != truth[:, None]].view(len(flat), 2)
    np.testing.assert_allclose(long[inside], l2_bound(others, r, k)[inside], atol=1e-3)
    assert inside.any()
    with pytest.raises(UsageError, match="restarts must be at least 1"):
        l2(restarts=0)
    with pytest.raises(UsageError, match="count must lie between 1 and the 300 random latents, got 301"):
        l2(restarts=301)


def test_wrong_classes_have_no_bound(bounded):
    made, flat, truth, _ = bounded
    found = lower_bounds(None, flat.view(-1, 1, 3, 3)[:3], (truth[:3] + 1) % 3, coupled=False, generators=made)
    assert (found.l2 == 0).all()
    assert found.coupled is None
    with pytest.raises(UsageError, match=r"labels must lie in 0\.\.2"):
        lower_bounds(None, flat.view(-1, 1, 3, 3)[:1], torch.tensor([3]), generators=made)
