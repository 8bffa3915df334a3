"""Adversarial noise training: who serves whom, who is frozen when, restarts, and resuming."""

import shutil
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

import unbraid
from unbraid import nets
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.nets import NoiseGame, NoiseGenerator, NoiseHistory, project_l2
from unbraid.objectives import Classifier, augment
from unbraid.training import Hook, Loop, problem_of

PLAY = "every=3,restart_steps=2"


@nets.predictors.register("test-ant-normed")
def normed(shape, outputs):
    """A network with batch norm."""
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(shape[0] * shape[1] * shape[2]), nn.LazyLinear(outputs))


@dataclass(frozen=True)
class Watching(Classifier):
    """Keeps what it was given."""

    def losses(self, model, inputs, step, noise):
        if inputs.clean is not None and model.training:
            model.seen = inputs
        yield from super().losses(model, inputs, step, noise)


def loop_of(data, *augment, net="mlp:width=16", batch_size=10, kind=Watching, **options):
    objective = kind(factor="x", net=net, augment=augment, **options)
    model = objective.make_model(problem_of(data), torch.Generator().manual_seed(0))
    stream = make_stream("images", data, batch_size, 0)
    return Loop(objective, model.train(), stream, 0, torch.device("cpu"), "fp32")


def game(loop, place=0) -> NoiseGame:
    return loop.model.augment[str(place)]


def filled(count, size=5):
    history = NoiseHistory(NoiseGenerator(1), size)
    for seed in range(count):
        history.add(NoiseGenerator(1, generator=torch.Generator().manual_seed(seed)), 1.0 + seed)
    return history


@pytest.mark.parametrize(
    ("batch", "text", "kept", "sizes"),
    [
        (70, "ant", 5, [21, 7, 7]),
        (300, "ant", 5, [90, 30, 30]),
        (70, "ant", 0, [35]),
        (70, "ant", 1, [28, 7]),  # the unserved slice is the present generator's
        (70, "ant:replay=0", 5, [35]),
        (100, "ant:share=0.45", 5, [27, 9, 9]),  # beside 30 % stylised: still three to two
        (70, "ant:snapshots=somewhere", 5, [7] * 5),
        (70, "ant:snapshots=somewhere", 2, [7] * 5),
        (3, "ant", 5, [1, 1]),  # ends are rounded: 1.2, 1.6 and 2
    ],
)
def test_who_serves_how_many(batch, text, kept, sizes):
    entry, history = augment.make(text), filled(kept)
    n = round(batch * entry.share)
    served = list(entry._served(n, history, torch.Generator().manual_seed(0)))
    assert [end - begin for begin, end, _ in served] == sizes
    assert [begin for begin, _, _ in served] == [0, *(end for _, end, _ in served[:-1])]
    assert served[-1][1] == n
    rows = [row for *_, row in served if row is not None]
    assert len(set(rows)) == min(len(rows), kept)
    assert None in [row for *_, row in served] or entry.snapshots


def test_a_history_gives_back_the_generators_it_was_given_and_drops_the_oldest():
    history = filled(7)
    assert len(history) == 5
    budgets = sorted(history.weights(row)[1] for row in range(5))
    assert budgets == [3, 4, 5, 6, 7]
    sample = NoiseGenerator(1).sample((2, 1, 6, 6), torch.Generator().manual_seed(9), history.weights(1)[0])
    seventh = NoiseGenerator(1, generator=torch.Generator().manual_seed(6))
    own = seventh.sample((2, 1, 6, 6), torch.Generator().manual_seed(9))
    torch.testing.assert_close(sample, own)
    drawn = {tuple(sorted(history.draw(2, torch.Generator().manual_seed(seed)))) for seed in range(60)}
    assert len(drawn) == 10  # all pairs of five


def test_noise_has_its_norm_the_rest_is_clean_and_the_batch_is_not_touched(dots):
    loop = loop_of(dots, f"ant:eps=2,{PLAY}", batch_size=70)
    loop.advance()
    seen = loop.model.seen
    far = (seen.images - seen.clean).flatten(1).norm(dim=1)
    assert (far == 0).sum() == 35
    torch.testing.assert_close(far[far > 0], torch.full((35,), 2.0))
    assert torch.equal(seen.clean, loop.inputs(loop.stream(0)).images)


