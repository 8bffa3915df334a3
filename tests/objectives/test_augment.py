"""Augmentations: whose images, which noise, what stays clean, players of their own, resuming."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid import objectives
from unbraid.data import load, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import BetaVAE, Classifier, Inputs, Terms, augment
from unbraid.objectives.augment.batch import augmented, shares
from unbraid.training import Loop, problem_of, train_together

NAMES = augment.names()  # before those below are added
SHORT = {"ant": "every=3,restart_steps=2"}
"""Of what takes its time, options that do not."""


def text(name, share=0.5):
    return f"{name}:share={share}" + (f",{SHORT[name]}" if name in SHORT else "")


@augment.register("test-bright")
@dataclass(frozen=True)
class Bright(augment.Augmentation):
    """Adds a constant, so that it can be seen where it was."""

    by: float = 2.0

    def __call__(self, images, noise):
        return images + self.by


@augment.register("test-worst-shift")
@dataclass(frozen=True)
class WorstShift(augment.Augmentation):
    """Adds one learned number to all pixels: that which raises the model's loss."""

    def build(self, problem, generator):
        own = nn.Module()
        own.shift = nn.Parameter(torch.rand(1, generator=generator))
        return own

    def optimizers(self, module):
        return {"shift": torch.optim.SGD(module.parameters(), lr=0.1)}

    def losses(self, scene, inputs, noise):
        shifted = Inputs(inputs.images + scene.own.shift, factors=inputs.factors)
        loss = scene.objective.loss(scene.model, shifted, scene.step, noise).total
        yield "shift", Terms({"gain": -loss})

    def apply(self, scene, inputs, noise):
        assert len(inputs.images) == len(inputs.factors)
        return inputs.images + scene.own.shift


@dataclass(frozen=True)
class Watching(Classifier):
    """Keeps what it was given."""

    def losses(self, model, inputs, step, noise):
        model.seen = inputs
        yield from super().losses(model, inputs, step, noise)


CLASSIFIER = {"factor": "x", "net": "mlp:width=16"}


def seen(data, *augment, batch_size=10, steps=1, seed=0):
    objective = Watching(**CLASSIFIER, augment=augment)
    model = objective.make_model(problem_of(data), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, make_stream("images", data, batch_size, seed), seed, torch.device("cpu"), "fp32")
    for _ in range(steps):
        loop.advance()
    return loop, model.seen


@pytest.mark.parametrize(("n", "share", "changed"), [(10, 0.5, 5), (10, 0.25, 3), (7, 0.5, 4), (10, 1, 10), (10, 0, 0)])
def test_the_share_is_exact_to_rounding(dots, n, share, changed):
    _, inputs = seen(dots, f"test-bright:share={share}", batch_size=n)
    assert ((inputs.images - inputs.targets).flatten(1) != 0).all(1).sum() == changed
    assert ((inputs.images == inputs.targets).flatten(1).all(1)).sum() == n - changed


def test_which_images_follows_from_seed_and_step(dots):
    def chosen(steps):
        _, inputs = seen(dots, "test-bright", steps=steps)
        return tuple((inputs.images != inputs.targets).flatten(1).all(1).tolist())

    assert len({chosen(steps) for steps in (1, 2, 3)}) == 3
    assert chosen(2) == chosen(2)


def test_shares_lie_side_by_side_and_go_round():
    order = torch.arange(10)

    def rows(*parts):
        return [found.tolist() for found in shares([augment.Augmentation(share=part) for part in parts], order)]

    assert rows(0.3, 0.45) == [[0, 1, 2], [3, 4, 5, 6, 7]]
    assert rows(0.7, 0.7) == [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9, 0, 1, 2, 3]]
    assert rows(0.1, 0.2, 0.7) == [[0], [1, 2], [3, 4, 5, 6, 7, 8, 9]]
    thirds = shares([augment.Augmentation(share=1 / 3)] * 3, torch.arange(64))
    assert sorted(torch.cat(thirds).tolist()) == list(range(64))


def test_an_image_changed_twice_is_changed_in_order(dots):
    _, inputs = seen(dots, "test-bright:by=2,share=1", "gaussian-noise:sigma=0,share=1")
    assert (inputs.images == 1).all()  # brightened beyond 1, then clipped


