import pytest
import torch
from torch import nn

from unbraid import nets, objectives


def test_an_autoencoder_has_the_state_keys_of_a_dictionary_of_its_parts():
    problem = nets.Problem((8, 8, 1), 100)
    encoder, decoder = nets.build("mlp", problem.shape, 3)
    model = nets.Autoencoder(encoder, decoder, problem)
    assert model.problem is problem
    assert list(model.state_dict()) == list(nn.ModuleDict({"encoder": encoder, "decoder": decoder}).state_dict())


@pytest.mark.parametrize(
    "name", [n for n in objectives.names() if issubclass(objectives.get(n), objectives.AutoencoderObjective)]
)
def test_every_autoencoder_objective_builds_one(name):
    problem = nets.Problem((64, 64, 1), 100, factor_sizes=(2,), factor_names=("x",), classes=3)
    model = objectives.make(name).build(problem, torch.Generator())
    assert isinstance(model, nets.Autoencoder)
    own = {"discriminator", "norm", "codebooks", "prior", "statistics"}
    assert {key.split(".")[0] for key in model.state_dict()} - own == {"encoder", "decoder"}


def test_problem_is_one_class_wherever_it_is_named():
    assert objectives.Problem is nets.Problem
