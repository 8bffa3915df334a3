"""Trained models against the published order of splits and ways of failing: minutes each, apart from the quick tests.

Sprites are averaged to 32 x 32 and the CNN has a layer less, so that 2,500 steps are enough to see the published
directions on one core. Every model is trained once, whatever number of tests look at it.
"""

import sys
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

import unbraid
from unbraid.data import FactorDataset, load, split
from unbraid.generalization import RECIPES, evaluate, similarity
from unbraid.nets import predictors

pytestmark = pytest.mark.slow

SEEDS = (0,)
"""Limits leave room around one run of each model; add seeds here to see how much of it luck takes."""
MLP = "mlp:layers=90+90+90+90+45+22"


@pytest.fixture(scope="module", autouse=True)
def short_cnn():
    """The CNN of the paper without the halving that 32 x 32 images do not have, and half as wide before its end."""
    from torch import nn

    if "short-cnn" in predictors.names():
        return

    @predictors.register("short-cnn")
    def short(shape: tuple[int, ...], outputs: int) -> nn.Module:
        """The CNN with fewer layers, for 32 x 32 pixels."""
        widths = (shape[2], 32, 32, 64)
        halvings = [part for a, b in pairwise(widths) for part in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
        return nn.Sequential(*halvings, nn.Conv2d(64, 128, 4), nn.ReLU(), nn.Flatten(), nn.Linear(128, outputs))


class Averaged(FactorDataset):
    """dSprites with a quarter of the orientations, each 2 x 2 pixels averaged to one."""

    name, shape = "averaged-sprites", (32, 32, 1)

    def __init__(self):
        self.sharp = load("dsprites-90")
        self.space = self.sharp.space

    def images(self, index, rng=None):
        sharp = self.sharp.images(index).reshape(-1, 32, 2, 32, 2).astype(np.float32)
        return np.rint(sharp.mean(axis=(2, 4))).astype(np.uint8)[..., None]


@pytest.fixture(scope="module")
def sprites():
    return Averaged()


@pytest.fixture(scope="module")
def asked(sprites, tmp_path_factory):
    """What a network says of 8,000 test images of a split, trained once for all tests."""
    return asker(sprites, tmp_path_factory.mktemp("sprites"))


def asker(sprites, folder):
    """The function behind ``asked``, with its runs in a folder."""

    @cache
    def answers(net, kind, seed, steps=2500):
        halves, out = split(sprites, kind), folder / f"{net.partition(':')[0]}-{kind}-{seed}-{steps}"
        run = unbraid.train(
            "regressor", halves.train, out=out, net=net, steps=steps, batch_size=64, learning_rate=5e-4, seed=seed,
            progress="none",
        )  # fmt: skip
        found = evaluate(run, sprites, halves, images=8000, train_images=500)
        print(f"{net}, {kind}, seed {seed}, {steps} steps: R2 {found.scores.mean:.3f}", file=sys.stderr)
        return found

    return answers


@pytest.mark.parametrize("seed", SEEDS)
def test_composition_is_hardest_and_interpolation_as_easy_as_random_on_sprites(asked, seed):
    # Published for the CNN with 500,000 steps: 100 / 99.7 / 78.4 / 53.3; measured, seed 0: 92.6 / 94.7 / 54.7 / 3.9.
    kinds = ("random", "interpolation", "extrapolation", "composition")
    random, interpolation, extrapolation, composition = (asked("short-cnn", kind, seed).scores.mean for kind in kinds)
    assert random >= 0.85
    assert interpolation >= 0.85
    assert abs(interpolation - random) <= 0.07
    assert extrapolation <= random - 0.2
    assert composition <= random - 0.3
    assert composition < extrapolation


@pytest.mark.parametrize("seed", SEEDS)
def test_the_unseen_factor_is_lost_and_drawn_towards_the_mean(asked, seed):
    found = asked("short-cnn", "extrapolation", seed)
    table = found.modularity()
    print(table, file=sys.stderr)
    # Measured with seed 0: 0.77 and 0.40, the latter since orientation has -0.77.
    assert table["id"].mean() > table["ood"].mean()
    assert (found.towards_mean()["share"] <= 1).mean() >= 0.8


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cnn_interpolates_better_than_the_mlp(asked, seed):
    # Published: 99.7 and 76.7; measured with seed 0: 94.7 and 64.2.
    cnn, mlp = (asked(net, "interpolation", seed).scores.mean for net in ("short-cnn", MLP))
    assert cnn >= mlp + 0.1


def test_models_fail_alike_and_unlike_the_truth(asked, sprites):
    trained = {"CNN": ("short-cnn", 0), "another CNN": ("short-cnn", 1), "MLP": (MLP, 0)}
    found = {name: asked(net, "extrapolation", seed, 1200) for name, (net, seed) in trained.items()}
    truth, unseen = found["CNN"].test.factors, split(sprites, "extrapolation").unseen
    assert all(np.array_equal(answers.test.factors, truth) for answers in found.values())
    said = {name: [answers.test.predicted] for name, answers in found.items()}
    table = similarity(said, truth, sprites.space, unseen)
    pooled = {(first, second): value for first, second, value in table.select("first", "second", "pooled").rows()}
    print(pooled, file=sys.stderr)
    # Measured: 0.85 of two CNNs, 0.60 and 0.49 with the MLP; with the truth 0.11, 0.15 and -0.09.
    assert pooled["CNN", "another CNN"] >= 0.7
    assert pooled["CNN", "MLP"] >= 0.3
    between = [pooled[pair] for pair in combinations(trained, 2)]
    assert max(pooled[name, "truth"] for name in trained) < min(between)


def test_rooms_are_lost_in_extrapolation_alone(tmp_path):
    # Published for the CNN on Shapes3D with 500,000 steps: composition 100, interpolation 97.3, extrapolation 48.9. The
    # limits are what that lets expect of 2,500 steps on the rooms. Measured: 99.6, 97.5 and 72.7.
    rooms, recipe, found = load("rooms3d"), RECIPES["cpu"], {}
    how = recipe.of("cnn")
    for kind in ("composition", "interpolation", "extrapolation"):
        halves = split(rooms, kind)
        run = unbraid.train(
            "regressor", halves.train, out=tmp_path / kind, net="cnn", steps=how.steps, batch_size=how.batch_size,
            learning_rate=how.learning_rate, progress="none",
        )  # fmt: skip
        found[kind] = evaluate(run, rooms, halves, images=recipe.test_images, train_images=500).scores.mean
    print(found, file=sys.stderr)
    assert min(found["composition"], found["interpolation"]) >= 0.8
    assert found["extrapolation"] <= min(found["composition"], found["interpolation"]) - 0.2