def test_noise_is_normal_and_clipped():
    grey, noise = torch.full((200, 1, 32, 32), 0.5), torch.Generator().manual_seed(0)
    found = augment.make("gaussian-noise:sigma=0.1")(grey, noise) - 0.5
    # 204,800 draws: the standard error of the mean is 0.1 / 452, of the deviation 0.1 / 640.
    assert found.mean().item() == pytest.approx(0, abs=1e-3)
    assert found.std().item() == pytest.approx(0.1, abs=7e-4)
    assert (found.flatten(1).std(1) > 0.08).all()
    # Mean L2 norms of clipped noise on a black 28x28 image, by integration: 28 sqrt(E min(max(sigma n, 0), 1)^2).
    black = torch.zeros(2000, 1, 28, 28)
    for sigma, norm in ((0.08, 1.58), (0.26, 5.15), (0.5, 9.50)):
        noisy = augment.make(f"gaussian-noise:sigma={sigma}")(black, noise)
        assert noisy.min() == 0
        assert noisy.max() <= 1
        assert noisy.flatten(1).norm(dim=1).mean().item() == pytest.approx(norm, rel=5e-3)


def test_noise_on_vectors_is_not_clipped():
    # The spheres have radii 1 and 10 around zero: half of all coordinates are negative.
    vectors = torch.as_tensor(load("spheres:images=64").images(np.arange(64)))
    quiet = augment.make("gaussian-noise:sigma=0")(vectors, torch.Generator())
    torch.testing.assert_close(quiet, vectors)
    found = augment.make("gaussian-noise:sigma=0.1")(vectors, torch.Generator().manual_seed(0)) - vectors
    # 6,400 draws: the standard error of the deviation is 0.1 / 113.
    assert found.std().item() == pytest.approx(0.1, abs=4e-3)


def test_the_second_image_of_a_pair_comes_with_what_is_known_of_it():
    given = []

    @dataclass(frozen=True)
    class Witness(augment.Augmentation):
        def apply(self, scene, inputs, noise):
            given.append(inputs)
            return inputs.images + 1

    class Idle(objectives.Objective):
        def losses(self, model, inputs, step, noise):
            yield from ()

    rows = torch.arange(4.0)
    inputs = Inputs(
        rows.reshape(4, 1, 1, 1),
        partners=10 + rows.reshape(4, 1, 1, 1),
        labels=rows.long(),
        factors=rows.long()[:, None],
        index=rows.long(),
        partner_factors=10 + rows.long()[:, None],
    )
    list(augmented(Idle(), [Witness(share=1)], nn.Module(), inputs, 0, torch.Generator()))
    first, second = given
    assert (first.clean == first.images).all()
    assert (first.images.flatten() == first.factors.flatten()).all()
    assert (first.images.flatten() == first.labels).all()
    assert (second.clean == second.images).all()
    assert (second.images.flatten() == second.factors.flatten()).all()
    assert second.images.min() >= 10
    assert (second.partner_factors.flatten() == second.clean_partners.flatten()).all()
    assert second.labels is None
    assert second.index is None


def test_both_images_of_a_pair_are_changed_and_the_clean_ones_asked_for(dots):
    objective = objectives.make("slow-vae", {"net": "mlp:width=16", "latents": 2, "augment": ["test-bright:share=0.5"]})
    found = {}

    class Spy(type(objective)):
        def losses(self, model, inputs, step, noise):
            found["inputs"] = inputs
            yield from super().losses(model, inputs, step, noise)

    spy = Spy(**objectives.options_of(objective))
    model = spy.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    Loop(spy, model, make_stream(spy.needs, dots, 8, 0), 0, torch.device("cpu"), "fp32").advance()
    inputs = found["inputs"]
    for now, before in ((inputs.images, inputs.clean), (inputs.partners, inputs.clean_partners)):
        torch.testing.assert_close((now - before).amax((1, 2, 3)).sort().values, torch.tensor([0.0] * 4 + [2.0] * 4))
    assert ((inputs.images - inputs.clean) == (inputs.partners - inputs.clean_partners)).all()


