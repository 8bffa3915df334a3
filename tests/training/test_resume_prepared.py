"""Terms that come late, schedules and restarts: a run that broke off ends with the bytes of one that did not."""

import math
from dataclasses import dataclass

import polars as pl
import pytest
import torch

import unbraid
from unbraid.errors import UsageError
from unbraid.objectives import AE, Terms, VAEObjective, register
from unbraid.training import Hook
from unbraid.training.history import Table, extent_of_bytes, read_table

SMALL = {"net": "mlp:width=8", "latents": 3}
STEPS = 50


@register("test-late")
@dataclass(frozen=True)
class Late(AE):
    """An autoencoder with a term that comes half-way, and one that goes."""

    def loss(self, model, inputs, step, noise):
        terms = super().loss(model, inputs, step, noise)
        late = {"late": 0.5 * terms.total} if step >= 20 else {}
        return Terms({**terms.terms, **late}, {"early": terms.total} if step < 7 else {})


@register("test-schedule")
@dataclass(frozen=True)
class Schedule(AE):
    """A learning rate that falls by a cosine."""

    def prepare(self, model, optimizers, step):
        for group in optimizers["model"].param_groups:
            group["lr"] = 1e-2 * 0.5 * (1 + math.cos(math.pi * step / STEPS))


@register("test-restart")
@dataclass(frozen=True)
class Restart(AE):
    """An autoencoder whose decoder begins anew at step 20, optimiser and all, and which keeps what it was before."""

    def build(self, problem, generator):
        model = super().build(problem, generator)
        model.register_buffer("before", torch.zeros_like(model.decoder[0].weight))
        return model

    def prepare(self, model, optimizers, step):
        if step == 20:
            model.before.copy_(model.decoder[0].weight.detach())
            generator = torch.Generator().manual_seed(step)
            with torch.no_grad():
                for weights in model.decoder.parameters():
                    weights.copy_(0.1 * torch.randn(weights.shape, generator=generator))
            optimizers["model"].state.clear()


def train(dots, out, objective, steps=STEPS, **options):
    return unbraid.train(
        objective, dots, steps=steps, out=out, log_every=5, progress="none", checkpoint_seconds=1e9, **options
    )


def die(moment):
    raise RuntimeError(f"killed at step {moment.step}")


@pytest.mark.parametrize("saved", [3, 15, 20, 22])
@pytest.mark.parametrize("kind", [Late, Schedule, Restart])
def test_a_run_that_broke_off_ends_with_the_same_bytes(dots, tmp_path, kind, saved):
    whole = train(dots, tmp_path / "whole", kind(**SMALL))
    train(dots, tmp_path / "broken", kind(**SMALL), steps=saved)
    with pytest.raises(RuntimeError, match="killed"):
        train(dots, tmp_path / "broken", kind(**SMALL), hooks=[Hook(die, every=33)])
    broken = train(dots, tmp_path / "broken", kind(**SMALL))
    for name in ("checkpoint.safetensors", "history.csv"):
        assert (broken.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def test_what_prepare_does_is_done(dots, tmp_path):
    before = train(dots, tmp_path / "a", Restart(**SMALL), steps=20).model.decoder[0].weight
    after = train(dots, tmp_path / "a", Restart(**SMALL), steps=21).model
    assert after.before.equal(before)
    # Adam's first step is at most the learning rate for every weight, around the new random ones.
    fresh = 0.1 * torch.randn(before.shape, generator=torch.Generator().manual_seed(20))
    assert (after.decoder[0].weight - fresh).abs().max() <= 1.01e-4
    # The last update of a schedule that ends at (almost) 0 moves (almost) nothing.
    late, last = (train(dots, tmp_path / str(steps), Schedule(**SMALL), steps=steps).model for steps in (49, 50))
    moved = (late.encoder[1].weight - last.encoder[1].weight).abs().max()
    assert 0 < moved < 2e-2 * 0.5 * (1 + math.cos(math.pi * 49 / 50))


def test_a_late_term_is_null_before_it_came_and_a_number_after(dots, tmp_path):
    history = train(dots, tmp_path / "a", Late(**SMALL)).history()
    assert history.columns == ["step", "loss", "reconstruction", "early", "late"]
    assert history["late"].dtype == pl.Float64
    assert [value is None for value in history["late"]] == [step <= 20 for step in history["step"]]
    assert [value is None for value in history["early"]] == [step > 10 for step in history["step"]]
    # Steps 5 and 6 only: their mean over two, not over five steps.
    assert history["early"][1] > 0.9 * history["reconstruction"][1]
    last = history.tail(1).to_dicts()[0]
    assert last["loss"] == pytest.approx(1.5 * last["reconstruction"], rel=1e-5)


def test_columns_and_rows_that_came_after_a_checkpoint_are_cut_off(tmp_path):
    table = Table(tmp_path / "t.csv")
    table.append({"step": 1, "a": 0.1})
    extent, remembered = table.flush(), table.path.read_bytes()
    table.append({"step": 2, "b": 1 / 3, "name": 'x,"y"'})
    table.append({"step": 3, "a": 0.5})
    table.close()
    found = read_table(table.path).to_dicts()
    assert found[1] == {"step": 2, "a": None, "b": 1 / 3, "name": 'x,"y"'}
    assert found[2] == {"step": 3, "a": 0.5, "b": None, "name": None}
    Table(table.path, extent).close()
    assert table.path.read_bytes() == remembered
    with pytest.raises(UsageError, match="shorter than its checkpoint remembers"):
        Table(table.path, (1, 3))


def test_a_number_that_comes_after_many_rows_without_it_is_read_as_a_number(tmp_path):
    table = Table(tmp_path / "t.csv")
    for step in range(300):
        table.append({"step": step} | ({"late": 0.25} if step == 299 else {}))
    table.close()
    assert read_table(table.path)["late"][299] == 0.25


def test_the_length_in_bytes_of_version_0_1_is_an_extent(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"step,loss\n10,1.5\n20,1.25\n30,1.")
    for length, extent in ((0, (0, 0)), (17, (1, 2)), (25, (2, 2))):
        assert extent_of_bytes(file, length) == extent
    with pytest.raises(UsageError, match="shorter"):
        Table(file, extent_of_bytes(file, 40))


def test_models_that_are_prepared_train_one_by_one(dots):
    from unbraid.training.described import problem_of
    from unbraid.training.stacked import stackable

    @dataclass(frozen=True)
    class Plain(VAEObjective):
        def penalty(self, posterior, sample, step):
            return Terms({"penalty": posterior.kl().mean()})

    @dataclass(frozen=True)
    class Prepared(Plain):
        def prepare(self, model, optimizers, step):
            optimizers["model"].param_groups[0]["lr"] = 1e-3 / (1 + step)

    assert stackable(Plain(**SMALL), problem_of(dots))
    assert not stackable(Prepared(**SMALL), problem_of(dots))
