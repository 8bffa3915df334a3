"""The training loop: budgets, refusals, divergence, games, hooks."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.data import Batch, from_arrays, load
from unbraid.errors import UsageError
from unbraid.objectives import AE, VAE, BetaVAE, Objective, SlowVAE, Terms, register
from unbraid.training import Diverged, Hook, open_run

SMALL = {"net": "mlp:width=32", "latents": 3}


def train(dots, out, objective=None, **options):
    options = {"steps": 60, "progress": "none", "log_every": 20} | options
    return unbraid.train(objective or BetaVAE(beta=1.0, **SMALL), dots, out=out, **options)


def weights(run):
    return {name: value.clone() for name, value in run.model.state_dict().items()}


def test_the_same_seed_gives_the_same_bytes_whatever_is_shown_or_logged(dots, tmp_path, capsys):
    first = train(dots, tmp_path / "a")
    second = train(dots, tmp_path / "b", progress="lines", track="tensorboard", checkpoint_seconds=0.0)
    other = train(dots, tmp_path / "c", seed=1)
    for name in ("checkpoint.safetensors", "history.csv"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
        assert (first.path / name).read_bytes() != (other.path / name).read_bytes()
    assert "steps/s" in capsys.readouterr().err
    assert list((tmp_path / "b" / "tensorboard").iterdir())


def test_global_random_state_neither_matters_nor_changes(dots, tmp_path):
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = train(dots, tmp_path / "a")
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    torch.manual_seed(2)
    second = train(dots, tmp_path / "b")
    assert (first.path / "history.csv").read_bytes() == (second.path / "history.csv").read_bytes()


def test_history_holds_the_mean_of_every_interval(dots, tmp_path):
    fine = train(dots, tmp_path / "fine", log_every=1).history()
    coarse = train(dots, tmp_path / "coarse", log_every=20).history()
    assert coarse["step"].to_list() == [20, 40, 60]
    for name in ("loss", "reconstruction", "penalty", "kl"):
        expected = fine[name].to_numpy().reshape(3, 20).mean(axis=1)
        np.testing.assert_allclose(coarse[name].to_numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(fine["loss"], fine["reconstruction"] + fine["penalty"], rtol=1e-6)


def test_a_larger_budget_extends_a_run_as_if_it_had_been_asked_for_at_once(dots, tmp_path):
    train(dots, tmp_path / "a", steps=40)
    extended = train(dots, tmp_path / "a", steps=80)
    whole = train(dots, tmp_path / "b", steps=80)
    assert (extended.path / "checkpoint.safetensors").read_bytes() == (
        whole.path / "checkpoint.safetensors"
    ).read_bytes()
    assert train(dots, tmp_path / "a", steps=80).info["step"] == 80


def test_a_time_budget_ends_a_run(dots, tmp_path):
    run = train(dots, tmp_path / "a", steps=None, minutes=0.01)
    assert run.finished
    assert run.info["step"] > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed = 0, now asked for 1"),
        ({"batch_size": 8}, "batch_size = 64"),
        ({"objective": BetaVAE(beta=2.0, **SMALL)}, r"objective.options.beta = 1.0, now asked for 2.0"),
        ({"objective": VAE(**SMALL)}, "objective.name = 'beta-vae'"),
    ],
)
def test_a_folder_with_another_run_is_refused(dots, tmp_path, change, words):
    train(dots, tmp_path / "a", steps=5)
    with pytest.raises(UsageError, match=words):
        train(dots, tmp_path / "a", steps=5, **change)
    assert train(dots, tmp_path / "a", steps=5, fresh=True, **change).finished


def test_other_images_of_the_same_shape_are_refused(dots, tmp_path):
    images = dots.images(np.arange(144))
    train(from_arrays(images), tmp_path / "a", steps=5)
    with pytest.raises(UsageError, match="fingerprint"):
        train(from_arrays(255 - images), tmp_path / "a", steps=5)


def test_images_that_moved_are_the_same_images(dots, tmp_path):
    for name in ("old.npz", "new.npz"):
        np.savez(tmp_path / name, images=dots.images(np.arange(144)))
    train(load(str(tmp_path / "old.npz")), tmp_path / "a", steps=5)
    (tmp_path / "old.npz").unlink()
    with pytest.raises(UsageError, match=r"old.npz.*pass it yourself"):
        open_run(tmp_path / "a").data()
    moved = train(load(str(tmp_path / "new.npz")), tmp_path / "a", steps=10)
    assert moved.info["step"] == 10
    assert len(moved.data()) == 144


def test_starting_anew_leaves_no_picture_of_the_earlier_run(dots, tmp_path):
    train(dots, tmp_path / "a", steps=5)
    for name in ("scores.json", "factors.png", "traversal.png", "traversal.gif", "notes.txt"):
        (tmp_path / "a" / name).write_text("old")
    train(dots, tmp_path / "a", steps=5, seed=1, fresh=True)
    found = {path.name for path in (tmp_path / "a").iterdir()}
    assert found == {".lock", "run.json", "checkpoint.safetensors", "history.csv", "evaluations.csv", "notes.txt"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": "a"}, "cannot start from itself"),
        ({"start": "nowhere"}, "cannot start from nowhere"),
        ({"start": "donor", "parts": ("nonsense",)}, "unknown part"),
        ({"objective": BetaVAE(augment=("nonsense",), **SMALL)}, "unknown augmentation 'nonsense'"),
        ({"objective": SlowVAE(**SMALL)}, "factors"),  # there are no pairs of these images
    ],
)
def test_starting_anew_in_vain_leaves_the_earlier_run_as_it_was(dots, tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    plain = from_arrays(dots.images(np.arange(144)))
    train(plain, "donor", steps=5)
    run = train(plain, "a", steps=5)
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    with pytest.raises(UsageError, match=words):
        train(plain, "a", steps=5, fresh=True, **change)
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before


def test_starting_anew_may_begin_from_another_run(dots, tmp_path):
    donor = train(dots, tmp_path / "donor", steps=20)
    train(dots, tmp_path / "a", steps=5)
    anew = train(dots, tmp_path / "a", steps=10, fresh=True, start=donor.path)
    assert anew.info["step"] == anew.info["start"]["step"] == 20  # not those of the run that was there


def test_a_folder_with_strange_files_is_left_alone(dots, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"not empty \(thesis.tex"):
        train(dots, tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_an_unwritable_place_fails_before_training(dots, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose another folder"):
        train(dots, tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "steps must be positive"),
        ({"seed": -1}, "seed must lie in 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"progress": "bars"}, "did you mean 'bar'"),
        ({"device": "cpuu"}, "device"),
        ({"seed": 2**64}, "seed must lie in 0"),
    ],
)
def test_wrong_options_are_named(dots, tmp_path, options, words):
    with pytest.raises(UsageError, match=words):
        train(dots, tmp_path / "a", **options)


def test_wrong_names_suggest_the_right_ones(dots, tmp_path):
    with pytest.raises(UsageError, match="did you mean 'beta-vae'"):
        unbraid.train("beta-va", dots, steps=1, out=tmp_path / "a")
    with pytest.raises(UsageError, match="did you mean 'conv'"):
        train(dots, tmp_path / "b", BetaVAE(net="cnv"))


def test_a_hook_needs_a_step_to_be_called_at():
    with pytest.raises(UsageError, match="every must be at least 1"):
        Hook(dict, every=0)


@register("test-poisoned")
@dataclass(frozen=True)
class Poisoned(AE):
    """An autoencoder whose loss goes wrong at a step."""

    at: int = 30
    how: str = "nan"

    def loss(self, model, inputs, step, noise):
        found = super().loss(model, inputs, step, noise).terms["reconstruction"]
        factor = {"nan": float("nan"), "inf": float("inf"), "big": 1e9}[self.how] if step == self.at else 1.0
        return Terms({"reconstruction": found, "poison": factor * found.detach()})


@pytest.mark.parametrize(
    ("how", "words"), [("nan", "'poison' is nan"), ("inf", "'poison' is inf"), ("big", "exploded")]
)
def test_a_bad_loss_stops_with_step_term_and_hint_and_keeps_the_last_good_checkpoint(dots, tmp_path, how, words):
    objective = Poisoned(how=how, **SMALL)
    with pytest.raises(Diverged, match=f"{words}.* at step 30|{words} at step 30.*poison.*learning-rate"):
        train(dots, tmp_path / "a", objective, checkpoint_seconds=0.0)
    run = open_run(tmp_path / "a")
    assert run.info["status"] == "failed"
    assert "step 30" in run.info["error"]
    assert run.info["step"] == 30
    clean = train(dots, tmp_path / "b", Poisoned(at=1000, **SMALL), steps=30)
    for name, value in weights(run).items():
        assert torch.equal(value, clean.model.state_dict()[name])


@register("test-bad-gradient")
@dataclass(frozen=True)
class BadGradient(AE):
    """A finite loss with a gradient that is none: sqrt at zero."""

    def loss(self, model, inputs, step, noise):
        terms = super().loss(model, inputs, step, noise).terms
        weight = next(model.parameters())
        return Terms({**terms, "corner": (weight - weight.detach()).sum().sqrt() if step == 30 else weight.sum() * 0})


def test_weights_that_are_no_numbers_never_become_a_checkpoint(dots, tmp_path):
    with pytest.raises(Diverged, match="not finite after step 31"):
        train(dots, tmp_path / "a", BadGradient(**SMALL), checkpoint_seconds=0.0)
    assert all(torch.isfinite(value).all() for value in weights(open_run(tmp_path / "a")).values())


@register("test-game")
@dataclass(frozen=True)
class Game(Objective):
    """min over x, max over y of x*y + x^2/2 - y^2/2, each with its own plain gradient steps."""

    def build(self, problem, generator):
        model = nn.Module()
        model.x, model.y = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(-2.0))
        return model

    def optimizers(self, model):
        return {"x": torch.optim.SGD([model.x], lr=0.1), "y": torch.optim.SGD([model.y], lr=0.2, momentum=0.5)}

    def losses(self, model, inputs, step, noise):
        yield "x", Terms({"value": model.x * model.y + model.x**2 / 2 - model.y**2 / 2})
        yield "y", Terms({"value": -(model.x * model.y + model.x**2 / 2 - model.y**2 / 2)})


def test_two_players_move_in_turn_and_only_their_own_parameters(dots, tmp_path):
    x, y, speed = 1.0, -2.0, 0.0
    for _ in range(20):
        x -= 0.1 * (y + x)  # the first player moves ...
        speed = 0.5 * speed + -(x - y)  # ... and the second one sees where it went
        y -= 0.2 * speed
    run = train(dots, tmp_path / "a", Game(), steps=12)
    run = train(dots, tmp_path / "a", Game(), steps=20)  # momentum survives the stop
    assert run.model.x.item() == pytest.approx(x, rel=1e-5)
    assert run.model.y.item() == pytest.approx(y, rel=1e-5)
    assert run.history().columns == ["step", "loss", "value", "y/loss", "y/value"]


def test_an_own_stream_takes_the_place_of_the_usual_one(dots, tmp_path):
    seen = []

    def stream(step):
        seen.append(step)
        return Batch(dots.images(np.array([step])))

    train(dots, tmp_path / "a", steps=3, stream=stream)
    assert seen == [0, 1, 2]


def test_hooks_record_what_they_measure_and_leave_training_alone(dots, tmp_path):
    def norm(moment):
        assert not moment.model.training
        return {"norm": sum(p.square().sum().item() for p in moment.model.parameters()), "step": moment.step}

    hooked = train(dots, tmp_path / "a", hooks=[Hook(norm, every=25)])
    plain = train(dots, tmp_path / "b")
    table = hooked.evaluations()
    assert table["step"].to_list() == [25, 25, 50, 50]
    assert table["name"].to_list() == ["norm", "step"] * 2
    assert torch.equal(*(torch.cat([p.flatten() for p in run.model.parameters()]) for run in (hooked, plain)))


def test_training_lowers_the_loss_and_reconstructs(dots, tmp_path):
    run = train(dots, tmp_path / "a", BetaVAE(beta=0.1, learning_rate=3e-3, **SMALL), steps=1500)
    images = dots.images(np.arange(144))
    decoded = run.decode(run.encode(images))
    assert np.abs(decoded.astype(float) - images).mean() < 6  # of 255; a black image has 14.9


def test_arrays_and_broken_step_counts_are_refused(dots, tmp_path):
    with pytest.raises(UsageError, match=r"got ndarray; own arrays become one by unbraid.data.from_arrays"):
        unbraid.train("vae", np.zeros((4, 8, 8, 1), np.uint8), steps=2, out=tmp_path)
    with pytest.raises(UsageError, match=r"steps must be a whole number, got 5.5"):
        unbraid.train("vae", dots, steps=5.5, out=tmp_path)