def test_a_vae_is_asked_for_the_clean_image():
    objective = BetaVAE(net="mlp:width=8", latents=2, likelihood="gaussian")
    model = objective.build(objectives.Problem((8, 8, 1), 10), torch.Generator().manual_seed(0))
    images, clean = torch.rand(2, 4, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    noise = torch.Generator()
    terms = objective.loss(model, Inputs(images, clean=clean), 0, noise.manual_seed(3))
    posterior = objective.posterior(model, images)
    output = model.decoder(posterior.sample(generator=noise.manual_seed(3)))
    torch.testing.assert_close(terms.terms["reconstruction"], (output - clean).square().sum((1, 2, 3)).mean())


@pytest.mark.parametrize("augmentation", [*map(text, NAMES), "test-worst-shift:share=0.5"])
@pytest.mark.parametrize("name", ["classifier", "beta-vae"])
def test_resuming_ends_with_the_same_bytes(name, augmentation, dots, tmp_path):
    options = CLASSIFIER if name == "classifier" else {"net": "mlp:width=16", "latents": 2}

    def go(folder, steps):
        objective = objectives.make(name, {**options, "augment": [augmentation]})
        unbraid.train(objective, dots, out=tmp_path / folder, steps=steps, progress="none", log_every=2, batch_size=8)

    go("parts", 3)
    go("parts", 7)
    go("whole", 7)
    for file in ("checkpoint.safetensors", "history.csv"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_augmentation_changes_its_share_and_keeps_shape_and_range(name, dots):
    _, inputs = seen(dots, text(name, 0.25), batch_size=8)
    assert inputs.images.shape == inputs.clean.shape
    assert inputs.images.dtype == inputs.clean.dtype
    assert inputs.images.min() >= 0
    assert inputs.images.max() <= 1
    assert 1 <= (inputs.images != inputs.clean).flatten(1).any(1).sum() <= 2
    _, inputs = seen(dots, text(name, 0), batch_size=8)
    assert torch.equal(inputs.images, inputs.clean)


@pytest.mark.parametrize("name", NAMES)
def test_every_augmentation_takes_vectors_as_they_are_or_refuses_them(name):
    spheres = load("spheres:d=20,images=64")  # coordinates on both sides of zero, beyond 1
    objective = Watching(net="mlp:width=8", augment=(f"{name}:share=0.5",))
    try:
        model = objective.make_model(problem_of(spheres), torch.Generator().manual_seed(0))
        Loop(objective, model, make_stream("images", spheres, 16, 0), 0, torch.device("cpu"), "fp32").advance()
    except UsageError as error:
        assert "vectors" in str(error)  # noqa: PT017
        return
    inputs = model.seen
    assert inputs.images.shape == inputs.clean.shape == (16, 20)
    changed = (inputs.images != inputs.clean).any(1)
    assert 1 <= changed.sum() <= 8
    # Clipped to the range of images, nothing would be negative any more.
    assert (inputs.images[changed] < 0).any(1).all()


def test_an_augmentation_with_a_player_learns_beside_the_model(dots, tmp_path):
    objective = Classifier(**CLASSIFIER, augment=("test-worst-shift:share=0.5",))
    run = unbraid.train(objective, dots, out=tmp_path / "run", steps=2, progress="none", log_every=1)
    assert {"loss", "accuracy", "shift/loss", "shift/gain"} <= set(run.history().columns)
    start = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    assert "augment.0.shift" in run.model.state_dict()
    # It moved, by its own optimiser only: the first step is learning rate times gradient, which raises the loss.
    loop, _ = seen(dots, "test-worst-shift")
    before = start.get_parameter("augment.0.shift").item()
    after = loop.model.get_parameter("augment.0.shift").item()
    assert after != before
    players = {id(p): name for name, ps in loop.players.items() for p in ps}
    assert players[id(loop.model.get_parameter("augment.0.shift"))] == "shift"
    assert sorted(set(players.values())) == ["model", "shift"]
    inputs = Inputs(loop.model.seen.clean, factors=loop.model.seen.factors)

    def loss(shift):
        shifted = Inputs(inputs.images + shift, factors=inputs.factors)
        return loop.objective.loss(start, shifted, 0, torch.Generator()).total.item()

    assert loss(after) > loss(before)


def test_without_augmentations_nothing_is_drawn(dots):
    # So that runs made before there were augmentations go on as they were.
    objective = objectives.make("beta-vae", {"net": "mlp:width=16", "latents": 2})
    model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    inputs, noise = Inputs(torch.rand(4, 1, 16, 16)), torch.Generator()
    ((_, played),) = objective.play(model, inputs, 0, noise.manual_seed(5))
    ((_, plain),) = objective.losses(model, inputs, 0, noise.manual_seed(5))
    assert torch.equal(played.total, plain.total)


def test_models_with_augmentations_train_one_by_one(dots, tmp_path):
    objective = objectives.make("vae", {"net": "mlp:width=8", "latents": 2, "augment": ["gaussian-noise"]})
    with pytest.raises(UsageError, match="cannot be stacked"):
        train_together(objective, dots, outs=[tmp_path / "a"], seeds=[0], steps=1, way="stacked")


def test_a_run_resumed_with_other_augmentations_is_refused(dots, tmp_path):
    options = {"net": "mlp:width=8", "latents": 2}
    unbraid.train(objectives.make("vae", options), dots, steps=1, out=tmp_path, progress="none")
    changed = objectives.make("vae", {**options, "augment": ["gaussian-noise"]})
    with pytest.raises(UsageError, match="augment"):
        unbraid.train(changed, dots, steps=2, out=tmp_path, progress="none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gausian-noise", "unknown augmentation 'gausian-noise'; did you mean 'gaussian-noise'"),
        ("gaussian-noise:strength=1", "unknown option of augmentation 'gaussian-noise': 'strength'"),
        ("gaussian-noise:share=1.5", "share must lie between 0 and 1, got 1.5"),
        ("gaussian-noise:sigma=-1", "sigma must be a number that is not negative, got -1"),
    ],
)
def test_wrong_augmentations_are_refused_before_training(text, message, dots, tmp_path):
    with pytest.raises(UsageError, match=message):
        unbraid.train(Classifier(**CLASSIFIER, augment=(text,)), dots, steps=1, out=tmp_path, progress="none")


