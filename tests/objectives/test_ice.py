"""The game of independence cross-entropy, and what a fully invertible run can do."""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import from_vectors, load
from unbraid.errors import UsageError
from unbraid.objectives import ICE, FiRevNetObjective, Inputs, label_entropy, make, reverse_gradient
from unbraid.problem import Problem
from unbraid.training import Loop

PROBLEM = Problem((6,), 100, classes=2)
SMALL = {"net": "fc:width=8,zero=false,blocks=2", "nuisance_width": 16}


def batch(seed=0, n=64):
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (n,), generator=rng)
    x = torch.randn(n, 6, generator=rng)
    x[:, [0, 3]] += 2.0 * (2 * labels[:, None] - 1)
    return Inputs(x, labels=labels)


def players(objective, seed=0):
    model = objective.build(PROBLEM, torch.Generator().manual_seed(seed))
    return model, objective.losses(model, batch(), 0, torch.Generator().manual_seed(0))


def nuisance_fit(objective, model):
    """Mean log probability of the true class by the nuisance classifier."""
    z = model.outputs(batch().images)[0]
    log_p = objective.nuisance(model)(model.net.split(z)[1]).log_softmax(1)
    return log_p.gather(1, batch().labels[:, None]).mean()


def test_five_updates_of_the_nuisance_classifier_come_before_one_of_the_bijection():
    _, losses = players(ICE(**SMALL))
    assert [player for player, _ in losses] == ["nuisance"] * 5 + ["model"]


def test_each_player_moves_itself_alone_and_in_its_own_direction():
    objective = ICE(**SMALL, inner_steps=1, w_nuisance=1.0, w_mle=0.0)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    optimizers = objective.make_optimizers(model)
    fits, states = [nuisance_fit(objective, model).item()], [copy.deepcopy(model.state_dict())]
    for player, terms in objective.losses(model, batch(), 0, torch.Generator().manual_seed(0)):
        # of the bijection's loss only what concerns the nuisance classifier
        loss = terms.terms["independence"] if player == "model" else terms.total
        optimizers[player].zero_grad()
        loss.backward(inputs=[p for group in optimizers[player].param_groups for p in group["params"]])
        optimizers[player].step()
        fits.append(nuisance_fit(objective, model).item())
        states.append(copy.deepcopy(model.state_dict()))
    assert fits[1] > fits[0]  # the nuisance classifier maximises sum_i y_i log D_i
    assert fits[2] < fits[1]  # the bijection minimises it
    moved = [{key.split(".")[0] for key in a if not torch.equal(a[key], c[key])} for a, c in pairwise(states)]
    assert moved == [{"nuisance"}, {"net"}]


def test_the_density_gets_gradients():
    objective = ICE(**SMALL)
    model, losses = players(objective)
    *_, (player, terms) = losses
    terms.total.backward()
    assert player == "model"
    assert model.prior.mean.grad[2:].abs().min() > 0
    assert model.prior.log_std.grad[2:].abs().min() > 0
    assert not model.prior.mean.grad[:2].any()  # the logits have no such density


def test_without_weights_it_is_plain_cross_entropy_bit_for_bit():
    ice, plain = ICE(**SMALL, w_nuisance=0.0, w_mle=0.0), FiRevNetObjective(net=SMALL["net"])
    *_, (_, terms) = players(ice)[1]
    ((_, expected),) = players(plain)[1]
    assert list(terms.terms) == ["cross_entropy"]
    assert torch.equal(terms.total, expected.total)
    model = plain.build(PROBLEM, torch.Generator().manual_seed(0))
    direct = torch.nn.functional.cross_entropy(model.net.logits(batch().images), batch().labels)
    assert torch.equal(expected.total, direct)


