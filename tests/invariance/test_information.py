"""Planes in numbers, information bounds, and theorem 8 with what it leaves unsaid."""

import math

import numpy as np
import pytest
import torch
from sphere_toys import RADII, points, trained

from unbraid.errors import UsageError
from unbraid.invariance import (
    Split,
    decision_plane,
    dependence_lower_bound,
    estimated,
    estimated_information,
    estimated_theorem8,
    information,
    label_entropy,
    last_coordinate_shift,
    metameric_shift,
    mi_lower_bound,
    noise_shift,
    on_sphere_metamer,
    plane_basis,
    redundant_gaussians,
    redundant_oracle,
    reweighting_shift,
    sphere_oracle,
    theorem8,
    train_nuisance,
    train_reader,
    unlike_published,
)

LN2 = math.log(2)
SMALL = {"width": 32, "depth": 2, "steps": 300}


def test_a_plane_goes_through_its_points_and_its_map_is_what_the_network_says():
    net, (x, _) = trained(), points(10, seed=1)
    plane = decision_plane(net, x[0], x[1], radii=RADII, size=21)
    basis = plane_basis(x[0], x[1])
    assert (basis @ basis.T - torch.eye(2)).abs().max() < 1e-12
    assert (plane.points @ basis - x[:2]).abs().max() < 1e-5
    a, b = plane.axis[3], plane.axis[15]
    expected = net.logits((a * basis[0] + b * basis[1]).float()[None]).argmax()
    assert plane.semantic[15, 3] == expected
    assert plane.axis[-1] == pytest.approx(12)
    assert plane.nuisance is None


def test_random_planes_are_right_and_those_of_metamers_have_a_wrong_sector():
    net, (x, labels) = trained(), points(200, seed=1)
    inner, outer = x[labels == 0][:3], x[labels == 1][:3]
    random = decision_plane(net, inner[0], outer[1], size=3).stats["semantic"]
    assert random.outer_called_inner <= 0.02
    assert random.inner_called_outer <= 0.02
    found = on_sphere_metamer(net, inner, outer, RADII[1])
    wrong = [
        decision_plane(net, a, c, size=3).stats["semantic"].outer_called_inner
        for a, c in zip(inner, found.x, strict=True)
    ]
    assert min(wrong) >= 0.1


def test_a_plane_has_the_numbers_of_the_nuisance_classifier_too():
    net, (x, _) = trained(), points(4, seed=1)
    plane = decision_plane(
        net, x[0], x[1], size=3, nuisance=lambda z: torch.eye(2)[torch.zeros(len(z), dtype=torch.long)]
    )
    assert plane.stats["nuisance"].outer_called_inner == 1
    assert plane.nuisance.tolist() == [[0] * 3] * 3
    for p, q, message in ((0 * x[0], x[1], "p is the origin"), (x[0], -2 * x[0], "span no plane")):
        with pytest.raises(UsageError, match=message):
            plane_basis(p, q)


def test_the_bound_is_zero_without_and_entropy_with_information():
    rng = torch.Generator().manual_seed(0)
    labels = torch.randint(2, (4000,), generator=rng)
    noise = torch.randn(4000, 3, generator=rng)
    told = torch.cat([2.0 * labels[:, None] - 1, noise[:, 1:]], 1)
    for z, low, high in ((noise, 0, 0.02), (told, LN2 - 0.02, LN2 + 1e-6)):
        reader = train_reader(z[:2000], labels[:2000], **SMALL)
        assert low <= mi_lower_bound(reader, z[2000:], labels[2000:]) <= high


