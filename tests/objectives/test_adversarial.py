"""Adversarial training: where images go, how far, and what the attack leaves untouched."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.objectives import Classifier, Inputs, Problem, augment


@nets.predictors.register("test-normed")
def normed(shape, outputs):
    """A network with batch norm."""
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(shape[0] * shape[1] * shape[2]), nn.LazyLinear(outputs))


def scene_of(net="mlp:depth=0", **options):
    objective = Classifier(net=net, **options)
    model = objective.build(Problem((6, 6, 1), 100, classes=2), torch.Generator().manual_seed(0))
    return augment.Scene(objective, model.train(), 0)


def batch(n=12, grey=False):
    noise = torch.Generator().manual_seed(1)
    images = torch.full((n, 1, 6, 6), 0.5) if grey else torch.rand(n, 1, 6, 6, generator=noise)
    return Inputs(images, labels=torch.arange(n) % 2)


def moved(text, scene, inputs):
    return augment.make(text).apply(scene, inputs, torch.Generator().manual_seed(2))


def test_against_a_linear_model_the_attack_ends_at_the_known_place():
    # The loss of class y rises fastest along the weights of the other class minus its own, everywhere.
    scene, inputs = scene_of(), batch(grey=True)
    weight = next(layer for layer in scene.model.modules() if isinstance(layer, nn.Linear)).weight.detach()
    away = torch.stack([weight[1 - label] - weight[label] for label in inputs.labels]).reshape(12, 1, 6, 6)
    corner = 0.5 + 0.1 * away.sign()
    torch.testing.assert_close(moved("adversarial:radius=0.1,steps=20", scene, inputs), corner)
    edge = 0.5 + 0.3 * away / away.flatten(1).norm(dim=1)[:, None, None, None]
    found = moved("adversarial:norm=l2,radius=0.3,random_start=false", scene, inputs)
    torch.testing.assert_close(found, edge)


def test_the_radius_grows_over_the_warmup_and_stays():
    # Five steps of warmup: a sixth of the radius at once, then a sixth more each step; all of it from the fifth on.
    inputs = batch(grey=True)
    for step, grown in ((0, 1 / 6), (3, 4 / 6), (5, 1), (99, 1)):
        scene = replace(scene_of(), step=step)
        found = moved("adversarial:radius=0.3,steps=20,warmup=5", scene, inputs)
        assert (found - 0.5).abs().amax() == pytest.approx(0.3 * grown, abs=1e-6)
        length = augment.make("adversarial:step_size=0.06,warmup=5").at(step).step_size
        assert length == pytest.approx(0.06 * grown)


@pytest.mark.parametrize(("norm", "order"), [("linf", float("inf")), ("l2", 2)])
def test_images_stay_in_ball_and_range_and_the_loss_rises(norm, order):
    scene, inputs = scene_of("mlp:width=16"), batch()
    noise = torch.Generator()
    before = scene.loss(inputs, noise)
    found = moved(f"adversarial:norm={norm},radius=0.2", scene, inputs)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (found - inputs.images).flatten(1).norm(order, dim=1).max() <= 0.2 + 1e-6
    assert scene.loss(Inputs(found, labels=inputs.labels), noise) > before
    assert all(weights.grad is None for weights in scene.model.parameters())
    start = moved(f"adversarial:norm={norm},radius=0.2,steps=0", scene, inputs)
    reached = (start - inputs.images).flatten(1).norm(order, dim=1)
    assert (reached > 0.05).all()
    assert (reached <= 0.2 + 1e-6).all()
    assert torch.equal(moved(f"adversarial:norm={norm},steps=0,random_start=false", scene, inputs), inputs.images)


@pytest.mark.parametrize(("mode", "kept"), [("eval", True), ("train", False)])
def test_what_batch_norm_learns_from_the_attack(mode, kept):
    scene = scene_of("test-normed")
    norm = next(layer for layer in scene.model.modules() if isinstance(layer, nn.BatchNorm1d))
    before = norm.running_mean.clone()
    moved(f"adversarial:mode={mode}", scene, batch())
    assert torch.equal(norm.running_mean, before) is kept
    assert norm.training