def test_the_terms_are_those_of_definition_7():
    objective = ICE(**SMALL, w_nuisance=0.3, w_mle=2.0)
    model, losses = players(objective)
    model.prior.mean.data.normal_()
    model.prior.log_std.data.uniform_(-0.5, 0.5)
    losses = objective.losses(model, batch(), 0, torch.Generator().manual_seed(0))
    *_, (_, terms) = losses
    z, log_det = model.outputs(batch().images)
    normal = torch.distributions.Normal(model.prior.mean[2:], model.prior.log_std[2:].exp())
    nats = -(normal.log_prob(z[:, 2:]).sum(1) + log_det).mean()
    assert terms.terms["likelihood"].item() == pytest.approx(2.0 * nats.item() / (6 * math.log(2)), rel=1e-5)
    assert terms.terms["independence"].item() == pytest.approx(0.3 * nuisance_fit(objective, model).item(), rel=1e-5)
    assert terms.total.item() == pytest.approx(sum(term.item() for term in terms.terms.values()), rel=1e-6)


def test_the_paper_divides_by_the_number_of_nuisance_outputs():
    model = ICE(**SMALL).build(PROBLEM, torch.Generator())
    assert ICE(**SMALL, w_nuisance=1.0, normalise=True).weight(model) == 1 / 4
    assert ICE(**SMALL).weight(model) == 0.05


def test_the_capped_reward_ends_at_the_entropy_of_the_classes():
    objective = ICE(**SMALL, cap=True, w_nuisance=1.0, w_mle=0.0)
    model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
    scores = objective.nuisance(model)[-1]
    scores.weight.data.zero_()
    scores.bias.data = torch.tensor([9.0, -9.0])  # sure, and wrong half of the time
    *_, (_, terms) = objective.losses(model, batch(), 0, torch.Generator())
    entropy = label_entropy(batch().labels, 2)
    assert entropy == pytest.approx(math.log(2), abs=0.05)
    assert terms.terms["independence"].item() == pytest.approx(-entropy)
    uncapped = ICE(**SMALL, w_nuisance=1.0, w_mle=0.0)
    *_, (_, terms) = uncapped.losses(model, batch(), 0, torch.Generator())
    assert terms.terms["independence"].item() < -4


def test_reversal_gives_the_gradients_of_both_players_at_once():
    apart, once = ICE(**SMALL, inner_steps=1, w_nuisance=0.3), ICE(**SMALL, reversal=True, w_nuisance=0.3)
    model, losses = players(apart)
    gradients = {}
    for player, terms in losses:  # nobody moves in between
        model.zero_grad()
        terms.total.backward()
        part = "nuisance" if player == "nuisance" else "net"
        gradients |= {name: p.grad.clone() for name, p in model.named_parameters() if name.startswith(part)}
    other, losses = players(once)
    ((player, terms),) = losses
    assert player == "model"
    assert list(once.make_optimizers(other)) == ["model"]
    terms.total.backward()
    found = dict(other.named_parameters())
    for name, gradient in gradients.items():
        assert (found[name].grad - gradient).abs().max() < 1e-5


def test_the_reversed_gradient_is_that_of_the_other_sign():
    x = torch.randn(4, requires_grad=True)
    y = reverse_gradient(x, 0.25)
    assert torch.equal(y, x)
    (3 * y).sum().backward()
    assert x.grad.tolist() == [-0.75] * 4


@pytest.mark.parametrize(
    "options", [{"reversal": True}, {"cap": True, "reversal": True}, {"low_memory": True}, {"logit_norm": True}]
)
def test_variants_resume_to_the_same_bytes(options, tmp_path):
    data = from_vectors(batch().images.numpy(), labels=batch().labels.numpy())
    objective = ICE(**SMALL, **options)
    for folder, stops in (("parts", (2, 4)), ("whole", (4,))):
        for steps in stops:
            unbraid.train(objective, data, out=tmp_path / folder, steps=steps, batch_size=8, progress="none")
    a, c = ((tmp_path / folder / "checkpoint.safetensors").read_bytes() for folder in ("parts", "whole"))
    assert a == c


def test_low_memory_trains_to_the_same_weights():
    def trained(low):
        objective = FiRevNetObjective(net="conv:stages=2,blocks=2,width=4", low_memory=low)
        model = objective.build(Problem((8, 8, 1), 10, classes=3), torch.Generator().manual_seed(0)).double()
        images = torch.rand(8, 1, 8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        inputs = Inputs(images, labels=torch.arange(8) % 3)
        (optimizer,) = objective.make_optimizers(model).values()
        for step in range(3):
            optimizer.zero_grad()
            objective.loss(model, inputs, step, torch.Generator().manual_seed(step)).total.backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in model.net.parameters()])

    assert (trained(True) - trained(False)).abs().max() < 1e-8