def test_the_bound_of_a_normal_shift_approaches_the_truth_from_below():
    # y fair coin, z = N(+-1, 1): I = H(y) - E h(p(y|z)), by quadrature.
    grid = np.linspace(-12, 12, 200_001)
    plus, minus = (np.exp(-0.5 * (grid - m) ** 2) / np.sqrt(2 * np.pi) for m in (1, -1))
    both = (plus + minus) / 2
    p = plus / (plus + minus)
    with np.errstate(divide="ignore", invalid="ignore"):
        h = -np.nan_to_num(p * np.log(p)) - np.nan_to_num((1 - p) * np.log(1 - p))
    truth = LN2 - (both * h).sum() * (grid[1] - grid[0])
    rng = torch.Generator().manual_seed(0)
    labels = torch.randint(2, (20_000,), generator=rng)
    z = torch.randn(20_000, 1, generator=rng) + (2.0 * labels - 1)[:, None]
    reader = train_reader(z[:10_000], labels[:10_000], **SMALL)
    found = mi_lower_bound(reader, z[10_000:], labels[10_000:])
    assert truth == pytest.approx(0.336, abs=0.002)
    assert found == pytest.approx(truth, abs=0.015)


def test_entropy_of_labels():
    assert label_entropy(torch.tensor([0, 1, 2, 3])) == pytest.approx(math.log(4))
    assert label_entropy(torch.tensor([1, 1])) == 0


def test_dependence_of_normal_pairs_is_bounded_from_below():
    # I = -log(1 - rho^2) / 2 nats for jointly normal pairs
    rng = torch.Generator().manual_seed(0)
    a, noise = torch.randn(2, 8000, 1, generator=rng)
    truth = -0.5 * math.log(1 - 0.9**2)
    found = dependence_lower_bound(a, 0.9 * a + math.sqrt(1 - 0.81) * noise, **SMALL | {"steps": 600})
    assert 0.75 * truth < found < truth + 0.05
    assert dependence_lower_bound(a, noise, **SMALL) < 0.02


def test_a_network_trained_by_cross_entropy_leaves_the_class_in_what_it_ignores():
    net, (x, labels), (tx, ty) = trained(), points(2000, seed=2), points(1000, seed=3)
    found = train_nuisance(net, x, labels, tx, ty, width=64, depth=2, steps=300)
    assert found.test_error < 0.01
    assert found.information > 0.95 * found.entropy
    assert found.chance == pytest.approx(0.5, abs=0.03)
    again = train_nuisance(net, x, labels, tx, ty, width=64, depth=2, steps=300)
    assert again.information == found.information
    state = found.reader.state_dict()
    again.reader.load_state_dict(state)
    assert torch.equal(again(net.split(net(tx)[0])[1]), found(net.split(net(tx)[0])[1]))


def test_the_bound_is_not_lifted_by_the_few_samples_it_is_taken_on(monkeypatch):
    # Two copies of one of 64 values share log 64 nats, and T = +-4 is nearly the best ratio. Among 80 shuffled pairs
    # there is often no equal one: the logarithm of their mean then says 8 nats, the mean itself is right on average.
    def reader(*_, **__):
        return lambda pairs: torch.stack([0 * pairs[:, 0], torch.where(pairs[:, 0] == pairs[:, 1], 4.0, -4.0)], 1)

    monkeypatch.setattr(estimated, "train_reader", reader)
    values = torch.randint(64, (200, 160, 1), generator=torch.Generator().manual_seed(0)).float()
    found = [dependence_lower_bound(one, one, seed=seed) for seed, one in enumerate(values)]
    assert np.mean(found) == pytest.approx(5 - math.exp(4) / 64 - 63 / 64 * math.exp(-4), abs=0.2)  # se 0.05
    assert np.mean(found) < math.log(64) + 0.15


def test_samples_that_were_drawn_twice_stay_in_one_half():
    # Random classes of random points: who has seen a point knows its class, and nobody else does.
    rng = torch.Generator().manual_seed(0)
    x, labels = torch.randn(300, 4, generator=rng), torch.randint(2, (300,), generator=rng)
    x, labels = reweighting_shift(x, labels, (torch.arange(300) < 60).double())
    net = Split(lambda v: (v, v.new_zeros(len(v))), lambda z: z, 2)
    assert estimated_information(net, x, labels, **SMALL).y_sn < 0.1
    with pytest.raises(UsageError, match="x must hold samples that differ"):
        estimated_information(net, x[:1].expand(100, 4), labels[:100], **SMALL)


