"""Bottlenecks of a few values for each latent: values, gradients, decay, what is recorded, what scores count."""

import json

import numpy as np
import pytest
import torch

import unbraid
from unbraid import nets, objectives
from unbraid.data import load, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import FSQ, QLAE, BetaVAE, Inputs, Problem, Tripod
from unbraid.training import Loop, problem_of

SMALL = {"net": "mlp:width=16", "latents": 3}
PROBLEM = Problem((8, 8, 1), 100)


def batch(n=32):
    return torch.rand(n, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def model_of(objective):
    return objective.make_model(PROBLEM, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("values", [2, 5, 12])
def test_a_grid_has_exactly_its_values_ends_included(values):
    codes = torch.linspace(-1, 1, 1001)[:, None]
    found, chosen = nets.on_grid(codes, values)
    torch.testing.assert_close(found.unique(), torch.linspace(-1, 1, values))
    assert (chosen.unique() == torch.arange(values)).all()
    assert (found - codes).abs().max() <= 1 / (values - 1) + 1e-6


def test_gradients_pass_a_grid_as_if_nothing_was_rounded():
    codes = torch.linspace(-0.9, 0.9, 7)[:, None].requires_grad_()
    (gradient,) = torch.autograd.grad(nets.straight_through(codes, nets.on_grid(codes, 12)[0]).sum(), codes)
    assert (gradient == 1).all()


def test_latents_of_a_grid_begin_spread_out_and_not_at_one_end():
    objective = FSQ(**SMALL)
    model = model_of(objective)
    codes, _, chosen = objective.quantised(model, batch(64))
    torch.testing.assert_close(codes.atanh().mean(0), torch.zeros(3), atol=1e-4, rtol=0)
    assert (nets.distinct_values(chosen, 12) >= 6).all()
    plain = FSQ(**SMALL, normalise=False)
    same = model_of(plain)
    torch.testing.assert_close(plain.quantised(same, batch())[0], same.encoder(batch()).tanh())
    with pytest.raises(UsageError, match="batch_size must be at least 2, got 1"):
        objective.quantised(model, batch(1))
    assert objective.quantised(model.eval(), batch(1))[0].shape == (1, 3)


def test_codebooks_give_the_nearest_value():
    books = nets.Codebooks(2, 3)
    torch.testing.assert_close(books.values[0], torch.tensor([-0.5, 0.0, 0.5]))
    with torch.no_grad():
        books.values[1] = torch.tensor([1.0, -3.0, 0.2])
    found, chosen = books(torch.tensor([[0.26, 0.7], [-9.0, -1.2]]))
    torch.testing.assert_close(found, torch.tensor([[0.5, 1.0], [-0.5, 0.2]]))
    assert chosen.tolist() == [[2, 0], [0, 2]]
    assert nets.distinct_values(chosen, 3).tolist() == [2, 2]
    assert nets.distinct_values(chosen[:1], 3).tolist() == [1, 1]


def test_only_the_quantisation_term_moves_values():
    objective = QLAE(**SMALL)
    model = model_of(objective)
    books = model.get_submodule("codebooks").values
    terms = objective.loss(model, Inputs(batch()), 0, torch.Generator()).terms
    for name in ("reconstruction", "commitment"):
        (gradient,) = torch.autograd.grad(terms[name], books, retain_graph=True, allow_unused=True)
        assert gradient is None or not gradient.any()
    (gradient,) = torch.autograd.grad(terms["quantisation"], books, retain_graph=True)
    assert gradient.any()
    weights = list(model.encoder.parameters())
    for name, moves in (("reconstruction", True), ("commitment", True), ("quantisation", False)):
        found = torch.autograd.grad(terms[name], weights, retain_graph=True, allow_unused=True)
        assert any(g is not None and bool(g.any()) for g in found) is moves


def test_terms_of_rounding_are_those_published_beside_a_mean_over_pixels():
    objective = QLAE(**SMALL, quantisation=0.01, commitment=0.03)
    model = model_of(objective)
    codes, values, _ = objective.quantised(model, batch())
    terms = objective.loss(model, Inputs(batch()), 0, torch.Generator()).terms
    mean = (codes - values).square().mean().item()
    assert terms["quantisation"].item() == pytest.approx(64 * 0.01 * mean, rel=1e-5)
    assert terms["commitment"].item() == pytest.approx(64 * 0.03 * mean, rel=1e-5)


def test_decay_is_for_weights_and_not_for_biases_or_values():
    # With gradients of zero AdamW moves nothing but what decays: by the rate times the decay.
    objective = QLAE(**SMALL, weight_decay=0.5, learning_rate=0.1)
    model = model_of(objective)
    optimizer = objective.optimizers(model)["model"]
    before = {name: value.clone() for name, value in model.named_parameters()}
    for value in model.parameters():
        value.grad = torch.zeros_like(value)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(1)  # biases begin at zero
    optimizer.step()
    for name, value in model.named_parameters():
        kept = 0.95 if value.ndim > 1 and name != "codebooks.values" else 1
        torch.testing.assert_close(value.detach(), kept * (before[name] + 1), msg=name)
    assert len(optimizer.param_groups) == 2
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(before)


def test_weight_decay_goes_with_any_autoencoder_and_zero_is_plain_adam():
    plain = BetaVAE(**SMALL)
    assert type(plain.optimizers(model_of(plain))["model"]) is torch.optim.Adam
    decayed = BetaVAE(**SMALL, weight_decay=0.1)
    groups = decayed.optimizers(model_of(decayed))["model"].param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0]
    with pytest.raises(UsageError, match="weight_decay goes with optimizer adam"):
        BetaVAE(**SMALL, weight_decay=0.1, optimizer="adagrad")


@pytest.mark.parametrize("cls", [QLAE, FSQ])
def test_a_run_gives_values_says_so_and_scores_count_them(cls, dots, tmp_path):
    objective = cls(**SMALL, values=5)
    run = unbraid.train(objective, dots, out=tmp_path / "run", steps=30, progress="none", log_every=10)
    codes = run.encode(dots.images(np.arange(144)))
    assert all(len(np.unique(column)) <= 5 for column in codes.T)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["objective"]["codes"] == "discrete"
    assert unbraid.open_run(tmp_path / "run").discrete_codes
    row = run.history().to_dicts()[-1]
    assert 0 <= row["active"] <= 3
    assert 1 <= row["used_values"] <= 5
    scores = unbraid.evaluate(run, dots, metrics=["mig", "infomec"], train=200, test=100)
    assert scores["mig"].settings["binning"] == "values"
    assert scores["infomec"].settings["estimator"] == "values"
    told = {"mig": {"binning": "width"}}
    assert unbraid.evaluate(run, dots, "mig", train=200, test=100, options=told)["mig"].settings["binning"] == "width"
    with pytest.raises(UsageError, match="there is no sampled representation"):
        run.encode(dots.images(np.arange(2)), kind="sampled")


def test_a_run_of_other_codes_records_nothing_new(dots, tmp_path):
    run = unbraid.train(BetaVAE(**SMALL), dots, out=tmp_path, steps=1, progress="none")
    assert not run.discrete_codes
    assert "codes" not in run.info["objective"]


@pytest.mark.parametrize(("cls", "values"), [(QLAE, 1), (FSQ, 0)])
def test_one_value_is_no_code(cls, values):
    with pytest.raises(UsageError, match=f"values must be at least 2 for each latent, got {values}"):
        cls(values=values)


def test_tripod_is_fsq_with_two_penalties_in_the_scale_of_means(dots):
    written = ("klm:weight=1e-4,scale=mean", "nhp:weight=1e-2,scale=mean,stages=inner")
    found = {}
    for objective in (Tripod(**SMALL), FSQ(**SMALL, penalties=written)):
        model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
        loop = Loop(objective, model, make_stream("images", dots, 16, 0), 0, torch.device("cpu"), "fp32")
        found[objective.name] = loop.terms_at(0)["model"]
    assert found["tripod"] == found["fsq"]
    assert {"klm", "nhp"} <= set(found["tripod"])
    assert [entry.name for entry in Tripod(klm=0, penalties=("bio",)).active_penalties] == ["nhp", "bio"]


def test_penalties_see_codes_before_rounding_and_decoders_rounded_ones():
    objective = FSQ(**SMALL)
    codes = objective.loss(model_of(objective), Inputs(batch()), 0, torch.Generator()).codes
    torch.testing.assert_close(codes.sample, nets.on_grid(codes.mean, 12)[0])
    assert not torch.equal(codes.sample, codes.mean)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qlae", "fsq"])
def test_latents_stay_active_and_tell_images_apart(name, tmp_path):
    # 768 images of four factors, twice as many latents. What rounding gains in modularity takes far more steps.
    data = load("sprites32:orientation=0,scale=0+2+3+5,x=::4,y=::4")
    objective = objectives.make(name, {"latents": 8})
    run = unbraid.train(objective, data, out=tmp_path, steps=2_000, progress="none", log_every=100)
    images = data.images(np.arange(768)) / 255.0
    mean = images.mean(0).clip(1e-6, 1 - 1e-6)
    blind = -(images * np.log(mean) + (1 - images) * np.log(1 - mean)).sum((1, 2, 3)).mean()
    row = run.history().to_dicts()[-1]
    assert row["active"] >= 4
    assert row["used_values"] >= 4
    assert row["reconstruction"] < blind / 3


def test_recombination_is_refused_where_codes_are_rounded():
    with pytest.raises(UsageError, match="recombine is for ae"):
        objectives.get("qlae")(recombine=10)
