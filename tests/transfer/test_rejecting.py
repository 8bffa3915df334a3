"""Models that reject what no class explains: nobody is right about what they reject, and attacks see their slope."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from unbraid.data import load
from unbraid.transfer import Subject, domain_of, make_scenario, preset
from unbraid.transfer.readings import Exact
from unbraid.transfer.scenario import READING_VERSIONS, Asked
from unbraid.transfer.subjects import check_subject

DIGITS = load("digits8").part(slice(0, 400))


class Nearest(nn.Module):
    """Minus squared distances to the mean image of each class, which is what it draws."""

    def __init__(self):
        super().__init__()
        images, labels = DIGITS.images(np.arange(400)) / 255, DIGITS.labels(np.arange(400))
        means = np.stack([images[labels == k].mean(0) for k in range(10)]).transpose(0, 3, 1, 2)
        self.means = nn.Parameter(torch.from_numpy(means).float(), requires_grad=False)

    def forward(self, images):
        return -(images[:, None] - self.means).square().flatten(2).sum(2)

    def infer(self, images):
        from unbraid.nets.explain import Explained

        drawn = self.means.expand(len(images), *self.means.shape)
        return Explained(-self(images), torch.zeros(len(images), 10, 1), drawn)


def rejecting(most):
    source = SimpleNamespace(objective=SimpleNamespace(name="abs"))
    return Subject(Exact(Nearest(), most), source=source, rejects=True)


def test_what_is_rejected_is_wrong_whatever_its_class():
    nothing, everything = rejecting(-1.0), rejecting(1e6)  # no image is explained that well, and every one is
    domain = domain_of(DIGITS)
    check_subject(nothing, DIGITS, domain)
    values = {
        name: [float(make_scenario(name, images=50).ask(each, DIGITS)["value"]) for each in (nothing, everything)]
        for name in ("iid", "l2")
    }
    assert values["iid"][0] == 0.0  # though a tenth are zeros
    assert values["iid"][1] > 0.8
    assert values["l2"][0] == 0.0
    guesses, sure = nothing.guesses(DIGITS.images(np.arange(20)))
    assert set(guesses) == {10}
    assert (sure < 0.5).all()


def test_the_way_to_being_rejected_has_a_slope():
    model, image = Exact(Nearest(), 2.0), torch.full((1, 1, 8, 8), 0.5, requires_grad=True)
    scores = model(image)
    assert scores.argmax(1).item() == 10
    (scores[:, 10] - scores[:, :10].amax(1)).sum().backward()
    assert image.grad.abs().sum() > 0
    assert model.infer(image.detach()).reconstruction.shape == (1, 11, 1, 8, 8)


def test_climbs_follow_scores_where_the_posterior_is_flat_and_the_one_that_rejects_decides():
    def asked(most):
        return Asked(rejecting(most), DIGITS, domain_of(DIGITS), 0)

    found = make_scenario("distal", images=4, steps=20).suited("abs").numbers(asked(4.2))
    assert found["value"] == 0.0  # each climb ends at a mean image, which is explained to perfection
    assert found["mean_confidence"] > 0.9
    along = make_scenario("distal", images=4, steps=20).numbers(asked(4.2))
    assert along["value"] == 1.0  # the probability alone is even on noise
    assert make_scenario("distal", images=4, steps=20).suited("abs").numbers(asked(-1.0))["value"] == 1.0


@pytest.mark.parametrize("name", ["iid", "distal"])
def test_only_models_that_draw_are_asked_anew(name, monkeypatch):
    plan = preset("small", domains=("affine-digits",), scenarios=(name,), seeds=(0,))
    now = {cell.bias: plan.asked(cell) for cell in plan.cells()}
    monkeypatch.delitem(READING_VERSIONS, "exact")
    monkeypatch.setattr("unbraid.transfer.all_scenarios.nothing.Distal.suited", lambda one, _: one)
    changed = {cell.bias for cell in plan.cells() if plan.asked(cell) != now[cell.bias]}
    drawing = {bias for bias in plan.biases if bias.startswith("abs")}
    assert changed == ({"abs-exact"} if name == "iid" else drawing)