def test_a_run_encodes_all_outputs_and_decodes_them_to_the_very_bytes(tmp_path):
    data = load("digits8")
    run = unbraid.train(
        FiRevNetObjective(net="conv:stages=2,blocks=1,width=8"),
        data,
        out=tmp_path,
        steps=5,
        progress="none",
        batch_size=32,
    )
    images = data.images(np.arange(20))
    codes = run.encode(images)
    assert codes.shape == (20, 64)
    assert (codes[:, :10] == run.predict(images)).all()
    assert (run.decode(codes) == images).all()
    assert {"confidence", "entropy", "bits"} == set(run.describe(images))
    assert run.history()["bits"][0] > 0


def test_images_that_do_not_fit_get_margins(tmp_path):
    data = load("digits8")
    run = unbraid.train(
        ICE(net="conv:stages=3,squeezes=2,blocks=1,width=4", nuisance_width=8),
        data, out=tmp_path, steps=2, progress="none", batch_size=8,
    )  # fmt: skip
    images = data.images(np.arange(3))
    assert run.encode(images).shape == (3, 256)  # 8x8 in 16x16
    assert (run.decode(run.encode(images)) == images).all()


def test_the_learning_rate_falls_at_its_steps():
    objective = FiRevNetObjective(net="fc:width=4", drop_at=(2, 3), learning_rate=0.1)
    model = objective.build(PROBLEM, torch.Generator())
    optimizers = objective.make_optimizers(model)
    rates = []
    for step in range(4):
        objective.prepare(model, optimizers, step)
        rates.append(optimizers["model"].param_groups[0]["lr"])
    assert rates == pytest.approx([0.1, 0.1, 0.02, 0.004])


def test_the_loss_falls_on_the_loop_in_either_optimizer():
    for optimizer in ("adamax", "adam", "sgd"):
        objective = FiRevNetObjective(net="fc:width=8", optimizer=optimizer, learning_rate=1e-2)
        model = objective.build(PROBLEM, torch.Generator().manual_seed(0))
        loop = Loop(objective, model, lambda _: batch(), 0, torch.device("cpu"))
        losses = []
        for _ in range(20):
            loop.advance()
            losses.append(loop.means.take()["loss"])
        assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "lion"}, "lion"),
        ({"w_mle": -1.0}, "w_mle must be a number that is not negative, got -1.0"),
        ({"inner_steps": 0}, "inner_steps must be at least 1, got 0"),
        ({"drop_at": (-1,)}, "drop_at must be steps of training"),
        ({"nuisance_width": 0}, "nuisance_width must be at least 1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(UsageError, match=message):
        make("ice", options)


def test_one_set_of_classes_at_a_time():
    problem = Problem((8, 8, 1), 9, factor_sizes=(3, 3), factor_names=("x", "y"))
    with pytest.raises(UsageError, match=r"factor must be a single one, got 'x\+y'"):
        FiRevNetObjective(factor="x+y").build(problem, torch.Generator())


def test_conditional_priors_and_normalised_logits_resume_and_come_back(tmp_path):
    data = load("digits8")
    objective = ICE(net="conv:stages=2,blocks=1,width=8", conditional_prior=True, logit_norm=True)
    for folder, stops in (("parts", (2, 5)), ("whole", (5,))):
        for steps in stops:
            run = unbraid.train(objective, data, out=tmp_path / folder, steps=steps, batch_size=16, progress="none")
    a, c = ((tmp_path / folder / "checkpoint.safetensors").read_bytes() for folder in ("parts", "whole"))
    assert a == c
    images = data.images(np.arange(30))
    codes = run.encode(images)
    assert run.predict(images) == pytest.approx(codes[:, :10])
    assert np.abs(run.invert(codes) - images / 255).max() < 1e-4
    moved = [weights for name, weights in run.model.named_parameters() if "given" in name]
    assert len(moved) == 2
    assert all(weights.any() for weights in moved)  # they began at zero
    with pytest.raises(UsageError, match="factors nothing out"):
        unbraid.train(ICE(net="fc", conditional_prior=True), data, out=tmp_path / "fc", steps=1, progress="none")
