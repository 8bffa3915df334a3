"""Rotations, symmetries and toy worlds: what sparse steps tell about the axes."""

import json

import numpy as np
import pytest
from scipy.stats import laplace, spearmanr

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.objectives import PCL, SlowFlow, SlowVAE
from unbraid.theory import (
    Toy,
    ar_toy,
    dimensionality,
    fit_toy,
    identifiability,
    linear_mixing,
    matched_correlation,
    nonlinear_mixing,
    pair_toy,
    posterior_collapse,
    random_rotation,
    rotation_energy,
    smooth_leaky,
    symmetry_check,
    whitened,
)

DEGREES = np.array([0, 15, 30, 45, 60, 75, 90])


def test_rotation_energy_of_laplace_steps_has_a_closed_form():
    # For independent Laplace steps E|c X + s Y| = (c^2 + c s + s^2) / (c + s) E|X|; 3 / (2 sqrt 2) at 45 degrees.
    c, s = np.cos(np.radians(DEGREES)), np.sin(np.radians(DEGREES))
    found = rotation_energy(np.radians(DEGREES), alpha=1)
    np.testing.assert_allclose(found, (c**2 + c * s + s**2) / (c + s), rtol=1e-6)
    assert found == pytest.approx([1.000, 1.021, 1.050, 1.0607, 1.050, 1.021, 1.000], abs=0.003)


def test_rotation_energies_of_sparser_and_of_normal_steps():
    assert rotation_energy(np.radians([0, 15, 30, 45]), alpha=0.5) == pytest.approx([1, 1.063, 1.112, 1.129], abs=0.003)
    assert rotation_energy(np.radians(DEGREES), alpha=2) == pytest.approx(np.ones(7), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5])
def test_rotation_energy_agrees_with_monte_carlo(alpha):
    rng = np.random.default_rng(0)
    steps = rng.standard_gamma(1 / alpha, (2, 400_000)) ** (1 / alpha) * rng.choice([-1, 1], (2, 400_000))
    angle = np.radians(25)
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ steps
    ratio = (np.abs(turned) ** alpha).sum() / (np.abs(steps) ** alpha).sum()
    assert rotation_energy(angle, alpha) == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_signed_permutations_are_symmetries_and_rotations_only_at_alpha_two(alpha):
    rng = np.random.default_rng(0)
    for size in (2, 3, 6):
        signed = np.eye(size)[rng.permutation(size)] * rng.choice([-1, 1], size)
        assert symmetry_check(signed, alpha)
        assert symmetry_check(random_rotation(size, 0), alpha) == (alpha == 2)
    angle = np.radians(10)
    turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert symmetry_check(turn, alpha) == (alpha == 2)
    assert not symmetry_check(np.diag([1.0, 1.1]), alpha)


def test_matched_correlation_ignores_order_and_sign_and_averages_over_latents():
    rng = np.random.default_rng(0)
    latents = rng.standard_normal((5000, 3))
    assert matched_correlation(-latents[:, [2, 0, 1]], latents) == pytest.approx(1)
    warped = np.exp(latents[:, [1, 2, 0]])
    assert matched_correlation(warped, latents, rank=True) == pytest.approx(1)
    assert matched_correlation(warped, latents) < 0.9
    # Constant codes correlate with nothing: one of three latents is found.
    assert matched_correlation(np.c_[latents[:, 0], np.ones((5000, 2))], latents) == pytest.approx(1 / 3)
    assert matched_correlation(latents[:, :1], latents) == pytest.approx(1 / 3)
    turned = latents[:, :2] @ np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    assert matched_correlation(turned, latents[:, :2]) == pytest.approx(np.sqrt(0.5), abs=0.02)
    # Ranks agree with SciPy's.
    noisy = latents + rng.standard_normal((5000, 3))
    expected = np.mean([spearmanr(noisy[:, i], latents[:, i])[0] for i in range(3)])
    assert matched_correlation(noisy, latents, rank=True) == pytest.approx(expected)


def test_mixings_are_what_they_say():
    rng = np.random.default_rng(0)
    matrix = linear_mixing(4, rng, condition=3.0)(np.eye(4))
    assert np.linalg.svd(matrix)[1] == pytest.approx([3, 7 / 3, 5 / 3, 1])
    # One layer is linear, two are not; columns have unit length.
    one = nonlinear_mixing(3, 6, rng, layers=1)
    z = rng.standard_normal((10, 3))
    np.testing.assert_allclose(one(2 * z), 2 * one(z))
    assert np.linalg.norm(one(np.eye(3)), axis=1) == pytest.approx(np.ones(3))
    two = nonlinear_mixing(3, 6, rng, layers=2)
    assert two(z).shape == (10, 6)
    assert not np.allclose(two(2 * z), 2 * two(z))
    with pytest.raises(UsageError, match="seen"):
        nonlinear_mixing(3, 2, rng)


def test_the_smooth_leaky_unit_is_a_leaky_relu_far_from_zero_and_rises_everywhere():
    assert smooth_leaky(np.array([-50.0, 50.0])) == pytest.approx([-10, 50])
    assert smooth_leaky(np.zeros(1)) == pytest.approx(0.8 * np.log(2))
    assert (np.diff(smooth_leaky(np.linspace(-9, 9, 100))) > 0).all()


def test_pairs_of_a_toy_move_by_laplace_steps_from_normal_latents():
    rng = np.random.default_rng(0)
    toy = pair_toy(50_000, 2, linear_mixing(2, rng), rng, alpha=1, rate=6)
    steps = toy.later_latents - toy.latents
    assert steps.var() == pytest.approx(2 / 36, rel=0.03)
    assert np.mean(np.abs(steps) < 0.1) == pytest.approx(laplace.cdf(0.6) - laplace.cdf(-0.6), abs=0.01)
    assert toy.latents.std() == pytest.approx(1, rel=0.02)


