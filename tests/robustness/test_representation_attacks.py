"""Attacks on codes of linear encoders, whose smallest changes are known."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

import unbraid
from unbraid import data
from unbraid.errors import UsageError
from unbraid.robustness import change_factor, match_code, move_code

RNG = np.random.default_rng(0)
IMAGES = torch.from_numpy(0.5 + 0.1 * RNG.uniform(-1, 1, (3, 1, 4, 4)))
DONORS = torch.from_numpy(0.5 + 0.1 * RNG.uniform(-1, 1, (3, 1, 4, 4)))
WEIGHTS = RNG.standard_normal((3, 16))
WEIGHTS[1] += 0.5 * WEIGHTS[0]  # numbers that hang together


class Linear(nn.Module):
    def __init__(self, weights=WEIGHTS):
        super().__init__()
        self.weights = nn.Parameter(torch.from_numpy(weights))

    def forward(self, images):
        return images.flatten(1) @ self.weights.T


def codes(images, weights=WEIGHTS):
    return images.flatten(1).numpy() @ weights.T


def shortest(*constraints):
    """The length of the shortest change under constraints, by a solver that knows nothing of attacks."""
    found = minimize(
        lambda delta: (delta**2).sum(),
        np.full(16, 0.01),
        jac=lambda delta: 2 * delta,
        constraints=[{"type": "ineq", "fun": each} for each in constraints],
    )
    assert found.success
    return found.fun**0.5


@pytest.mark.parametrize("attack", ["", "bim", "fgm", "ddn"])
def test_a_linear_code_moves_fastest_along_its_first_singular_vector(attack):
    # |W d| <= s_1 |d|: the smallest change that moves the code by a is a / s_1.
    exact = 0.5 / np.linalg.svd(WEIGHTS)[1][0]
    found = move_code(Linear(), IMAGES, 0.5, attack=attack)
    np.testing.assert_allclose(found.distances, exact, rtol=5e-3)
    assert (found.distances >= exact * (1 - 1e-9)).all()
    moved = codes(found.adversarials) - codes(IMAGES)
    assert (np.linalg.norm(moved, axis=1) >= 0.5 * (1 - 1e-12)).all()
    # In units of scale: dividing codes by 2 asks for twice the change.
    half = move_code(Linear(), IMAGES, 0.5, scale=[2.0, 2, 2], attack=attack)
    np.testing.assert_allclose(half.distances, 2 * exact, rtol=5e-3)


def test_one_number_moves_fastest_along_its_signs_and_its_loudest_pixel():
    # |w . d| <= |w|_1 |d|_inf, and one pixel changes it by |w_i| 0.5 at the least of what is left to a bound.
    weights = WEIGHTS[:1]
    found = move_code(Linear(weights), IMAGES, 0.5, norm="linf")
    np.testing.assert_allclose(found.distances, 0.5 / np.abs(weights).sum(), rtol=5e-3)
    loudest = np.abs(weights).max()
    assert loudest * 0.4 > 0.5
    assert move_code(Linear(weights), IMAGES, 0.5, norm="l0").distances.tolist() == [1, 1, 1]
    assert not move_code(Linear(weights), IMAGES, 0.5, bound=0.4 / np.linalg.norm(weights)).success.any()


def test_the_code_of_a_donor_is_reproduced_by_the_smallest_change_that_can():
    found = match_code(Linear(), IMAGES, DONORS, tolerance=0.1)
    way = codes(DONORS) - codes(IMAGES)
    exact = np.array([shortest(lambda d, r=r: 0.1**2 - ((WEIGHTS @ d - r) ** 2).sum()) for r in way])
    assert (found.distances.numpy() >= exact * (1 - 1e-6)).all()
    np.testing.assert_allclose(found.distances, exact, rtol=0.01)
    assert (np.linalg.norm(codes(found.adversarials) - codes(DONORS), axis=1) <= 0.1 + 1e-12).all()
    given = match_code(Linear(), IMAGES, codes(DONORS), tolerance=0.1)
    torch.testing.assert_close(given.distances, found.distances, rtol=2e-3, atol=0)
    # An image's own code is there already.
    assert (match_code(Linear(), IMAGES, IMAGES, tolerance=0.1).distances == 0).all()


@pytest.mark.parametrize("by", [0.5, -0.5])
def test_one_factor_changes_while_the_others_hold(by):
    found = change_factor(Linear(), IMAGES, 0, by, hold=0.05)
    moved = codes(found.adversarials) - codes(IMAGES)
    assert (np.sign(by) * moved[:, 0] >= 0.5 * (1 - 1e-12)).all()
    assert (np.abs(moved[:, 1:]) <= 0.05 + 1e-12).all()
    others = [lambda d, j=j, q=q: 0.05 - q * (WEIGHTS @ d)[j] for j in (1, 2) for q in (1, -1)]
    exact = shortest(lambda d: np.sign(by) * (WEIGHTS @ d)[0] - 0.5, *others)
    assert (found.distances.numpy() >= exact * (1 - 1e-6)).all()
    np.testing.assert_allclose(found.distances, exact, rtol=0.05)
    # The others cost something: alone, the factor would change within by / |w|.
    assert exact > 0.5 / np.linalg.norm(WEIGHTS[0]) * 1.01
    free = change_factor(Linear(), IMAGES, 0, by, hold=100.0, steps=10)
    np.testing.assert_allclose(free.distances, 0.5 / np.linalg.norm(WEIGHTS[0]), rtol=5e-3)


def test_an_own_loss_leads_the_way_and_the_goal_decides():
    asked = []

    def second_only(outputs, before):
        asked.append(len(outputs))
        return (outputs - before)[:, 1]

    # Along w_2 the code moves |W w_2| / |w_2| per unit of length.
    found = move_code(Linear(), IMAGES, 0.5, loss=second_only, attack="bim")
    speed = np.linalg.norm(WEIGHTS @ WEIGHTS[1]) / np.linalg.norm(WEIGHTS[1])
    np.testing.assert_allclose(found.distances, 0.5 / speed, rtol=5e-3)
    assert asked


def test_functions_on_bytes_are_moved_by_attacks_on_decisions():
    def mean(images):
        return images.reshape(len(images), -1).mean(1, keepdims=True) / 255

    images = np.full((2, 4, 4, 1), 100, np.uint8)
    found = move_code(mean, images, 0.1, attack="gaussian")
    # The mean of 16 pixels moves by 0.1 if all move by 0.1: sqrt(16) 0.1 is the least in l2, a byte more or less.
    assert found.success.all()
    assert (found.distances >= 0.4 - 4 / 255).all()
    with pytest.raises(UsageError, match="mean is a function on arrays"):
        move_code(mean, images, 0.1)


def test_codes_of_runs_are_attacked_and_measured_by_the_run(tmp_path):
    blobs = data.load("blobs16")
    options = {"net": "mlp:width=8", "steps": 2, "progress": "none"}
    run = unbraid.train("beta-vae", blobs, out=tmp_path / "vae", **options)
    images = blobs.images([3, 40])
    before = run.encode(images)
    amount = 0.5 * float(np.linalg.norm(before[1] - before[0]))
    found = move_code(run, images, amount)
    assert found.success.all()
    # Along the line to the other image the code moves twice as far: the nearest change is no longer than that line.
    assert (found.distances <= np.linalg.norm(images[1] / 255.0 - images[0] / 255.0)).all()
    # Rounded to bytes, as the run sees images, the codes are nearly where they were.
    seen = found.adversarials.mul(255).round().byte().permute(0, 2, 3, 1).numpy()
    moved = np.linalg.norm(run.encode(seen) - before, axis=1)
    np.testing.assert_allclose(moved, amount, rtol=0.2)
    factors = unbraid.train("regressor", blobs, out=tmp_path / "factors", **options)
    changed = change_factor(factors, images, 0, 0.001, hold=1.0, steps=5)
    assert changed.success.all()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: move_code(Linear(), IMAGES, 0), "amount must be a number above 0"),
        (lambda: move_code(Linear(), IMAGES, 1, norm="l3"), "unknown norm 'l3'"),
        (lambda: move_code(Linear(), IMAGES, 1, norm="l0", attack="pgd"), "unknown norm of the attack 'pgd': 'l0'"),
        (lambda: move_code(Linear(), IMAGES, 1, scale=[1, 0, 1]), "scale must be numbers above 0"),
        (lambda: move_code(3, IMAGES, 1), "model must be a torch module"),
        (lambda: move_code(Linear(), IMAGES * 3, 1), r"must lie in \[0, 1\]"),
        (lambda: move_code(Linear(WEIGHTS * np.nan), IMAGES, 1), "no numbers"),
        (lambda: match_code(Linear(), IMAGES, DONORS[:2], tolerance=0.1), "donors must be 3 images"),
        (lambda: match_code(Linear(), IMAGES, DONORS, tolerance=-1), "tolerance must be a number above 0"),
        (lambda: change_factor(Linear(), IMAGES, 3, 1, hold=0.1), "factor must be a column of the 3 outputs"),
        (lambda: change_factor(Linear(), IMAGES, 0, 0, hold=0.1), "by must be a number other than 0"),
        (lambda: change_factor(Linear(), IMAGES, 0, 1, hold=0), "hold must be a number above 0"),
    ],
)
def test_what_cannot_be_meant_is_told(asked, message):
    with pytest.raises(UsageError, match=message):
        asked()
