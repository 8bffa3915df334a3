"""Who takes the steps of a classifier, and when they become shorter."""

import pytest
import torch

import unbraid
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.objectives import Classifier
from unbraid.training import Loop, problem_of

NET = {"factor": "x", "net": "mlp:depth=0"}


def loop_of(data, **options):
    objective = Classifier(**NET, **options)
    model = objective.make_model(problem_of(data), torch.Generator().manual_seed(0))
    return Loop(objective, model, make_stream("images", data, 8, 0), 0, torch.device("cpu"), "fp32")


def test_sgd_has_momentum_and_the_rate_of_its_step(dots):
    # Velocity v = 0.9 v + gradient, weights move by rate * v; the rate falls to a tenth at steps 2 and 4.
    loop = loop_of(dots, optimizer="sgd", learning_rate=0.5, drop_at=(2, 4))
    weight = loop.model.net[1].weight
    velocity = torch.zeros_like(weight)
    for rate in (0.5, 0.5, 0.05, 0.05, 0.005):
        inputs = loop.inputs(loop.stream(loop.step))
        (slope,) = torch.autograd.grad(loop.objective.loss(loop.model, inputs, 0, loop.noise).total, weight)
        velocity = 0.9 * velocity + slope
        expected = weight.detach() - rate * velocity
        loop.advance()
        torch.testing.assert_close(weight.detach(), expected)


def test_a_run_that_stopped_before_the_rate_fell_ends_with_the_same_bytes(dots, tmp_path):
    def go(folder, steps):
        objective = Classifier(**NET, optimizer="sgd", drop_at=(4,))
        return unbraid.train(objective, dots, out=tmp_path / folder, steps=steps, progress="none", log_every=2)

    go("parts", 3)
    parts, whole = go("parts", 7), go("whole", 7)
    for file in ("checkpoint.safetensors", "history.csv"):
        assert (parts.path / file).read_bytes() == (whole.path / file).read_bytes()
    assert whole.info["objective"]["options"]["drop_at"] == [4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "lion"}, "unknown optimizer 'lion'"),
        ({"momentum": 1.0}, "momentum must lie between 0 and 1, got 1.0"),
        ({"drop_at": (-1,)}, "drop_at must be steps of training"),
        ({"drop_by": 0}, "drop_by must be a positive number"),
    ],
)
def test_wrong_optimisers_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Classifier(**NET, **options)
