"""Two factors along axes or around a middle: known layouts get the right verdict."""

import json

import numpy as np
import pytest

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.theory import best_and_worst, polar_score


def layouts(seed=0, n=8000):
    """Factors (hue of ten, tilt of eight) and codes of four latents in both layouts, in latents 3 and 1."""
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(10, size=n), rng.integers(8, size=n), rng.integers(5, size=n)])
    hue, tilt = factors[:, 0], factors[:, 1]
    noise = 0.02 * rng.standard_normal((n, 4))
    axes, around = noise.copy(), noise.copy()
    axes[:, 3] += hue / 4.5 - 1
    axes[:, 1] += tilt / 3.5 - 1
    angle, radius = 2 * np.pi * (hue + 0.5) / 10 - np.pi, 0.5 + tilt / 7
    around[:, 3] += radius * np.cos(angle)
    around[:, 1] += radius * np.sin(angle)
    return factors, axes, around


def test_axes_are_cartesian_and_a_disc_is_polar():
    factors, axes, around = layouts()
    found = polar_score(axes, factors, (0, 1))
    assert found.latents == (3, 1)
    assert found.cartesian > 1.9  # each axis knows its factor: 1 + 1 but for noise across the edges of bins
    assert found.score < -0.5
    found = polar_score(around, factors, (0, 1))
    assert set(found.latents) == {1, 3}
    assert found.polar > 1.9
    assert found.score > 0.5


def test_the_score_does_not_care_for_order_sign_or_other_latents():
    factors, _, around = layouts()
    usual = polar_score(around, factors, (0, 1))
    turned = polar_score(around[:, [1, 0, 3, 2]] * [1, 1, 1, 1], factors, (0, 1))
    assert turned.score == pytest.approx(usual.score, abs=0.05)
    # Radius as hue and angle as tilt is another question, and here the wrong one.
    assert polar_score(around, factors, (1, 0)).polar < 0.3


def test_wrong_pairs_and_counts_are_refused():
    factors, axes, _ = layouts(n=100)
    for pair in ((0, 0), (0, 3)):
        with pytest.raises(UsageError, match="two different columns"):
            polar_score(axes, factors, pair)
    with pytest.raises(UsageError, match="two or more"):
        polar_score(axes[:, :1], factors, (0, 1))
    assert best_and_worst([None] * 5, [0.3, 0.1, 0.5, 0.2, 0.4], 2) == ([2, 4], [1, 3])
    with pytest.raises(UsageError, match="half of the 5"):
        best_and_worst([None] * 5, [0.0] * 5, 3)


def test_planes_draws_the_best_and_worst_restarts(tmp_path, capsys):
    for seed in range(3):
        words = f"train beta-vae --data mini-sprites --net mlp:width=8 --latents 3 --steps 3 --seed {seed}"
        assert main([*words.split(), "--out", str(tmp_path / str(seed)), "--progress", "none"]) == 0
    runs = [str(tmp_path / str(seed)) for seed in range(3)]
    words = ["theory", "planes", *runs, "--factors", "x,y", "--out", str(tmp_path / "planes.png"), "--points", "300"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in rows] == ["best", "worst"]
    assert rows[0]["mig"] >= rows[1]["mig"]
    assert rows[0]["polar_score"] == pytest.approx(rows[0]["polar"] - rows[0]["cartesian"])
    assert (tmp_path / "planes.png").read_bytes()[:4] == b"\x89PNG"
    words[words.index("x,y")] = "x,hue"
    assert main(words) == 2
    assert "hue" in capsys.readouterr().err
