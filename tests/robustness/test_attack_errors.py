"""Attacks refuse what cannot be meant before they do any work."""

import numpy as np
import pytest
import torch
from attack_toys import Ball, Constant, grey, prototypes
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import attacks

RNG = np.random.default_rng(3)
IMAGES = grey(4, rng=RNG)
TWO = prototypes(2, rng=RNG)
LABELS = TWO(IMAGES).argmax(1)
ONE_OF_EACH = {attacks.get(name).needs: name for name in reversed(attacks.names())}
"""What is common to all attacks is asked of one of each kind."""
every = pytest.mark.parametrize("name", sorted(ONE_OF_EACH.values()))
OPTIONS = {"transfer": {"substitute": TWO}}


class Counted(nn.Module):
    """Says what it is told to say, and how often it was asked."""

    def __init__(self, say):
        super().__init__()
        self.say, self.asked = say, 0

    def forward(self, images):
        self.asked += 1
        return self.say(images)


def flat(images):
    return TWO(images).detach()


def not_a_number(images):
    return TWO(images) * torch.nan


def one_class(images):
    return images.flatten(1).sum(1, keepdim=True)


def a_vector(images):
    return images.flatten(1).sum(1)


BAD_MODELS = [
    (not_a_number, "no numbers"),
    (one_class, "scores of one class"),
    (a_vector, r"must give scores \[n, classes\]"),
]


@every
@pytest.mark.parametrize(("say", "message"), BAD_MODELS, ids=[say.__name__ for say, _ in BAD_MODELS])
def test_models_that_give_no_scores_are_refused_at_once(name, say, message):
    model = Counted(say)
    with pytest.raises(UsageError, match=message):
        attacks.get(name)(model, IMAGES, LABELS, **OPTIONS.get(name, {}))
    assert model.asked == 1


BAD_INPUTS = [
    (IMAGES * 3, LABELS, r"must lie in \[0, 1\]"),
    (IMAGES * torch.nan, LABELS, r"must lie in \[0, 1\]"),
    (IMAGES[:, 0], LABELS, r"images must be uint8 \[n, height, width, channels\] or floats"),
    (IMAGES, LABELS[:2], "labels must be 4 whole numbers"),
    (IMAGES, LABELS - 5, "labels must be 4 whole numbers"),
    (IMAGES, LABELS.double(), "labels must be 4 whole numbers"),
    (IMAGES, LABELS + 7, "scores of 2 classes, and there is a class [78]"),
    (IMAGES[:0], LABELS[:0], "images is empty"),
    (IMAGES, None, "give labels"),
    (np.zeros((4, 4, 4, 1), np.int64), LABELS, r"or floats \[n, channels, height, width\] in \[0, 1\], got int64"),
    (["a", "b"], LABELS, "images must be uint8"),
]


@every
@pytest.mark.parametrize(("images", "labels", "message"), BAD_INPUTS, ids=range(len(BAD_INPUTS)))
def test_images_and_labels_are_looked_at_first(name, images, labels, message):
    model = Counted(TWO.forward)
    with pytest.raises(UsageError, match=message):
        attacks.get(name)(model, images, labels, **OPTIONS.get(name, {}))
    assert model.asked <= 1


