"""Metamers keep every logit, for networks of this library and of others."""

import numpy as np
import pytest
import torch
from sphere_toys import RADII, SIZE, points, trained
from torch import nn

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.invariance import (
    Metamers,
    Split,
    as_bijective,
    interpolate,
    is_invariance_adversarial,
    metamer_report,
    metamers,
    on_sphere,
    on_sphere_metamer,
    outputs_of,
    sphere_attack,
    sphere_oracle,
    to_inputs,
    to_pictures,
    undone,
)
from unbraid.invariance.metameric import draw_donors
from unbraid.nets import build_predictor
from unbraid.nets.bijections import build_bijection
from unbraid.objectives import FiRevNetObjective


def test_metamers_have_the_logits_of_one_and_the_nuisance_of_another():
    net, (x, labels) = trained(), points(400, seed=1)
    found = metamers(net, x, labels=labels)
    assert found.residual.max() < 1e-4
    assert (labels[found.donors] != labels).all()
    semantic, nuisance = net.split(net(found.x)[0])
    own, others = net.split(net(x)[0])
    assert (semantic - own).abs().max() < 1e-4
    assert (nuisance - others[found.donors]).abs().max() < 1e-3
    assert torch.equal(found.classes, own.argmax(1))
    # trained by cross-entropy, the classifier is right on the data and its metamers are not what it says of them
    assert (found.classes == labels).double().mean() > 0.99
    report = metamer_report(found, x, sphere_oracle(RADII))
    assert report.kept == 1
    assert report.changed == pytest.approx(1 - report.agreement)
    assert report.as_donor > 0.4
    assert not report.proxy
    assert report.distance == pytest.approx(float((found.x - x).norm(dim=1).median()))


def test_shares_are_those_of_metamers_that_keep_their_logits():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    made = torch.tensor([[1.0, 0.0], [1.0, 0.0], [torch.nan, 0.0], [1.0, 0.0]])
    residual = torch.tensor([0.0, 0.0, torch.nan, 5.0])
    found = Metamers(made, x, torch.tensor([1, 0, 3, 2]), residual)
    report = metamer_report(found, x, lambda v: v)
    assert (report.kept, report.count) == (0.5, 2)
    assert (report.agreement, report.changed, report.as_donor) == (0.5, 0.5, 0.5)
    assert report.distance == pytest.approx(0)  # the lower median of 0 and sqrt(2)
    none = metamer_report(Metamers(made, x, None, residual + 1), x, lambda v: v)
    assert (none.kept, none.count, none.as_donor) == (0, 0, None)
    assert np.isnan([none.agreement, none.changed, none.distance]).all()


def test_ones_own_nuisance_gives_the_input_back():
    net, (x, _) = trained(), points(50, seed=1)
    found = metamers(net, x, torch.arange(50))
    assert (found.x - x).abs().max() < 1e-4


def test_the_same_seed_draws_the_same_donors_and_nobody_gives_to_itself():
    net, (x, labels) = trained(), points(60, seed=1)
    assert torch.equal(metamers(net, x, seed=3).x, metamers(net, x, seed=3).x)
    first, second = metamers(net, x, seed=3), metamers(net, x, seed=4)
    assert not torch.equal(first.donors, second.donors)
    assert sorted(first.donors.tolist()) == list(range(60))
    assert (first.donors != torch.arange(60)).all()
    assert metamers(net, x, labels=labels, cross_class=False).donors.unique().numel() == 60


def test_donors_of_other_classes_are_drawn_evenly_and_without_a_table_of_all_pairs():
    labels = torch.arange(60_000) % 3  # all pairs would take 29 GB
    donors = draw_donors(len(labels), labels, seed=0)
    for own in range(3):
        shares = torch.bincount(labels[donors[labels == own]], minlength=3) / 20_000
        assert shares[own] == 0
        assert (shares - 0.5).abs().sort().values[:2].max() < 0.02  # binomial, se 0.0035
    assert donors.unique().numel() > 30_000


def test_interpolation_begins_at_x_ends_at_the_metamer_and_keeps_the_logits():
    net, (x, labels) = trained(), points(40, seed=2)
    donors = x[metamers(net, x, labels=labels).donors]
    path = interpolate(net, x, donors, steps=5)
    assert path.x.shape == (5, 40, SIZE)
    assert path.t.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert (path.x[0] - x).abs().max() < 1e-4
    assert (path.x[-1] - metamers(net, x, donors).x).abs().max() < 1e-4
    assert path.residual.max() < 1e-4


