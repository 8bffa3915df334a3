"""Attacks against classifiers whose nearest adversarial images are known."""

import numpy as np
import pytest
import torch
from classifier_toys import brightest_quarter
from test_noise_distance import linear
from torch import nn

import unbraid
from unbraid import data
from unbraid.errors import UsageError
from unbraid.robustness import adversarial, adversarial_accuracy, attacks
from unbraid.robustness.attacks.found import Found

RNG = np.random.default_rng(1)
IMAGES = torch.from_numpy(RNG.uniform(0.35, 0.65, (20, 1, 6, 6)).astype(np.float32))
WEIGHTS = torch.from_numpy(RNG.standard_normal((1, 6, 6)).astype(np.float32))
MEAN = float((WEIGHTS * 0.5).sum())
NET = linear(WEIGHTS, MEAN)
SIDES = (WEIGHTS * IMAGES).sum(dim=(1, 2, 3)) - MEAN
LABELS = (SIDES > 0).long()
LINF = (SIDES.abs() / WEIGHTS.abs().sum()).numpy()
L2 = (SIDES.abs() / WEIGHTS.norm()).numpy()


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_pgd_finds_what_a_plane_leaves_within_reach_and_nothing_else(norm):
    # All images that lie nearer to the plane than the radius can be moved across it, in linf and in l2.
    distances = LINF if norm == "linf" else L2
    radius = float(np.median(distances))
    moved = attacks.pgd(NET, IMAGES, LABELS, norm=norm, bound=radius, steps=30).adversarials
    found = (NET(moved).argmax(1) != LABELS).numpy()
    np.testing.assert_array_equal(found, distances < radius)
    assert (attacks.lengths(moved - IMAGES, norm) <= radius * 1.0001).all()
    assert torch.equal(moved[~found], IMAGES[~found])


def test_ddn_comes_within_a_hundredth_of_the_distance_to_a_plane():
    moved = attacks.ddn(NET, IMAGES, LABELS, steps=100, gamma=0.05).adversarials
    assert (NET(moved).argmax(1) != LABELS).all()
    # In 100 steps of 5 % spheres shrink to 0.006 of what they were: nearer images are not looked for.
    ratio = (attacks.lengths(moved - IMAGES).numpy() / L2)[L2 > 0.02]
    assert len(ratio) > 10
    assert ratio.min() >= 1 - 1e-3  # nothing is nearer than the plane
    assert np.median(ratio) < 1.01
    assert ratio.max() < 1.1


def test_bounds_are_kept_where_the_way_leads_out_of_them():
    # From black, only pixels of positive weight can move: the nearest point has w+ . x = b at b / |w+|.
    black = torch.zeros(4, 1, 6, 6)
    positive = WEIGHTS.clamp_min(0)
    bias = 0.3 * float(positive.sum())
    net, labels = linear(WEIGHTS, bias), torch.zeros(4, dtype=torch.long)
    moved = attacks.ddn(net, black, labels, steps=200, gamma=0.05).adversarials
    assert moved.min() >= 0
    assert moved.max() <= 1
    np.testing.assert_allclose(attacks.lengths(moved).numpy(), bias / float(positive.norm()), rtol=0.02)
    far = attacks.pgd(net, black, labels, norm="linf", bound=0.31, steps=40).adversarials
    assert (net(far).argmax(1) == 1).all()
    near = attacks.pgd(net, black, labels, norm="linf", bound=0.29, steps=40)
    assert torch.equal(near.adversarials, black)
    assert not near.success.any()


@pytest.mark.parametrize(("norm", "distances"), [("linf", LINF), ("l2", L2)])
def test_accuracy_at_a_bound_counts_the_images_farther_away(norm, distances, monkeypatch):
    wrong = LABELS.clone()
    wrong[:2] = 1 - wrong[:2]
    eps = float(np.median(distances))
    found = adversarial_accuracy(NET, (IMAGES, wrong), norm, eps, name="plane")
    far = (distances > eps) & (np.arange(20) >= 2)
    np.testing.assert_array_equal(found.robust, far)
    assert found.accuracy == far.mean()
    assert found.clean.mean() == 0.9
    assert (found.distances[:2] == 0).all()
    assert found.settings["attack"] == {"linf": "pgd", "l2": "ddn"}[norm]
    assert str(found).startswith(f"plane: {100 * far.mean():.1f}")
    again = adversarial_accuracy(NET, (IMAGES, wrong), norm, eps, name="plane")
    np.testing.assert_array_equal(again.distances, found.distances)
    monkeypatch.setattr(adversarial, "BATCH", 6)
    parts = adversarial_accuracy(NET, (IMAGES, wrong), norm, eps)
    np.testing.assert_array_equal(parts.robust, found.robust)
    assert found.table()["accuracy"].item() == found.accuracy


class Constant(nn.Module):
    def forward(self, images):
        return torch.tensor([[0.0, 1.0, 0.0]]).expand(len(images), 3)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_constant_answer_cannot_be_changed(norm):
    found = adversarial_accuracy(Constant(), (IMAGES, np.arange(20) % 3), norm, 0.5, steps=5)
    assert found.accuracy == found.clean.mean() == 7 / 20
    assert set(found.distances) == {0.0, np.inf}