def test_series_have_unit_variance_and_the_autoregression_asked_for():
    toy = ar_toy(50_000, 2, lambda s: s, np.random.default_rng(0), ar=0.7)
    assert toy.latents.std(axis=0) == pytest.approx([1, 1], rel=0.03)
    assert np.corrcoef(toy.latents[:, 0], toy.later_latents[:, 0])[0, 1] == pytest.approx(0.7, abs=0.02)
    assert (toy.latents[1:] == toy.later_latents[:-1]).all()


def test_whitening_leaves_unit_covariance_and_treats_both_images_alike():
    rng = np.random.default_rng(0)
    toy = pair_toy(2000, 3, nonlinear_mixing(3, 3, rng), rng, alpha=1, rate=6)
    white = whitened(toy)
    assert np.cov(white.seen.T) == pytest.approx(np.eye(3), abs=1e-6)
    scaled = whitened(toy, rotate=False)
    assert scaled.seen.std(axis=0) == pytest.approx(np.ones(3))
    # The second image goes through the map fitted on the first: equal rows stay equal.
    twin = whitened(Toy(toy.latents, toy.latents, toy.seen, toy.seen))
    assert (twin.seen == twin.later_seen).all()
    assert (twin.seen == white.seen).all()


def test_a_linear_flow_finds_laplace_latents_and_cannot_find_normal_ones():
    found = {}
    for alpha, rate in ((1, 6), (2, 18)):
        rng = np.random.default_rng(2)
        toy = pair_toy(2000, 2, linear_mixing(2, rng), rng, alpha=alpha, rate=rate)
        objective = SlowFlow(alpha=alpha, rate=rate, learning_rate=0.03)
        found[alpha] = fit_toy(objective, toy, steps=250, batch_size=0).pearson
    assert found[1] > 0.99
    assert found[2] < 0.95


@pytest.mark.parametrize(
    "objective", [SlowFlow(), SlowVAE(latents=2, net="linear"), PCL(latents=2, net="mlp:width=8,depth=1")]
)
def test_a_fit_repeats_itself_and_depends_on_the_seed(objective):
    rng = np.random.default_rng(0)
    toy = pair_toy(200, 2, lambda z: 1 / (1 + np.exp(-z)), rng, alpha=1, rate=6)
    first, again, other = (fit_toy(objective, toy, steps=5, batch_size=32, seed=seed) for seed in (0, 0, 1))
    assert first.to_json() == again.to_json()
    assert first.loss != other.loss
    assert (first.deviation is None) == (objective.name != "slow-vae")


def test_the_experiments_give_a_row_per_model_and_seed():
    with pytest.raises(UsageError, match="dimensions must be at least 2, got 1"):
        next(identifiability("linear", dimensions=1))
    rows = list(identifiability("linear", dimensions=2, seeds=2, steps=2, pairs=100))
    assert [row["seed"] for row in rows] == [0, 0, 0, 1, 1, 1]
    for world, models in (
        ("nonlinear", ["slow-vae", "gaussian-slow-vae", "pm-vae"]),
        ("series", ["slow-flow", "pcl", "pcl with a flow"]),
    ):
        rows = list(identifiability(world, dimensions=2, seeds=1, steps=2, pairs=100, layers=(3,)))
        assert [row["model"] for row in rows] == models
    rows = list(posterior_collapse((0.5,), steps=2, pairs=100))
    assert [(row["model"], row["kappa"]) for row in rows] == [("slow-vae", 0.5), ("slow-flow", 0.5)]
    assert [row["seen"] for row in dimensionality((4, 8), dimensions=2, steps=2, pairs=100)] == [4, 8]
    rows = list(identifiability("series", dimensions=2, seeds=1, steps=2, pairs=100))
    assert [row["layers"] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    with pytest.raises(UsageError, match="layers must be at least 1, got 0"):
        next(identifiability("series", layers=(0, 2)))
    with pytest.raises(UsageError, match="world"):
        next(identifiability("cubic"))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["rotation", "--alpha", "1", "--degrees", "45"], "rotation"),
        (["identifiability", "--dimensions", "2", "--seeds", "1", "--steps", "2"], "identifiability"),
        (
            "identifiability --world series --layers 1 --layers 3 --dimensions 2 --seeds 1 --steps 2".split(),
            "identifiability",
        ),
        (["collapse", "--kappa", "0.5", "--kappa", "1", "--steps", "2"], "collapse"),
        (["dimensionality", "--seen", "4", "--seen", "6", "--dimensions", "2", "--steps", "2"], "dimensionality"),
    ],
)
def test_each_experiment_is_a_command_with_a_picture(words, name, tmp_path, capsys):
    assert main(["theory", *words, "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert (tmp_path / f"{name}.json").is_file()
    assert capsys.readouterr().out


def test_of_several_restarts_the_one_with_the_least_loss_counts():
    def losses(restarts):
        rows = identifiability("series", dimensions=2, seeds=1, steps=5, pairs=200, layers=(1,), restarts=restarts)
        return [row["loss"] for row in rows]

    once, often = losses(1), losses(4)
    assert all(a >= b for a, b in zip(once, often, strict=True))
    assert once != often


def test_sources_of_a_series_stand_beside_the_published_correlations(capsys):
    words = "theory identifiability --world series --layers 3 --dimensions 2 --seeds 1 --steps 2 --json"
    assert main(words.split()) == 0
    rows = json.loads(capsys.readouterr().out)
    found = {row["model"]: row["published"] for row in rows}
    assert found == {"slow-flow": 0.982, "pcl": 0.950, "pcl with a flow": 0.918}