def test_bisection_finds_invariance_based_examples_on_the_outer_sphere():
    net, (x, labels) = trained(), points(600, seed=1)
    inner, outer = x[labels == 0][:200], x[labels == 1][:200]
    found = on_sphere_metamer(net, inner, outer, RADII[1])
    assert found.found.double().mean() >= 0.99
    hit = found.found
    assert found.error[hit].max() < 1e-3
    assert found.residual.max() < 1e-4
    assert on_sphere(found.x[hit], RADII).all()
    assert is_invariance_adversarial(net.logits, sphere_oracle(RADII), inner[hit], found.x[hit]).all()
    assert ((found.t > 0) & (found.t <= 1)).all()
    missed = on_sphere_metamer(net, inner[:5], inner[5:10], 1e6)  # nothing lies there
    assert not missed.found.any()


@pytest.mark.parametrize("gap", [torch.nan, torch.inf, 100.0])
def test_a_path_that_jumps_over_the_sphere_does_not_meet_it(gap):
    # The last number is the nuisance; inverted, whatever is above a half is no number, infinite, or far away.
    def back(z):
        return torch.where(z[:, 2:] > 0.5, torch.cat([z[:, :2], z[:, 2:] * 0 + gap], 1), z)

    net = Split(lambda x: (x, x.new_zeros(len(x))), back, 2)
    x, donor = torch.tensor([[0.6, 0.0, 0.0]]), torch.tensor([[0.0, 0.6, 1.0]])
    assert not on_sphere_metamer(net, x, donor, 1.0).found.any()
    assert on_sphere_metamer(net, x, donor, 0.7).found.all()  # 0.36 + 0.13, before the jump
    with pytest.raises(UsageError, match="radius and tolerance must be above 0"):
        on_sphere_metamer(net, x, donor, 0.0)


class Own(nn.Module):
    """A flow of somebody else's: a rotation and a scale."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Parameter(torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))[0])

    def forward(self, x):
        return 2 * x @ self.turn.T, x.new_full((len(x),), 4 * np.log(2))

    def inverse(self, z):
        return z @ self.turn / 2, z.new_full((len(z),), -4 * np.log(2))


class FreiaLike(nn.Module):
    """The calling convention of FrEIA: ``net(x, rev=False) -> (z, log_det)``."""

    def __init__(self):
        super().__init__()
        self.own, self.module_list = Own(), nn.ModuleList()

    def forward(self, x, rev=False):
        return self.own.inverse(x) if rev else self.own(x)


class ZukoLike:
    """The calling convention of zuko's transforms."""

    def __init__(self):
        self.own = Own()

    def call_and_ladj(self, x):
        return self.own(x)

    @property
    def inv(self):
        return lambda z: self.own.inverse(z)[0]


@pytest.mark.parametrize("make", [Own, FreiaLike, ZukoLike, lambda: Split(Own(), Own().inverse, 2)])
def test_flows_of_others_are_taken_as_they_are(make):
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(1))
    found = metamers(make(), x, classes=2)
    own = Own()(x)[0]
    assert found.residual.max() < 1e-5
    assert (found.logits - own[:, :2]).abs().max() < 1e-6
    assert (Own()(found.x)[0] - torch.cat([own[:, :2], own[found.donors, 2:]], 1)).abs().max() < 1e-5


def test_a_flow_of_zuko():
    import zuko

    torch.manual_seed(0)
    flow = zuko.flows.NICE(6, transforms=2, hidden_features=(8,))
    x = torch.randn(30, 6)
    with torch.no_grad():
        for net in (flow, flow().transform):
            found = metamers(net, x, classes=2)
            assert found.residual.max() < 1e-4
            z = flow().transform(x)
            assert (found.logits - z[:, :2]).abs().max() < 1e-5


def test_images_of_a_run_go_in_and_come_out(tmp_path):
    data = load("digits8")
    objective = FiRevNetObjective(net="conv:stages=2,blocks=1,width=8")
    run = unbraid.train(objective, data, out=tmp_path, steps=20, progress="none", batch_size=32)
    images, labels = data.images(np.arange(30)), torch.tensor(data.labels(np.arange(30)))
    x = to_inputs(run, images)
    assert (to_pictures(run, x) == images).all()
    found = metamers(run, x, labels=labels)
    assert found.residual.max() < 1e-3
    assert np.abs(outputs_of(as_bijective(run), x)[:, :10].numpy() - run.predict(images)).max() < 1e-4
    assert to_pictures(run, found.x).shape == images.shape
    assert run.model.training is False