def test_restarts_can_only_find_more():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.Tanh(), nn.Linear(16, 3))
    net[1].weight.data *= 20
    labels = net(IMAGES).argmax(1)
    found = [adversarial_accuracy(net, (IMAGES, labels), "linf", 0.03, steps=3, restarts=n).robust for n in (1, 4)]
    assert (found[1] <= found[0]).all()
    assert found[1].sum() < found[0].sum()


def test_the_model_is_left_as_it_was():
    net = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 2)).train()
    before = [value.clone() for value in net.state_dict().values()]
    adversarial_accuracy(net, (IMAGES, LABELS), "linf", 0.1, steps=2)
    assert all(torch.equal(a, b) for a, b in zip(before, net.state_dict().values(), strict=True))
    assert net[1].training
    assert all(weights.grad is None for weights in net.parameters())


def test_runs_are_attacked_and_functions_are_refused(tmp_path):
    blobs = data.load("blobs16")
    options = {"net": "mlp:width=8", "factor": "x", "steps": 2, "progress": "none"}
    run = unbraid.train("classifier", blobs, out=tmp_path / "run", **options)
    found = adversarial_accuracy(run, blobs, "l2", 0.5, images=20, steps=5)
    assert found.model == "run"
    assert len(found.robust) == 20
    assert found.accuracy <= found.clean.mean()
    with pytest.raises(UsageError, match="brightest_quarter is a function on arrays"):
        adversarial_accuracy(brightest_quarter, blobs, factor="x")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"norm": "l3"}, "unknown norm 'l3'"),
        ({"eps": 0.0}, "eps must be a number above 0"),
        ({"eps": 8.0}, "8 of 255 is 8 / 255"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"restarts": 0}, "restarts must be at least 1"),
        ({"step_size": -1.0}, "step_size must be"),
        ({"gamma": 1.0}, "gamma must lie"),
        ({"attack": "pdg"}, "did you mean 'pgd'"),
        ({"attack": "ddn"}, "unknown norm of the attack 'ddn': 'linf'"),
    ],
)
def test_what_cannot_be_meant_is_told(asked, message):
    with pytest.raises(UsageError, match=message):
        adversarial_accuracy(NET, (IMAGES, LABELS), **asked)


def test_attacks_are_known_by_name():
    assert {"ddn", "pgd"} <= set(attacks.names())
    assert attacks.get("PGD").norms == ("linf", "l2")
    assert attacks.get("ddn").minimal
    assert all(attacks.get(name).about.endswith(".") for name in attacks.names())
    with pytest.raises(UsageError, match="unknown norm 'l1'"):
        attacks.register("mine", norm="l1", needs="gradient")
    with pytest.raises(UsageError, match="need of an attack"):
        attacks.register("mine", norm="l2", needs="luck")


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rounding_of_pixels_makes_no_attack_fail(norm, dtype):
    class Jumpy(torch.nn.Module):
        """Names class 0 of the images it knows, and class 1 of anything else."""

        def __init__(self, known):
            super().__init__()
            self.known, self.weight = known, torch.nn.Parameter(torch.ones((), dtype=dtype))

        def forward(self, images):
            moved = (images[:, None].float() - self.known).abs().flatten(2).sum(2).min(1).values > 1e-3
            slope = self.weight * images.flatten(1).sum(1)  # so that there is a way to go
            return torch.stack([(~moved).float() + 0 * slope, moved.float() + 1e-3 * slope], 1)

    images = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 1)).astype(np.uint8)
    known = (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255).to(dtype).float()
    found = adversarial_accuracy(
        Jumpy(known), (images, np.zeros(10, int)), norm, 5e-4 if dtype is torch.float32 else 0.1, attack="pgd", steps=3
    )
    assert found.clean.all()
    assert not found.robust.any()


def test_other_attacks_take_their_own_steps_and_only_what_was_told_is_recorded(monkeypatch):
    told = []

    def keep(attack, *_, **options):
        told.append({name: options[name] for name in ("steps", "step_size", "gamma", "restarts") if name in options})
        return Found(attack.name, "linf", torch.zeros(20, 1, 4, 4), torch.zeros(20).double(), torch.ones(20).bool())

    monkeypatch.setattr(attacks.registry.Attack, "__call__", keep)
    cases = {
        ("square", "linf"): ({}, {"norm": "linf", "eps": 0.1}),
        ("boundary", "l2"): ({}, {"norm": "l2"}),
        ("pgd", "linf"): ({"steps": 100, "restarts": 1}, {"norm": "linf", "eps": 0.1}),
        ("ddn", "l2"): ({"steps": 100, "gamma": 0.05}, {}),
    }
    for (attack, norm), (options, about) in cases.items():
        found = adversarial_accuracy(NET, (IMAGES, LABELS), norm, 0.1, attack=attack)
        expected = {"attack": attack, **about, **options, "images": 20, "seed": 0}
        assert found.settings == expected
        assert {name: value for name, value in told.pop().items() if value is not None} == options
    found = adversarial_accuracy(NET, (IMAGES, LABELS), "linf", 0.1, attack="square", steps=7)
    assert found.settings["steps"] == told.pop()["steps"] == 7
    monkeypatch.undo()
    with pytest.raises(UsageError, match="unknown option of the attack 'square': 'gamma'"):
        adversarial_accuracy(NET, (IMAGES, LABELS), "linf", 0.1, attack="square", gamma=0.1)