def test_the_command_takes_a_list(tmp_path):
    from unbraid.cli.app import main

    words = [
        "train",
        "classifier",
        "--data",
        "mini-sprites",
        "--factor",
        "shape",
        "--net",
        "mlp:width=8",
        "--steps",
        "2",
    ]
    words += ["--augment", "gaussian-noise:sigma=0.1,share=0.25", "gaussian-noise:sigma=0.4,share=0.25"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert unbraid.open_run(tmp_path / "run").objective.augment == tuple(words[-2:])
    # The option may also come again.
    again = [*words[:-2], words[-2], "--seed", "0", f"--augment={words[-1]}"]
    assert main([*again, "--out", str(tmp_path / "again")]) == 0
    assert unbraid.open_run(tmp_path / "again").objective.augment == tuple(words[-2:])


def test_a_single_word_is_no_list_of_augmentations(dots, tmp_path):
    objective = Classifier(**CLASSIFIER, augment="gaussian-noise")
    with pytest.raises(UsageError, match="augment must be a list of augmentations, got 'gaussian-noise'"):
        unbraid.train(objective, dots, steps=1, out=tmp_path, progress="none")


def test_what_changes_the_shape_is_refused(dots):
    @augment.register("test-crop")
    @dataclass(frozen=True)
    class Crop(augment.Augmentation):
        def __call__(self, images, noise):
            return images[..., 1:]

    with pytest.raises(UsageError, match=r"must keep the shape of its images, \[5, 1, 16, 16\]"):
        seen(dots, "test-crop")


def test_a_batch_stays_as_the_stream_made_it(dots):
    loop, _ = seen(dots, "test-bright:share=1")
    before = loop.stream(0).images.copy()
    inputs = loop.inputs(loop.stream(0))
    list(loop.objective.play(loop.model, inputs, 0, torch.Generator()))
    np.testing.assert_array_equal(inputs.images.numpy()[:, 0] * 255, before[..., 0])
