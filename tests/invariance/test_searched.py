"""Metamers of models that cannot be inverted, and factors that codes ignore."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.invariance import ignored_factors, search_metamers


def test_a_linear_model_is_matched_along_what_it_looks_at_and_nowhere_else():
    # f looks at the first two of ten numbers: its metamer keeps the donor's other eight.
    generator = torch.Generator().manual_seed(0)
    x, donors = torch.rand(2, 20, 10, generator=generator)
    found = search_metamers(lambda v: v[:, :2] @ torch.tensor([[1.0, 0.5], [0.2, 1.0]]), x, donors, steps=300)
    assert found.found.all()
    # A metamer misses the outputs by 0.05 of at most |(1, 1) W| = 1.9, and W^-1 has norm 1.4: 0.14 in each number.
    assert (found.x[:, :2] - x[:, :2]).abs().max() < 0.14
    assert torch.equal(found.x[:, 2:], donors[:, 2:])
    expected = (x - donors)[:, :2].norm(dim=1) / (x - donors).norm(dim=1)
    assert (found.moved - expected).abs().max() < 0.1
    assert found.excess == pytest.approx(1 - float(expected.median()), abs=0.05)


def test_the_nearest_of_all_metamers_on_the_way_is_kept_not_the_most_exact():
    # f(v) = |v| is matched anywhere on a circle. From (1, 0) Adam heads for the radius 0.5 of x and swings through it.
    x, donors = torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 0.0]])
    seen = []

    def radius(v):
        found = v.norm(dim=1, keepdim=True)
        seen.append(v.detach().clone())
        return found

    kept = search_metamers(radius, x, donors, steps=60, rate=0.05, tolerance=0.2, bounds=None)
    way = torch.cat(seen[2:])
    within = (way.norm(dim=1) - 0.5).abs() / 0.5 <= 0.2
    nearest = (way - donors).norm(dim=1)[within].min() / (x - donors).norm()
    assert kept.found.all()
    assert float(kept.moved) == pytest.approx(float(nearest))
    assert float(kept.gap) > float((way.norm(dim=1) - 0.5).abs().min() / 0.5)  # a more exact one lies farther away


def test_a_model_that_looks_at_everything_leaves_nothing():
    x, donors = torch.rand(2, 10, 6, generator=torch.Generator().manual_seed(1))
    found = search_metamers(lambda v: v, x, donors, steps=300)
    assert found.found.all()
    assert found.excess == pytest.approx(0, abs=0.1)  # within 0.05 of the gap


def test_what_cannot_be_matched_is_not_found():
    x, donors = torch.full((4, 3), 5.0), torch.zeros(4, 3)
    found = search_metamers(lambda v: v, x, donors, steps=100)  # clipped to [0, 1]
    assert not found.found.any()
    assert math.isnan(found.excess)
    assert search_metamers(lambda v: v, x, donors, steps=200, rate=0.1, bounds=None).found.all()


def test_a_pull_keeps_nearer_to_the_donor():
    x, donors = torch.rand(2, 10, 6, generator=torch.Generator().manual_seed(1))
    free, held = (search_metamers(lambda v: v.square(), x, donors, steps=150, pull=pull) for pull in (0.0, 1.0))
    assert (held.moved < free.moved).all()


def test_a_run_is_searched_through_its_classifier(tmp_path):
    data = load("digits8")
    run = unbraid.train("classifier", data, net="mlp:width=32", out=tmp_path, steps=100, progress="none", batch_size=32)
    images = torch.tensor(data.images(np.arange(40))).permute(0, 3, 1, 2).float() / 255
    labels = torch.tensor(data.labels(np.arange(40)))
    x, donors = images[:20], images[20:]
    other = labels[:20] != labels[20:]
    found = search_metamers(run.classifier(), x[other], donors[other], steps=200)
    assert found.found.double().mean() > 0.8
    same = run.classifier()(found.x[found.found]).argmax(1) == run.classifier()(x[other][found.found]).argmax(1)
    assert same.double().mean() > 0.95
    assert found.excess > 0.1
    assert found.x.min() >= 0
    assert found.x.max() <= 1


def test_modes_and_gradients_of_a_module_stay_as_they_were():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    search_metamers(net, torch.rand(6, 4), torch.rand(6, 4), steps=3)
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(weights.grad is None for weights in net.parameters())


def test_wrong_input_of_a_search_is_named():
    with pytest.raises(UsageError, match=r"one shape, got \[2, 3\] and \[2, 2\]"):
        search_metamers(lambda v: v, torch.zeros(2, 3), torch.zeros(2, 2))
    with pytest.raises(UsageError, match="a row of outputs for each of 2 inputs"):
        search_metamers(lambda v: v.sum(), torch.zeros(2, 3), torch.ones(2, 3))
    with pytest.raises(UsageError, match="steps, rate and tolerance must be positive"):
        search_metamers(lambda v: v, torch.zeros(2, 3), torch.ones(2, 3), steps=0)


def test_codes_that_know_one_factor_ignore_the_other(dots):
    def columns(images):  # where the square is, left to right, which is factor x
        return images[..., 0].max(axis=1).argmax(axis=1)[:, None].astype(float)

    found = ignored_factors(columns, dots, samples=200)
    assert found.names == ("x", "y")
    assert found.movement[1] == 0
    # Changed to any other value, x moves its code as far as a random pair does times 12/11.
    assert found.movement[0] == pytest.approx(12 / 11, abs=0.15)
    assert found.ignored() == ("y",)
    assert found.error[0] > 0


def test_representations_without_grid_or_variation_are_refused(dots):
    with pytest.raises(UsageError, match="no grid of factors"):
        ignored_factors(lambda images: images, load("digits8"))
    with pytest.raises(UsageError, match="the same for all images"):
        ignored_factors(lambda images: np.zeros((len(images), 2)), dots, samples=10)