def test_each_player_moves_alone_and_the_game_leaves_batch_norm_as_it_was(dots):
    loop = loop_of(dots, f"ant:{PLAY}", net="test-ant-normed")
    loop._prepare()
    before = {name: value.clone() for name, value in loop.model.state_dict().items()}
    moved = {}
    for player, terms in loop._played(0):
        loop._update(player, terms.total)
        now = {name: value.clone() for name, value in loop.model.state_dict().items()}
        moved[player] = {name for name in now if not torch.equal(now[name], before[name])}
        before = now
    assert list(moved) == ["ant1x1", "model"]
    assert moved["ant1x1"]
    assert all(name.startswith("augment.0.generator.") for name in moved["ant1x1"])
    assert all(name.startswith("net.") for name in moved["model"])
    assert any("running_mean" in name for name in moved["model"])


def test_a_restart_keeps_the_generator_begins_a_new_one_and_touches_nothing_else(dots):
    loop = loop_of(dots, f"ant:{PLAY}", net="test-ant-normed")
    for _ in range(3):
        loop.advance()
    played = game(loop)
    assert len(played.history) == 0
    old = nn.utils.parameters_to_vector(played.generator.parameters()).detach().clone()
    rest = {k: v.clone() for k, v in loop.model.state_dict().items() if k.startswith("net.")}
    loop._prepare()
    assert len(played.history) == 1
    assert torch.equal(played.history.snapshots[0], old)
    assert played.history.budgets[0] == 5
    new = nn.utils.parameters_to_vector(played.generator.parameters()).detach()
    # From small weights anew, two steps of Adam at 5e-4 away.
    assert (new - old).abs().max() > 0.02
    assert new.abs().max() < 5 * 0.01 + 3 * 5e-4
    assert not loop.optimizers["ant1x1"].state
    assert all(torch.equal(loop.model.state_dict()[name], value) for name, value in rest.items())
    assert [entry.step for entry in played.restarts()] == [0, 3]
    assert all(entry.loss > 0 for entry in played.restarts())


def die(moment):
    raise RuntimeError(f"killed at step {moment.step}")


@pytest.mark.parametrize("saved", [2, 3, 4])
@pytest.mark.parametrize("kernel", [1, 3])
def test_a_run_that_was_killed_ends_with_the_same_bytes(dots, tmp_path, kernel, saved):
    # Checkpoints before, at and after the first restart; killed after the second one.
    def go(folder, steps=8, **more):
        objective = Classifier(factor="x", net="mlp:width=8", augment=(f"ant:kernel={kernel},{PLAY}",))
        return unbraid.train(
            objective, dots, out=tmp_path / folder, steps=steps, progress="none", log_every=2, batch_size=8,
            checkpoint_seconds=1e9, **more,
        )  # fmt: skip

    whole = go("whole")
    go("broken", saved)
    with pytest.raises(RuntimeError, match="killed"):
        go("broken", hooks=[Hook(die, every=7)])
    broken = go("broken")
    for name in ("checkpoint.safetensors", "history.csv"):
        assert (broken.path / name).read_bytes() == (whole.path / name).read_bytes(), name
    columns = {f"ant{kernel}x{kernel}/{name}" for name in ("gain", "unreached", "bright", "dark")}
    assert columns <= set(whole.history().columns)


def test_the_generator_learns_what_hurts_the_model(dots):
    loop = loop_of(dots, "ant:eps=2,restart_steps=30,restart_rate=0.02,every=25", kind=Classifier, learning_rate=0.01)
    for _ in range(25):
        loop.advance()
    loop._prepare()  # a new one
    scene = augment.Scene(loop.objective, loop.model.eval(), 0)
    inputs = loop.inputs(loop.stream(1000))

    def loss(generator):
        noise = torch.Generator().manual_seed(0)
        noisy = project_l2(inputs.images, generator.sample(inputs.images.shape, noise), 2.0)
        return scene.loss(replace(inputs, images=noisy), noise)

    assert loss(game(loop).generator) > loss(NoiseGenerator(1))


def test_two_generators_of_different_reach_play_side_by_side(dots):
    loop = loop_of(dots, f"ant:kernel=1,share=0.25,{PLAY}", f"ant:kernel=3,share=0.25,{PLAY}")
    loop.advance()
    assert set(loop.optimizers) == {"model", "ant1x1", "ant3x3"}
    assert game(loop, 1).generator.kernel == 3


