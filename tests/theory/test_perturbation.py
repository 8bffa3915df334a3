"""The manipulation with encoders that are known exactly, and its commands."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from unbraid import nets
from unbraid.cli.app import main
from unbraid.data import HadamardImages, Perturbed, PixelNoise, load, read_perturbation, unit_factors
from unbraid.errors import UsageError
from unbraid.metrics import mig
from unbraid.objectives import BetaVAE
from unbraid.theory import Codec, fit, noise_directions, pick_alignments, train_perturbation
from unbraid.training import open_run

NOISE = torch.tensor([0.05, 0.3])
TURN = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / 2**0.5


def codec(turn, seed):
    """Codes are the factors, turned or not, with little noise in the first and much in the second."""
    _, decoder = nets.build(
        "mlp:decoder=64+64,activation=tanh", (8, 8, 1), 2, heads=1, generator=torch.Generator().manual_seed(seed)
    )

    def sample(_, factors, samples, generator):
        codes = (factors @ turn).repeat(samples, 1)
        return codes + NOISE * torch.randn(codes.shape, generator=generator)

    return Codec(sample, decoder, lambda output, images: (output - images).square().sum((1, 2, 3)))


def game(steps, seed, **options):
    return train_perturbation(
        [codec(TURN, seed)],
        [codec(torch.eye(2), seed + 10)],
        HadamardImages(),
        epsilon=0.1,
        steps=steps,
        net="mlp:decoder=32+64+64,activation=tanh",
        width=32,
        learning_rate=1e-3,
        seed=seed,
        **{"warm_up": 5} | options,
    )


def favoured(found):
    """Direction among the factors, in degrees, that explains the one number best, and its correlation."""
    data = HadamardImages()
    factors = unit_factors(data.space, data.space.factors(np.arange(len(data))))
    scalar = found.perturbation.scalar(factors)
    angles = np.radians(np.arange(180))
    along = factors @ np.stack([np.cos(angles), np.sin(angles)])
    match = np.abs(np.corrcoef(scalar, along, rowvar=False)[0, 1:])
    return int(match.argmax()), float(match.max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_pattern_goes_where_only_entangled_codes_are_precise(seed):
    found = game(1000, seed, patience=100, warm_up=1000)
    gaps = dict(found.gaps)
    angle, match = favoured(found)
    # Decoders that have learned the images are equally good: the two kinds of codes have the same noise.
    assert -0.03 <= gaps[0] <= 0.01
    assert found.kept[1] >= 0.1
    assert 45 <= angle <= 75
    assert match > 0.9
    assert np.abs(found.perturbation.patterns).max() <= 25


@pytest.mark.slow
def test_fresh_vaes_are_entangled_by_a_trained_perturbation_more_than_by_noise():
    base = HadamardImages()
    made = game(1000, 0, patience=100, warm_up=1000).perturbation
    sets = {"original": base, "manipulated": Perturbed(base, made), "noise": PixelNoise(base, 0.1)}
    everything = np.arange(len(base))
    before = base.images(everything).astype(int)
    assert np.abs(sets["manipulated"].images(everything) - before).max() <= 25
    net = "mlp:encoder=64+64,decoder=64+64,activation=tanh"
    objective = BetaVAE(beta=0.1, latents=2, net=net, likelihood="gaussian", learning_rate=1e-3)
    score, distance = {}, {}
    for name, data in sets.items():
        runs = [fit(objective, data, steps=8000, polish=2000, seed=seed) for seed in range(4)]
        score[name] = np.mean([float(mig(found.codes, 20 * found.factors // 32)) for found in runs])
        distance[name] = np.mean([found.orthogonality.mean for found in runs])
    assert score["original"] > 0.65
    assert score["manipulated"] <= score["original"] - 0.3
    assert score["noise"] >= score["manipulated"] + 0.1
    assert distance["manipulated"] > distance["original"] + 0.08
    assert distance["noise"] < distance["original"] + 0.08


def test_the_same_seed_gives_the_same_pattern_and_the_game_ends_when_nothing_is_gained():
    first, second = (game(6, 0, batch_size=16, check_every=2) for _ in range(2))
    assert first.gaps == second.gaps
    assert np.array_equal(first.perturbation.patterns, second.perturbation.patterns)
    # The gap of untrained decoders says nothing and falls at first: with no patience that ends the game.
    assert game(50, 0, batch_size=16, check_every=1, patience=1).gaps[-1][0] < 50


def test_the_best_pattern_is_kept_and_not_the_last():
    # Play on past the best check: the same game that ends there must have left the same pattern.
    long = game(12, 1, batch_size=16, check_every=1, patience=100)
    step, gap = long.kept
    assert gap == max(gap for _, gap in long.gaps[1:])
    assert step < long.gaps[-1][0]
    short = game(step, 1, batch_size=16, check_every=1, patience=100)
    assert short.gaps == long.gaps[: step + 1]
    assert np.array_equal(short.perturbation.patterns, long.perturbation.patterns)
    assert not np.array_equal(
        game(12, 1, batch_size=16, check_every=12).perturbation.patterns, long.perturbation.patterns
    )


def test_noise_directions_of_turned_codes_follow_from_their_covariances():
    # Noise 0.05 and 0.3 along the axes against the same turned by 45 degrees: the difference of the covariances,
    # (0.09 - 0.0025) / 2 * [[-1, s], [s, 1]] with |s| = 1, has eigenvalues +-0.04375 * sqrt(2), at 67.5 degrees.
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(5000, 2))
    variances = np.tile([0.05**2, 0.3**2], (5000, 1))
    advantages, directions = noise_directions((factors @ TURN.numpy(), variances), (factors, variances), factors)
    assert advantages == pytest.approx([0.0619, -0.0619], abs=2e-4)
    angle = np.degrees(np.arctan2(directions[1, 0], directions[0, 0])) % 180
    assert angle == pytest.approx(67.5, abs=0.5)


def test_perturb_makes_a_data_set_that_trains_by_name(tmp_path, capsys):
    folder = tmp_path / "p"
    words = f"theory perturb --data mini-sprites --out {folder} --restarts 3 --net mlp:width=8 --steps 5"
    assert main(f"{words} --pattern-steps 2 --learning-rate 1e-3".split()) == 0
    assert "mean change" in capsys.readouterr().out
    assert (folder / "perturbation.png").read_bytes()[:4] == b"\x89PNG"
    record = read_perturbation(folder)[1]
    assert record["largest_change"] <= 0.1
    assert record["kept_step"] in (1, 2)
    assert record["base"] == {"name": "mini-sprites", "options": {}}
    assert len(record["mig"]) == 3
    scores = record["mig"]
    assert scores[record["entangled"][0]] <= scores[record["disentangled"][0]]
    name = f"perturbed:source={folder}"
    run = f"train beta-vae --data {name} --net mlp:width=8 --steps 2 --out {tmp_path / 'run'} --progress none --json"
    assert main([*run.split(), "--watch", "polarisation"]) == 0
    assert open_run(tmp_path / "run").data().perturbation.epsilon == 0.1
    assert main(words.split()) == 2
    assert "holds a perturbation" in capsys.readouterr().err
    runs = [open_run(folder / "restarts" / str(seed)) for seed in range(3)]
    with pytest.raises(UsageError, match="ensemble"):
        pick_alignments(runs, load("mini-sprites"), ensemble=2)


def test_perturb_takes_given_runs_and_wants_both_kinds(tmp_path, capsys):
    for seed in (0, 1):
        words = f"train beta-vae --data mini-sprites --net mlp:width=8 --steps 3 --seed {seed} --progress none"
        assert main([*words.split(), "--out", str(tmp_path / str(seed))]) == 0
    words = ["theory", "perturb", "--data", "mini-sprites", "--out", str(tmp_path / "p"), "--net", "mlp:width=8"]
    assert main([*words, "--entangled", str(tmp_path / "0")]) == 2
    assert "both" in capsys.readouterr().err
    both = ["--entangled", str(tmp_path / "0"), "--disentangled", str(tmp_path / "1"), "--pattern-steps", "1"]
    assert main([*words, *both, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entangled"] == [str(tmp_path / "0")]


def test_a_study_that_is_asked_to_stop_judges_no_half_trained_model(tmp_path):
    words = f"theory study manipulation --data mini-sprites --net mlp:width=8 --steps 100000 --out {tmp_path}"
    code = f"import sys; from unbraid.cli.app import main; sys.exit(main({words.split()!r}))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as study:
        while b"restart 1" not in study.stdout.readline():
            assert study.poll() is None
        first = tmp_path / "manipulation" / "mini-sprites" / "runs" / "beta-vae-original" / "0" / "run.json"
        while not first.exists():
            assert study.poll() is None
            time.sleep(0.1)
        time.sleep(1)
        study.terminate()
        assert study.wait(60) == 130
        assert b"restart 2" not in study.stdout.read()
    assert not list(tmp_path.glob("**/trials/*.json"))
