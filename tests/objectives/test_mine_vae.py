"""Mutual information by small networks, and the VAE that pays for what latents know of others' labels."""

import math

import pytest
import torch

import unbraid
from unbraid.data import FewLabelsStream
from unbraid.errors import UsageError
from unbraid.nets import PairStatistics, information_bound
from unbraid.objectives import BetaVAE, Inputs, Problem, S2MineVAE, label_information

SMALL = {"net": "mlp:width=32", "latents": 3}
PROBLEM = Problem((16, 16, 1), 144, factor_sizes=(12, 12))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(dots):
    found = FewLabelsStream(dots, 8, 0, labels=50)(0)

    def floats(images):
        return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255

    factors = torch.from_numpy(found.partner_factors)
    return Inputs(floats(found.images), partners=floats(found.partners), partner_factors=factors)


def test_the_bound_is_the_information_where_the_network_is_the_log_ratio():
    # p = .4 .1 .1 .4 on four cells, product .25 each: T = log(p / .25), mean e^T over the product = 1,
    # and the mean of T over p is .8 ln 1.6 + .2 ln .4.
    ratio = torch.tensor([1.6, 0.4, 0.4, 1.6]).log()
    joint = ratio[torch.tensor([0, 0, 0, 0, 1, 2, 3, 3, 3, 3])]
    exact = 0.8 * math.log(1.6) + 0.2 * math.log(0.4)
    assert float(information_bound(joint, ratio)) == pytest.approx(exact, rel=1e-5)
    # A constant is not seen, and any other network gives less.
    assert float(information_bound(joint + 5, ratio + 5)) == pytest.approx(exact, rel=1e-4)
    assert float(information_bound(2 * joint, 2 * ratio)) < exact


def test_every_pair_has_a_network_of_its_own():
    net = PairStatistics(3, 2, width=5, generator=generator())
    codes, labels = torch.randn(7, 3, generator=generator(1)), torch.randn(7, 2, generator=generator(2))
    found = net(codes, labels)
    assert found.shape == (7, 3, 2)
    for r in range(3):
        for k in range(2):
            weights = torch.stack([net.of_code[r, k], net.of_label[r, k]], dim=1)
            hidden = torch.nn.functional.elu(torch.stack([codes[:, r], labels[:, k]], dim=1) @ weights.T)
            torch.testing.assert_close(found[:, r, k], hidden @ net.out[r, k])
    with pytest.raises(UsageError, match="width must be at least 1"):
        PairStatistics(1, 1, width=0)


def test_estimates_of_gaussians_come_near_the_truth_from_below():
    # Correlation .9: -ln(1 - .81) / 2 = .830 nats; correlation 0: none. Both learn side by side.
    rng, net = generator(), PairStatistics(1, 2, generator=generator())

    def draw(n):
        x, noise = torch.randn(n, 1, generator=rng), torch.randn(n, 2, generator=rng)
        return x, torch.cat([0.9 * x + math.sqrt(0.19) * noise[:, :1], noise[:, 1:]], dim=1)

    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(500):
        adam.zero_grad()
        (-label_information(net, *draw(256)).sum()).backward()
        adam.step()
    with torch.no_grad():
        related, alone = label_information(net, *draw(20_000))[0].tolist()
    assert 0.5 < related < 0.9
    assert abs(alone) < 0.1


def test_latents_pay_for_other_labels_and_not_for_their_own(dots):
    objective = S2MineVAE(**SMALL, labels=50)
    model, inputs = objective.build(PROBLEM, generator()), batch(dots)
    mean = objective.posterior(model, inputs.partners).mean
    found = objective.information(model, mean, inputs.partner_factors).detach()
    assert found.shape == (2, 2)
    assert found.diagonal().tolist() == [0, 0]
    loss = objective.labelled_loss(model, mean, inputs.partner_factors)
    assert float(loss.detach()) == pytest.approx(float(found[0, 1] ** 2 + found[1, 0] ** 2))
    # Labels 0..11 are seen in [-1, 1].
    labels = 2 * inputs.partner_factors / 11 - 1
    whole = label_information(model.get_submodule("statistics"), mean[:, :2], labels).detach()
    torch.testing.assert_close(found[0, 1], whole[0, 1])


def test_each_player_moves_its_own_part(dots):
    objective, noise = S2MineVAE(**SMALL, labels=50), generator()
    model, inputs = objective.build(PROBLEM, generator()), batch(dots)
    players = objective.optimizers(model)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    moved = {}
    for player, terms in objective.losses(model, inputs, 0, noise):
        players[player].zero_grad()
        terms.total.backward()
        players[player].step()
        moved[player] = {n.split(".")[0] for n, v in model.state_dict().items() if not torch.equal(v, before[n])}
        before = {name: value.clone() for name, value in model.state_dict().items()}
    assert moved == {"model": {"encoder", "decoder"}, "statistics": {"statistics"}}
    assert players["statistics"].param_groups[0]["lr"] == 0.01


def test_what_the_networks_find_falls_with_the_weight(dots, tmp_path):
    def left(weight):
        objective = S2MineVAE(**SMALL, labels=144, gamma_sup=weight, beta=1.0, learning_rate=3e-3)
        run = unbraid.train(objective, dots, out=tmp_path / str(weight), steps=300, progress="none")
        return run.history()["label_loss"].to_list()[-1]

    assert left(1000.0) < 0.2 * left(0.0)


def test_information_of_no_weight_changes_nothing(dots, tmp_path):
    options = {"steps": 3, "progress": "none", "batch_size": 8}
    watched = unbraid.train(S2MineVAE(gamma_sup=0.0, labels=50, **SMALL), dots, out=tmp_path / "a", **options)
    plain = unbraid.train(BetaVAE(**SMALL), dots, out=tmp_path / "b", **options)
    left, right = (run.model.state_dict() for run in (watched, plain))
    assert all(torch.equal(left[name], right[name]) for name in right)


def test_other_losses_are_refused():
    with pytest.raises(UsageError, match="label_loss of 's2-mine-vae' must be mine, got 'xent'; s2-beta-vae has"):
        S2MineVAE(label_loss="xent")
    with pytest.raises(UsageError, match="statistics_width must be"):
        S2MineVAE(statistics_width=0)