def test_images_without_room_stay_clean_and_do_not_count(dots):
    # A dot of few pixels on black: noise below a norm of 14.0 is reached by what brightens, about half of 256 pixels.
    loop = loop_of(dots, f"ant:eps=11.5,min_room=1,share=1,{PLAY}", batch_size=40)
    loop.advance()
    seen = loop.model.seen
    far = (seen.images - seen.clean).flatten(1).norm(dim=1)
    assert ((far == 0) | ((far - 11.5).abs() < 0.02)).all()
    assert 0 < (far == 0).sum() < 40


def test_noise_of_a_finished_run_needs_that_run_only_to_begin(dots, tmp_path):
    def go(folder, steps, text, **more):
        objective = Classifier(factor="x", net="mlp:width=8", augment=(text,))
        out = tmp_path / folder
        return unbraid.train(objective, dots, out=out, steps=steps, progress="none", batch_size=10, **more)

    source = go("source", 7, f"ant:eps=2,{PLAY}")
    kept = source.model.augment["0"].history.snapshots[:2].clone()
    text = f"ant:snapshots={tmp_path / 'source'},keep=4"
    go("other", 7, f"ant:eps=1,keep=4,{PLAY}")
    after = go("after", 9, text, start=tmp_path / "other")  # its own generators are not those of the run it began from
    assert torch.equal(after.model.augment["0"].history.snapshots[:2], kept)
    run = go("random", 2, text)
    assert [name for name in run.history().columns if "/" in name] == []
    shutil.rmtree(tmp_path / "source")
    run = go("random", 4, text)
    history = run.model.augment["0"].history
    assert len(history) == 2
    assert torch.equal(history.snapshots[:2], kept)
    assert torch.equal(history.budgets[:2], torch.full((2,), 2.0))


def test_snapshots_of_another_make_are_refused(dots, tmp_path):
    objective = Classifier(factor="x", net="mlp:width=8", augment=(f"ant:{PLAY}",))
    unbraid.train(objective, dots, out=tmp_path / "short", steps=2, progress="none", batch_size=10)
    with pytest.raises(UsageError, match="holds no generators of the past"):
        loop_of(dots, f"ant:snapshots={tmp_path / 'short'}").advance()
    with pytest.raises(UsageError, match=r"no generators of 4101 weights \(found: 901\)"):
        loop_of(dots, f"ant:kernel=3,snapshots={tmp_path / 'short'}").advance()
    with pytest.raises(UsageError, match="finished run"):
        loop_of(dots, f"ant:snapshots={tmp_path / 'none'}").advance()


def test_fine_tuning_from_a_clean_run_wholly_and_in_part(dots, tmp_path):
    def go(folder, steps, *augment, **more):
        objective = Classifier(factor="x", net="mlp:width=8", augment=augment, **more.pop("options", {}))
        return unbraid.train(objective, dots, out=tmp_path / folder, steps=steps, progress="none", **more)

    clean = go("clean", 3)
    weights = clean.model.net[1].weight.clone()
    start = {"start": tmp_path / "clean"}
    # A budget that is used up already: what was there is what there is.
    assert torch.equal(go("whole", 3, f"ant:{PLAY}", **start).model.net[1].weight, weights)
    tuned = go("more", 5, f"ant:{PLAY}", **start)
    assert [entry.step for entry in tuned.model.augment["0"].restarts()] == [3]
    back = go("back", 5, start=tmp_path / "more")  # and without the generator again
    assert torch.equal(back.model.net[1].weight, tuned.model.net[1].weight)
    sgd = {"options": {"optimizer": "sgd"}}
    part = go("part", 1, f"ant:{PLAY}", parts=("net",), **start, **sgd)
    assert 0 < (part.model.net[1].weight - weights).abs().max() < 1e-2
    with pytest.raises(UsageError, match=r"another optimiser.*--parts net"):
        go("wrong", 5, f"ant:{PLAY}", **start, **sgd)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ant:kernel=2", "kernel must be 1 or 3, got 2"),
        ("ant:eps=0", "eps must be a positive number"),
        ("ant:rate=0", "rate must be a positive number"),
        ("ant:every=0", "every must be at least 1"),
        ("ant:replay=1.5", "replay and slice are parts of its share"),
        ("ant:min_room=2", "min_room is a part of eps"),
        ("ant:keep=0", "keep must be at least 1"),
    ],
)
def test_wrong_options_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        augment.make(text)


def test_a_norm_beyond_any_noise_is_refused(dots):
    # 256 pixels: no farther than 16.
    with pytest.raises(UsageError, match=r"eps = 17 cannot be reached: .* by more than 16; .*matching_eps"):
        loop_of(dots, f"ant:eps=17,{PLAY}").advance()
