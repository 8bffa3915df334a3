"""What one step of the loop does: players, their terms, what is prepared before it, and a step without learning."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from dots import Dots
from unbraid.data import Batch, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import AE, FactorVAE, Objective, Problem, Terms
from unbraid.training import Diverged, Hook, Loop
from unbraid.training.loop import run_hooks

PROBLEM = Problem((16, 16, 1), 144)


def make_loop(objective, stream=None):
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    return Loop(
        objective, model, stream or make_stream("images", Dots(), 8, 0), 0, torch.device("cpu"), precision="fp32"
    )


@dataclass(frozen=True)
class Players(Objective):
    """Several numbers, each pulled to 0 by a player of its own; ``turns`` says who moves, in which order."""

    turns: tuple[str, ...] = ("other", "model")
    always: float = 0.0
    """Added to the loss of ``other`` in every step."""
    later: float = 0.0
    """Added to that of ``who`` from the second step on."""
    who: str = "other"

    def build(self, problem, generator):
        model = nn.Module()
        for name in set(self.turns):
            model.register_parameter(name, nn.Parameter(torch.tensor(2.0)))
        return model

    def optimizers(self, model):
        return {name: torch.optim.SGD([model.get_parameter(name)], lr=0.1) for name in dict.fromkeys(self.turns)}

    def losses(self, model, inputs, step, noise):
        for player in self.turns:
            added = self.always * (player == "other") + (self.later if step and player == self.who else 0)
            yield player, Terms({"square": model.get_parameter(player).square(), "added": torch.tensor(added)})


def test_the_player_called_model_is_the_headline_in_whatever_order_they_move():
    loop = make_loop(Players(("other", "model")))
    loop.advance()
    assert loop.headline == "model"
    assert list(loop.means.current()) == ["loss", "square", "added", "other/loss", "other/square", "other/added"]


def test_without_a_player_called_model_the_first_optimiser_is_the_headline():
    loop = make_loop(Players(("a", "b")))
    loop.advance()
    assert list(loop.means.current()) == ["loss", "square", "added", "b/loss", "b/square", "b/added"]


def test_an_objective_without_optimisers_or_with_a_foreign_player_is_told_so():
    class Idle(Players):
        def optimizers(self, model):
            return {}

    class Foreign(Players):
        def losses(self, model, inputs, step, noise):
            yield "nobody", Terms({"square": model.get_parameter("model").square()})

    with pytest.raises(UsageError, match="at least one optimiser"):
        make_loop(Idle())
    with pytest.raises(UsageError, match=r"player 'nobody', optimizers\(\) has \['model', 'other'\]"):
        make_loop(Foreign()).advance()


def test_a_player_that_moves_twice_in_a_step_has_the_mean_of_both():
    # x <- x - 0.1 * 2x = 0.8 x: the squares of its three losses are 4, 4 * 0.64, and those of the other 4 alone.
    loop = make_loop(Players(("model", "model", "other")))
    loop.advance()
    assert loop.means.current()["loss"] == pytest.approx((4 + 4 * 0.64) / 2)
    assert loop.means.current()["other/loss"] == pytest.approx(4)


@pytest.mark.parametrize("turns", [("model", "other"), ("other", "model")])
def test_every_player_is_judged_against_its_own_first_loss(turns):
    # Both begin at 4: the bound is 1e4 * (1 + 4).
    loop = make_loop(Players(turns, later=6e4))
    loop.advance()
    with pytest.raises(Diverged, match=r"the loss of 'other' exploded at step 1: .* against 4 at the start"):
        loop.advance()
    # A player whose loss is large from the start has not exploded, and does not hide the other's explosion.
    loop = make_loop(Players(turns, always=1e6, later=6e4, who="model"))
    loop.advance()
    with pytest.raises(Diverged, match=r"the loss exploded at step 1: .* against 4 at the start.*'added'"):
        loop.advance()


def test_a_loss_that_is_no_number_is_named_with_its_player():
    loop = make_loop(Players(later=float("nan")))
    loop.advance()
    with pytest.raises(Diverged, match="term 'other/added' is nan at step 1"):
        loop.advance()


def test_the_state_of_version_0_1_is_understood():
    loop = make_loop(Players())
    loop.restore({"step": 7, "sums": {"loss": 12.0, "other/loss": 6.0}, "count": 3, "first_loss": 5.0})
    assert (loop.step, loop.means.current()) == (7, {"loss": 4.0, "other/loss": 2.0})
    assert loop.first_losses == {"model": 5.0}
    loop.restore({"step": 0, "sums": {}, "count": 0, "first_loss": None})
    assert loop.first_losses == {}


@dataclass(frozen=True)
class Now(AE):
    """An autoencoder with a term in every third step only, whose value is the step."""

    net: str = "mlp:width=8"

    def loss(self, model, inputs, step, noise):
        terms = super().loss(model, inputs, step, noise).terms
        return Terms(terms, {"third": torch.tensor(float(step))} if step % 3 == 0 else {})


def test_a_term_absent_in_some_steps_has_the_mean_of_the_others():
    loop = make_loop(Now())
    for _ in range(10):
        loop.advance()
    assert loop.means.current()["third"] == (0 + 3 + 6 + 9) / 4


@dataclass(frozen=True)
class Noted(AE):
    net: str = "mlp:width=8"

    def prepare(self, model, optimizers, step):
        model.notes = [*getattr(model, "notes", []), (step, model.encoder[1].bias.sum().item(), sorted(optimizers))]


def test_a_step_is_prepared_once_before_it():
    loop = make_loop(Noted())
    before = loop.model.encoder[1].bias.sum().item()
    loop.advance()
    between = loop.model.encoder[1].bias.sum().item()
    loop.advance()
    assert loop.model.notes == [(0, before, ["model"]), (1, between, ["model"])]


def test_terms_at_a_step_are_those_of_the_step_and_nothing_is_learnt():
    objective = FactorVAE(net="mlp:width=8", latents=3, discriminator_width=8, discriminator_depth=2)
    loop, other = make_loop(objective), make_loop(objective)
    weights = {name: value.clone() for name, value in loop.model.state_dict().items()}
    found = loop.terms_at(0)
    assert all(value.equal(weights[name]) for name, value in loop.model.state_dict().items())
    assert all(p.grad is None for p in loop.model.parameters())
    assert (loop.step, loop.means.sums, loop.first_losses) == (0, {}, {})
    other.advance()
    recorded = other.means.current()
    assert set(found) == {"model", "discriminator"}
    assert found["model"] == {name: value for name, value in recorded.items() if "/" not in name}
    # The discriminator is judged on codes drawn before either player moves: its own terms, too, are those of training.
    assert {f"discriminator/{name}": value for name, value in found["discriminator"].items()} == {
        name: value for name, value in recorded.items() if "/" in name
    }
    assert loop.terms_at(5) != found  # another batch


def test_terms_at_a_step_are_of_the_model_in_evaluation_mode_and_may_differentiate():
    @dataclass(frozen=True)
    class Steep(AE):
        net: str = "mlp:width=8"

        def loss(self, model, inputs, step, noise):
            assert not model.training
            images = inputs.images.requires_grad_()
            codes = model.encoder(images)
            (slope,) = torch.autograd.grad(codes.sum(), images, create_graph=True)
            return Terms({"slope": slope.square().sum()})

    loop = make_loop(Steep())
    loop.model.train()
    loop.model.decoder.eval()  # as a method may have frozen a part
    assert loop.terms_at(0)["model"]["slope"] > 0
    assert loop.model.training
    assert loop.model.encoder.training
    assert not loop.model.decoder.training


def test_hooks_leave_every_module_in_the_mode_it_was_in():
    loop = make_loop(AE(net="mlp:width=8"))
    loop.model.train()
    loop.model.decoder.eval()  # as a method may have frozen a part

    def modes():
        return [module.training for module in loop.model.modules()]

    def fails(_):
        raise RuntimeError("a hook that fails")

    before = modes()
    assert run_hooks([Hook(lambda _: {"training": sum(modes())}, every=1)], loop) == [
        {"step": 0, "name": "training", "value": 0.0}
    ]
    assert modes() == before
    with pytest.raises(RuntimeError, match="a hook that fails"):
        run_hooks([Hook(fails, every=1)], loop)
    assert modes() == before


def test_batches_may_be_tensors_already():
    images = torch.rand(144, 1, 16, 16, generator=torch.Generator().manual_seed(0))

    def stream(step):
        return Batch(images[step : step + 4], index=np.arange(4))

    loop = make_loop(AE(net="mlp:width=8"), stream)
    inputs = loop.inputs(stream(3))
    assert inputs.images.equal(images[3:7])
    assert inputs.index.tolist() == [0, 1, 2, 3]
    loop.advance()
    assert loop.step == 1