def test_a_class_that_only_the_test_has_is_counted():
    net = Split(lambda v: (v, v.new_zeros(len(v))), lambda z: z, 2)
    x, labels = torch.randn(40, 4, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    found = train_nuisance(net, x, labels, x, labels + 1, width=8, depth=1, steps=5)
    assert found(x[:, 2:]).shape == (40, 3)


def first(s, n):  # noqa: ARG001
    return s


def coins(rule):
    """p(y, z_s, z_n) with z_s, z_n fair coins and y a function of them."""
    table = np.zeros((2, 2, 2))
    for s in range(2):
        for n in range(2):
            table[rule(s, n), s, n] += 1 / 4
    return table


def test_informations_keep_the_chain_rule():
    table = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 3, 4)
    found = information(table)
    # I(y; z_s | z_n) = sum_n p(n) I(y; z_s | n), directly
    direct = 0.0
    for n in range(4):
        p = table[:, :, n] / table[:, :, n].sum()
        direct += table[:, :, n].sum() * (p * np.log(p / (p.sum(0) * p.sum(1)[:, None]))).sum()
    assert found.y_s_given_n == pytest.approx(direct)
    assert found.joint == pytest.approx(found.s_n + (found.y_sn - found.y_s))  # I(y, s; n) = I(s; n) + I(y; n | s)


def test_theorem_a_the_premise_fails_where_the_nuisance_knows_the_class():
    before = np.zeros((2, 2, 2))
    before[0, 0, 0] = before[1, 1, 1] = 1 / 2
    after = np.zeros((2, 2, 2))  # z_s randomised, y = z_n
    for s in range(2):
        for n in range(2):
            after[n, s, n] = 1 / 4
    found = theorem8(before, after)
    assert not found.premise
    assert not found.conclusion
    assert (found.before.y_s, found.after.y_s) == (pytest.approx(LN2), pytest.approx(0))
    assert found.slack == pytest.approx(LN2)


def test_theorem_b_logits_keep_what_they_know_when_an_independent_nuisance_is_reweighted():
    before = coins(first)
    after = before * np.array([1.6, 0.4])
    found = theorem8(before, after)
    assert found.premise
    assert found.conclusion
    assert found.after.y_s == pytest.approx(LN2)
    assert found.missing == ()


def test_theorem_c_exclusive_or_fulfils_the_premise_and_lacks_joint_independence():
    xor = coins(lambda s, n: s ^ n)
    found = theorem8(xor, xor)
    assert found.premise
    assert found.after.y_s == pytest.approx(0)
    assert found.after.y_sn == pytest.approx(LN2)
    assert found.after.joint == pytest.approx(LN2)
    assert found.missing == ("z_n is not independent of (y, z_s) jointly after the shift",)
    # the conclusion fails once training had what the shift takes: both premises hold all the same
    broken = theorem8(coins(first), xor)
    assert broken.premise
    assert not broken.conclusion
    assert "missing assumption: z_n is not independent" in str(broken)


def test_less_information_in_the_input_is_flagged():
    after = np.full((2, 2, 2), 1 / 8)
    found = theorem8(coins(first), after)
    assert found.premise
    assert not found.conclusion
    assert found.missing == ("x does not tell as much about y after the shift as before",)


def test_tables_must_be_probabilities():
    with pytest.raises(UsageError, match=r"sum to 1, got shape \(2, 2, 2\) with sum 8"):
        information(np.ones((2, 2, 2)))


def toy(n, seed):
    data = redundant_gaussians(n, seed=seed)
    return torch.tensor(data.images(np.arange(n))), torch.tensor(data.labels())


