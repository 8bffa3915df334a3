"""What holds for every attack, present and future: one table of cases over the registry."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from attack_toys import SHAPE, Ball, Constant, grey, prototypes

from unbraid.robustness import attacks

RNG = np.random.default_rng(3)
TWO, THREE, BALL = prototypes(2, rng=RNG), prototypes(3, rng=RNG), Ball()
IMAGES = grey(3, rng=RNG)
BLACK_AND_WHITE = (grey(3, 0.5, rng=RNG) > 0.5).double()

CHEAP = {
    "apgd": {"steps": 15},
    "boundary": {"steps": 200},
    "bim-estimated": {"h": (0.05,)},
    "deepfool-estimated": {"h": (0.05,)},
    "fgm-estimated": {"h": (0.05,)},
    "fmn": {"steps": 40},
    "gaussian": {"restarts": 5},
    "latent-descent": {"step": 0.05},
    "mim-estimated": {"h": (0.05,)},
    "pgd": {"steps": 30},
    "pointwise": {"restarts": 3},
    "salt-and-pepper": {"restarts": 3},
    "square": {"steps": 20},
    "transfer": {"substitute": TWO, "levels": 15},
}
"""Options that make an attack quick."""
REACH = {
    ("boundary", "l2"): 1.25,
    ("fmn", "l0"): 1.5,
    ("gaussian", "l2"): 6.0,
    ("gaussian", "linf"): 12.0,
    ("latent-descent", "l2"): 4.0,
    ("pointwise", "l0"): 1.7,
    ("pointwise", "l2"): 3.0,
    ("salt-and-pepper", "l0"): 8.0,
    ("salt-and-pepper", "l2"): 25.0,
    ("square", "l2"): 4.0,
    ("square", "linf"): 3.0,
    ("transfer", "l2"): 1.02,
    ("transfer", "linf"): 1.02,
}
"""How far from the exact distance the median may be; attacks along gradients come within 2 %."""
BLENDED = 1.6
"""Of three classes, cross-entropy climbs towards a blend of the other two: what attacks along it may lose by that."""
ANY_CLASS = {"deepfool", "fmn"}
"""Attacks along gradients that look at margins between classes instead."""
PAIRS = [(name, norm) for name in attacks.names() for norm in attacks.get(name).norms]
every_attack = pytest.mark.parametrize(("name", "norm"), PAIRS, ids=[f"{name}-{norm}" for name, norm in PAIRS])
OWN = [(name, norm) for name, norm in PAIRS if not name.endswith("-estimated") or name == "fgm-estimated"]
every_own_attack = pytest.mark.parametrize(("name", "norm"), OWN, ids=[f"{name}-{norm}" for name, norm in OWN])
"""Without the attacks that only put estimates in place of gradients: one of them stands for the others."""


def options(name, model=TWO):
    told = dict(CHEAP.get(name, {}))
    if "substitute" in told:
        told["substitute"] = model
    return told


def attacked(name, model, images, labels, norm, **told):
    return attacks.get(name)(model, images, labels, norm=norm, **options(name, model), **told)


def named(model, images):
    return model(images).argmax(1).detach()


def verify(found, model, images, labels):
    """What an attack claims, counted without its help."""
    assert found.distances.dtype == torch.float64
    assert found.adversarials.min() >= 0
    assert found.adversarials.max() <= 1
    delta = (found.adversarials - images)[found.success].flatten(1)
    sizes = {"l0": (delta != 0).sum(1).double(), "l2": delta.norm(dim=1), "linf": delta.abs().amax(1)}[found.norm]
    torch.testing.assert_close(found.distances[found.success], sizes, rtol=1e-9, atol=0)
    assert (named(model, found.adversarials) != labels)[found.success].all()
    assert found.distances[~found.success].isinf().all()
    assert torch.equal(found.adversarials[~found.success], images[~found.success])


def ratio(found, exact):
    assert found.success.all()
    share = found.distances / exact
    assert share.min() >= 1 - 1e-6  # nothing is nearer than the nearest
    return float(share.median())


@every_attack
@pytest.mark.parametrize("model", [TWO, THREE], ids=["two classes", "three classes"])
def test_nothing_is_nearer_than_the_nearest_plane_and_good_attacks_reach_it(name, norm, model):
    labels = named(model, IMAGES)
    found = attacked(name, model, IMAGES, labels, norm)
    verify(found, model, IMAGES, labels)
    usual = 1.02 if model is TWO or name in ANY_CLASS else BLENDED
    assert ratio(found, model.distance(IMAGES, labels, norm)) <= max(REACH.get((name, norm), 0), usual)


@every_own_attack
def test_a_round_boundary_is_not_crossed_before_its_radius(name, norm):
    labels = named(BALL, IMAGES)
    assert (labels == 0).all()
    found = attacked(name, BALL, IMAGES, labels, norm)
    verify(found, BALL, IMAGES, labels)
    # The gradient at the image points straight outwards, which in l2 is the nearest way; noise points anywhere, but on
    # a ball every way out is at most 2 r / (r - |v|) too long.
    exact = BALL.distance(IMAGES, norm)
    farthest = (2 * BALL.radius / BALL.distance(IMAGES, "l2")).max() * 4 * (16 if norm == "l0" else 1)
    random = norm == "linf" and name in ("pgd", "apgd")  # their start may be in another corner of the cube
    assert ratio(found, exact) <= (farthest if (name, norm) in REACH else 1.25 if random else 1.05)


@every_own_attack
def test_a_constant_answer_cannot_be_changed(name, norm):
    labels = torch.tensor([1, 0, 1])
    found = attacked(name, Constant(), IMAGES, labels, norm)
    wrong = labels != 1
    assert torch.equal(found.success, wrong)
    assert (found.distances[wrong] == 0).all()
    assert found.distances[~wrong].isinf().all()
    assert torch.equal(found.adversarials, IMAGES)


@every_own_attack
def test_what_is_wrong_already_has_distance_0_and_stays(name, norm):
    labels = named(TWO, IMAGES)
    labels[:2] = 1 - labels[:2]
    found = attacked(name, TWO, IMAGES, labels, norm)
    assert (found.distances[:2] == 0).all()
    assert found.success[:2].all()
    assert torch.equal(found.adversarials[:2], IMAGES[:2])
    assert (found.distances[2:] > 0).all()


@every_own_attack
def test_images_at_the_bounds_stay_within_and_are_moved(name, norm):
    labels = named(TWO, BLACK_AND_WHITE)
    found = attacked(name, TWO, BLACK_AND_WHITE, labels, norm)
    verify(found, TWO, BLACK_AND_WHITE, labels)
    # The box only takes ways away: no distance is below that to the plane.
    assert (found.distances >= TWO.distance(BLACK_AND_WHITE, labels, norm) * (1 - 1e-6)).all()
    assert found.success.double().mean() >= (0.5 if (name, norm) in REACH else 1)


@every_attack
def test_a_bound_is_kept_and_is_enough_where_it_lies_beyond_the_boundary(name, norm):
    labels = named(TWO, IMAGES)
    exact = TWO.distance(IMAGES, labels, norm)
    bound = 1.2 * max(REACH.get((name, norm), 1), 1) * float(exact.max())
    found = attacked(name, TWO, IMAGES, labels, norm, bound=bound)
    verify(found, TWO, IMAGES, labels)
    assert found.success.double().mean() >= (0.6 if (name, norm) in REACH else 1)
    assert (found.distances[found.success] <= bound).all()
    near = attacked(name, TWO, IMAGES, labels, norm, bound=0.99 * float(exact.min()))
    assert not near.success.any()


@every_attack
def test_a_seed_decides_and_the_rest_of_the_batch_does_not(name, norm):
    labels = named(TWO, IMAGES)
    found = attacked(name, TWO, IMAGES, labels, norm, seed=5, batch=2)
    some = torch.tensor([2, 1])
    alone, again = (attacked(name, TWO, IMAGES[some], labels[some], norm, seed=5) for _ in range(2))
    assert torch.equal(alone.adversarials, again.adversarials)
    torch.testing.assert_close(alone.distances, found.distances[some], rtol=1e-6, atol=1e-9)


RANDOM = {"boundary", "gaussian", "pointwise", "salt-and-pepper", "square"}


@pytest.mark.parametrize(("name", "norm"), [pair for pair in PAIRS if pair[0] in RANDOM])
def test_another_seed_draws_something_else(name, norm):
    labels = named(TWO, IMAGES)
    one, other = (attacked(name, TWO, IMAGES, labels, norm, seed=seed).adversarials for seed in (0, 1))
    assert not torch.equal(one, other)


@every_own_attack
def test_a_chosen_class_is_named_in_the_end(name, norm):
    labels = named(THREE, IMAGES)
    target = (labels + 1) % 3
    found = attacked(name, THREE, IMAGES, labels, norm, target=target)
    assert (named(THREE, found.adversarials) == target)[found.success].all()
    assert found.success.double().mean() >= (0.3 if (name, norm) in REACH else 1)
    # A chosen class is never nearer than the nearest one.
    assert (found.distances >= THREE.distance(IMAGES, labels, norm) * (1 - 1e-6)).all()


def test_attacks_are_explained_and_say_what_they_need():
    for name in attacks.names():
        attack = attacks.get(name)
        assert attack.about.endswith(".")
        assert attack.needs in ("gradient", "scores", "decision", "substitute", "reconstructions")
        assert set(attack.norms) <= {"l0", "l2", "linf"}
        assert attack.__doc__ == attack.function.__doc__


def test_the_page_has_a_row_for_every_attack():
    page = (Path(__file__).parents[2] / "docs" / "attacks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w, ]+) \| (\w+) \| \S.* \|$", page, re.MULTILINE)
    told = {name: (tuple(norms.split(", ")), needs) for name, norms, needs in rows}
    assert told == {name: (attacks.get(name).norms, attacks.get(name).needs) for name in attacks.names()}


def test_functions_on_bytes_are_attacked_by_scores_and_decisions():
    weights = np.linspace(-1, 1, 16).reshape(1, 4, 4, 1)

    def plane(images):
        side = (images / 255 * weights).sum(axis=(1, 2, 3)) - 0.1
        return np.stack([-side, side], 1)

    images = np.full((3, 4, 4, 1), 128, np.uint8)
    labels = plane(images).argmax(1)
    for name in attacks.names():
        attack = attacks.get(name)
        if attack.needs not in ("scores", "decision"):
            continue
        found = attack(plane, images, labels, **options(name))
        assert found.success.any(), name
        seen = found.adversarials.mul(255).round()
        moved = seen.permute(0, 2, 3, 1).numpy().astype(np.uint8)
        assert (plane(moved).argmax(1) != labels)[found.success.numpy()].all()
        away = (seen / 255 - 128 / 255).abs().flatten(1).double()
        size = {"l0": (away > 1e-6).sum(1), "l2": away.norm(dim=1), "linf": away.amax(1)}[found.norm]
        torch.testing.assert_close(found.distances[found.success], size[found.success].double(), rtol=1e-5, atol=1e-6)
    assert images.shape[1:3] == SHAPE[1:]