@pytest.mark.parametrize("name", [name for name in attacks.names() if attacks.get(name).needs == "gradient"])
def test_where_no_gradient_flows_attacks_along_it_say_what_to_do(name):
    def function(images):
        return np.stack([images.mean((1, 2, 3)), 1 - images.mean((1, 2, 3))], 1)

    with pytest.raises(UsageError, match="function is a function on arrays, which has none"):
        attacks.get(name)(function, IMAGES, LABELS)
    rounded = Counted(lambda images: TWO(images.round()))
    for model in (Counted(flat), rounded):
        with pytest.raises(UsageError, match=r"attacks.straight_through\(model\)"):
            attacks.get(name)(model, (IMAGES > 0.5).double(), LABELS)
        assert model.asked < 8
    # A constant answer does not depend on the image: that is an answer.
    assert not attacks.get(name)(Constant(), IMAGES, [1] * 4).success.any()


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("pgd", {"norm": "l0"}, "unknown norm of the attack 'pgd': 'l0'"),
        ("pgd", {"bound": 0.0}, "bound must be a number above 0"),
        ("pgd", {"bound": np.inf}, "bound must be a number above 0"),
        ("pgd", {"batch": 0}, "batch must be at least 1"),
        ("pgd", {"step": 3}, "unknown option of the attack 'pgd': 'step'; did you mean 'steps'"),
        ("pgd", {"steps": 0}, "steps must be at least 1"),
        ("pgd", {"restarts": 0}, "restarts must be at least 1"),
        ("pgd", {"target": 2}, "there is a class 2"),
        ("pgd", {"target": -1}, "target must be 4 whole numbers from 0"),
        ("pgd", {"target": [0, 1]}, "target must be 4 whole numbers from 0"),
        ("pgd", {"step_size": 0.0}, "step_size must be a number above 0"),
        ("fgm", {"levels": 0}, "levels must be at least 1"),
        ("bim", {"steps": 0}, "steps must be at least 1"),
        ("bim", {"step": 0}, "step must be a number above 0"),
        ("mim", {"decay": -1}, "decay must not be negative"),
        ("deepfool", {"candidates": 0}, "candidates must be at least 1"),
        ("deepfool", {"overshoot": -0.1}, "overshoot must be a number that is not negative"),
        ("ddn", {"gamma": 2}, "gamma must lie between 0 and 1"),
        ("fmn", {"gamma": 0}, "gamma must lie between 0 and 1"),
        ("fmn", {"steps": 0}, "steps must be at least 1"),
        ("apgd", {"loss": "dlr"}, "unknown loss 'dlr'"),
        ("apgd", {"steps": 0}, "steps must be at least 1"),
        ("square", {"share": 2.0}, "share must lie between 0 and 1"),
        ("square", {"steps": 0}, "steps must be at least 1"),
        ("boundary", {"steps": 0}, "steps must be at least 1"),
        ("boundary", {"towards": 1.0}, "towards must lie between 0 and 1"),
        ("boundary", {"adaptation": 1.0}, "adaptation must be above 1"),
        ("salt-and-pepper", {"levels": 0}, "levels must be at least 1"),
        ("gaussian", {"restarts": 0}, "restarts must be at least 1"),
        ("gaussian", {"levels": 0}, "levels must be at least 1"),
        ("latent-descent", {"step": 0.0}, "step must lie between 0 and 1"),
        ("latent-descent", {"binary": 1.0}, "binary must lie between 0 and 1"),
        ("transfer", {"substitute": lambda images: images}, "is a function on arrays, which has none"),
        ("transfer", {"substitute": prototypes(3, rng=RNG)}, "gives 3 numbers of an image, Prototypes 2; train it on"),
        ("fgm-estimated", {"h": (2.0,)}, "h must lie between 0 and 1"),
    ],
)
def test_options_that_cannot_be_meant_are_told(name, asked, message):
    with pytest.raises(UsageError, match=message):
        attacks.get(name)(TWO, IMAGES, LABELS, **asked)


def test_a_threshold_is_looked_at_before_the_model_is_asked():
    model = Counted(TWO.forward)
    with pytest.raises(UsageError, match="threshold must lie between 0 and 1"):
        attacks.pgd(model, IMAGES, LABELS, threshold=2.0)
    assert model.asked == 0


def test_refinement_takes_images_and_adversarials_of_one_shape():
    with pytest.raises(UsageError, match=r"adversarials must be like the images \[4, 1, 4, 4\], got \[2, 1, 4, 4\]"):
        attacks.refined(IMAGES, IMAGES[:2])


def test_goals_that_are_no_classes_are_left_to_attacks_that_can():
    class Bright(attacks.Goal):
        def margin(self, outputs):
            return outputs[:, 1]

        def __getitem__(self, rows):
            return self

    # The ball's second score is positive outside: the same boundary by another goal.
    found = attacks.fmn(Ball(), IMAGES, goal=Bright(), norm="l2")
    torch.testing.assert_close(found.distances, Ball().distance(IMAGES, "l2"), rtol=2e-3, atol=0)
    for name in ("deepfool", "latent-descent"):
        with pytest.raises(UsageError, match="goal must be a class that is named or not"):
            attacks.get(name)(Ball(), IMAGES, goal=Bright())
    with pytest.raises(UsageError, match="or a goal instead of them"):
        attacks.fmn(Ball(), IMAGES, LABELS, goal=Bright())
    with pytest.raises(UsageError, match="a target, a class to be named, or a goal, not both"):
        attacks.fmn(Ball(), IMAGES, goal=Bright(), target=1)