def test_the_redundant_gaussians_are_as_separable_as_said():
    x, labels = toy(50_000, 0)
    assert (redundant_oracle(x) == labels).double().mean() == pytest.approx(0.9977, abs=0.001)
    assert ((x[:, 0] > 0).long() == labels).double().mean() == pytest.approx(0.9772, abs=0.003)


def test_theorem_estimated_on_networks_without_training():
    # Logits (-x_0, x_0): under a metameric shift, which x_3 survives, they lose what the oracle asks of x_3.
    order = torch.tensor([0, 1, 2, 3, 4, 5])
    net = Split(lambda x: (x[:, order], x.new_zeros(len(x))), lambda z: z[:, order.argsort()], 2)
    x, labels = toy(4000, 1)
    shifted = metameric_shift(net, x, redundant_oracle)
    found = estimated_theorem8(net, (x, labels), shifted, **SMALL)
    assert found.estimated
    assert not found.premise  # x_3 stays in the nuisance
    assert found.before.y_n > 0.5
    assert found.slack > 0.2
    assert "lower bounds" in str(found)
    # All of x_0 + x_3 in the first output, the rest independent of everything: both hold.
    turn = torch.eye(6)
    turn[0, 0] = turn[0, 3] = turn[3, 0] = 0.5**0.5
    turn[3, 3] = -(0.5**0.5)
    net = Split(lambda x: (x @ turn.T, x.new_zeros(len(x))), lambda z: z @ turn, 2)
    found = estimated_theorem8(net, (x, labels), metameric_shift(net, x, redundant_oracle), **SMALL)
    assert found.premise
    assert found.conclusion
    assert found.before.s_n < 0.05


def test_shifts_do_what_they_say():
    x, labels = toy(2000, 2)
    rows, drawn = reweighting_shift(x, labels, (x[:, 1] > 0).double())
    assert (rows[:, 1] > 0).all()
    assert (redundant_oracle(rows) == drawn).double().mean() > 0.99
    noisy, same = noise_shift(x, labels, 0.5)
    assert torch.equal(same, labels)
    assert (noisy - x).std().item() == pytest.approx(0.5, abs=0.02)
    spheres, _ = points(100, seed=1)
    moved, classes = last_coordinate_shift(spheres, sphere_oracle(RADII), RADII[1])
    assert (classes == 1).all()
    assert torch.equal(moved[:, :-1], spheres[:, :-1])
    with pytest.raises(UsageError, match="weights must be 2000 numbers"):
        reweighting_shift(x, labels, -torch.ones(2000))


def test_planes_in_which_the_nuisance_classifier_errs_are_said_to_be_unlike_the_published_ones():
    net, (x, labels) = trained(), points(400, seed=1)
    inner, outer = x[labels == 0], x[labels == 1]

    def planes(reader):
        return {"two points": decision_plane(net, inner[0], outer[0], size=3, nuisance=reader)}

    def always(name):
        return lambda nuisance: torch.eye(2)[name].expand(len(nuisance), 2)

    assert unlike_published(planes(always(1))) == ""  # nothing of the outer circle is called inner
    said = unlike_published(planes(always(0)))
    assert said.startswith("In the plane of two points the nuisance classifier calls 100.0% of the outer circle inner")
    assert unlike_published({"alone": decision_plane(net, inner[0], outer[0], size=3)}) == ""
    assert unlike_published({}) == ""


def test_a_nuisance_classifier_comes_back_from_its_state_and_training_it_again_is_the_same():
    net, (x, labels) = trained(), points(300, seed=1)
    options = {"width": 16, "depth": 1, "steps": 60, "standardise": True}
    first, again = (train_nuisance(net, x, labels, x, labels, seed=3, **options) for _ in range(2))
    assert (first.train_error, first.information) == (again.train_error, again.information)
    z = net.split(net(x)[0])[1]
    other = train_nuisance(net, x, labels, x, labels, seed=4, **options)
    assert not torch.equal(other(z), first(z))
    other.reader.load_state_dict(first.reader.state_dict())
    assert torch.equal(other(z), first(z))