def test_a_network_in_training_is_looked_at_in_evaluation_mode_and_left_as_it_was():
    net = build_bijection("conv:stages=1,blocks=1,width=4", (8, 8, 1), 2)
    net(torch.rand(8, 1, 8, 8))
    assert net.training
    z = outputs_of(net, torch.rand(4, 1, 8, 8))
    undone(net, z)
    assert net.training
    assert all(module.training for module in net.modules())


def test_what_is_not_bijective_is_refused(tmp_path):
    x = torch.randn(8, 4)
    lossy = Split(lambda v: (v.relu(), v.new_zeros(len(v))), lambda z: z, 2)
    with pytest.raises(UsageError, match="not bijective here: its inverse misses its inputs"):
        metamers(lossy, x)
    nan = Split(lambda v: (v, v.new_zeros(len(v))), lambda z: z / 0, 2)
    with pytest.raises(UsageError, match="not bijective"):
        metamers(nan, x)
    with pytest.raises(UsageError, match="cannot invert Linear: expected forward"):
        metamers(nn.Linear(4, 4), x, classes=2)
    with pytest.raises(UsageError, match="Own does not say which outputs are logits; give classes"):
        metamers(Own(), x)
    with pytest.raises(UsageError, match=r"must give \(z, log_det\), got Tensor"):
        metamers(Split(lambda v: v, lambda z: z, 2), x)
    run = unbraid.train("classifier", load("digits8"), net="mlp:width=8", out=tmp_path, steps=1, progress="none")
    with pytest.raises(UsageError, match="by 'classifier' cannot be inverted exactly; `unbraid train firevnet`"):
        metamers(run, x)


def test_donors_must_fit():
    net, (x, labels) = trained(), points(10, seed=1)
    same = torch.nonzero(labels == labels[0])[:, 0]
    donors = torch.full((10,), int(same[1]))
    with pytest.raises(UsageError, match=r"donor of input 0 is of its own class \d; choose others, or say cross_class"):
        metamers(net, x, donors, labels=labels)
    with pytest.raises(UsageError, match=r"donors must be 10 positions in 0\.\.9"):
        metamers(net, x, torch.arange(10) + 5)
    with pytest.raises(UsageError, match=r"donors must be positions \[n\] or inputs \[10, 30\]"):
        metamers(net, x, x[:, :5])
    with pytest.raises(UsageError, match="there is no donor of another class"):
        metamers(net, x[labels == 0], labels=labels[labels == 0])
    with pytest.raises(UsageError, match="give at least two"):
        metamers(net, x[:1])
    with pytest.raises(UsageError, match="steps must be at least 2"):
        interpolate(net, x, x, steps=1)


def test_the_attack_on_the_sphere_stays_on_it_and_raises_the_loss():
    torch.manual_seed(0)
    x, labels = points(64, seed=3)
    classify = build_predictor("mlp:width=16,depth=1", (SIZE,), 2)
    found = sphere_attack(classify, x, labels, steps=20, size=0.05)
    assert (found.norm(dim=1) - x.norm(dim=1)).abs().max() < 1e-4
    before, after = (nn.functional.cross_entropy(classify(v), labels).item() for v in (x, found))
    assert after > before + 0.1


def test_the_quadratic_network_of_spheres_cannot_be_attacked_on_them_when_it_is_round():
    x, labels = points(64, seed=3)
    net = build_predictor(f"quadratic:width={SIZE}", (SIZE,), 2)
    net.first.weight.data = torch.eye(SIZE)
    net.last.weight.data = torch.tensor([[-1.0], [1.0]])
    net.last.bias.data = torch.tensor([30.0, -30.0])  # between 1 and 100
    assert (net(x).argmax(1) == labels).all()
    found = sphere_attack(net, x, labels, steps=30, size=0.1)
    assert (net(found).argmax(1) == labels).all()
    net.first.weight.data[0, 0] = 12.0  # one direction too long: a needle in the inner sphere
    assert (net(sphere_attack(net, x, labels, steps=60, size=0.1)).argmax(1) != labels)[labels == 0].any()
