"""Options of the likelihood and of the optimiser, reached through objectives: in the loss, the record and formulas."""

import math

import numpy as np
import pytest
import torch

import unbraid
from unbraid import nets
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.objectives import AE, BetaVAE, Inputs, Problem, formula, make, options_of
from unbraid.theory import decoder_of, linear_betas
from unbraid.training import open_run
from unbraid.training.stacked import stackable

SMALL = {"net": "mlp:width=8", "latents": 2}


def images(seed=0, n=5):
    return torch.rand((n, 1, 4, 4), generator=torch.Generator().manual_seed(seed))


def test_the_scale_of_a_gaussian_weighs_squared_errors_and_normalised_makes_a_density():
    # -log N(x | m, s^2) per pixel is (x - m)^2 / (2 s^2) + log(s sqrt(2 pi)); torch's own density is the other way.
    output, target = images(0), images(1)
    found = make("vae", {"likelihood": "gaussian:scale=0.1,normalised=true"}).reconstruction(output, target)
    expected = -torch.distributions.Normal(output, 0.1).log_prob(target).sum((1, 2, 3))
    assert torch.allclose(found, expected, rtol=1e-5)
    plain = BetaVAE(likelihood="gaussian").reconstruction(output, target)
    assert torch.allclose(plain, (output - target).square().sum((1, 2, 3)))
    weighed = BetaVAE(likelihood="gaussian:scale=0.1").reconstruction(output, target)
    assert torch.allclose(weighed, 50 * plain)


def test_without_their_entropy_perfect_grey_pixels_cost_nothing_and_gradients_stay():
    target = images(1).clamp(0.05, 0.95)
    perfect = torch.logit(target).requires_grad_()
    usual, less = AE(**SMALL), AE(likelihood="bernoulli:subtract_entropy=true", **SMALL)
    assert less.reconstruction(perfect, target).tolist() == pytest.approx([0] * 5, abs=1e-4)
    assert usual.reconstruction(perfect, target).min() > 1
    other = images(2).requires_grad_()
    gradients = [torch.autograd.grad(each.reconstruction(other, target).sum(), other)[0] for each in (usual, less)]
    assert torch.allclose(*gradients)


def test_wrong_options_are_refused_by_name(tmp_path):
    data = load("mini-sprites")
    cases = {"gaussian:width=2": "scale", "gaussian:scale=-1": "positive", "bernoulli:subtract_entropy=maybe": "bool"}
    for text, hint in cases.items():
        with pytest.raises(UsageError, match=hint):
            unbraid.train(BetaVAE(likelihood=text, **SMALL), data, steps=1, out=tmp_path / "run", progress="none")
    with pytest.raises(UsageError, match="adagrad"):
        BetaVAE(optimizer="adagard")


def test_a_run_records_its_likelihood_and_optimiser_and_goes_on_to_the_same_bytes(tmp_path):
    words = "train beta-vae --data mini-sprites --net mlp:width=8 --latents 2 --beta 2 --optimizer adagrad"
    words += " --learning-rate 1e-2 --likelihood gaussian:scale=0.2 --progress none --json"
    for folder, stops in (("whole", (6,)), ("resumed", (3, 6))):
        for steps in stops:
            assert main([*words.split(), "--steps", str(steps), "--out", str(tmp_path / folder)]) == 0
    whole, resumed = (open_run(tmp_path / folder) for folder in ("whole", "resumed"))
    assert options_of(whole.objective)["likelihood"] == "gaussian:scale=0.2"
    assert options_of(whole.objective)["optimizer"] == "adagrad"
    first, second = whole.model.state_dict(), resumed.model.state_dict()
    assert all(first[name].equal(second[name]) for name in first)
    assert formula("beta-vae", options_of(whole.objective)).endswith(
        "2 · KL(q(z|x) ‖ p(z)); p(x|z): gaussian, scale 0.2"
    )
    codes = torch.randn(3, 2)
    assert decoder_of(whole)(codes).equal(whole.model.decoder(codes))  # not clipped: derivatives are not hidden


def test_adagrad_divides_by_the_root_of_a_tenth_and_all_squared_gradients():
    objective = AE(optimizer="adagrad", learning_rate=0.1, **SMALL)
    model = objective.build(Problem((4, 4, 1), 10), torch.Generator().manual_seed(0))
    optimizer = objective.optimizers(model)["model"]
    weight = next(model.parameters())
    expected, squares = weight.detach().double().numpy().copy(), np.full(weight.shape, 0.1)
    for seed in range(4):
        optimizer.zero_grad()
        objective.reconstruction(model.decoder(model.encoder(images(seed))), images(seed)).mean().backward()
        gradient = weight.grad.double().numpy()
        squares += gradient**2
        expected -= 0.1 * gradient / (np.sqrt(squares) + 1e-10)
        optimizer.step()
    assert np.allclose(weight.detach().numpy(), expected, atol=1e-5)


def test_the_first_step_of_adagrad_leaves_a_wide_network_whole():
    # Squares on 4096 pixels, 1200 units: weights that all move by 0.01 at once add up, and beta-vae began with 1e20.
    objective = BetaVAE(net="fc", latents=5, beta=4, optimizer="adagrad", learning_rate=1e-2)
    model = objective.build(Problem((64, 64, 1), 10), torch.Generator().manual_seed(0))
    optimizer = objective.optimizers(model)["model"]
    lit, places = torch.zeros(64, 1, 64, 64), torch.Generator().manual_seed(1)
    for image, (x, y) in zip(lit, torch.randint(48, (64, 2), generator=places).tolist(), strict=True):
        image[:, y : y + 12, x : x + 12] = 1
    losses = []
    for step in range(3):
        terms = objective.loss(model, Inputs(lit), step, torch.Generator().manual_seed(step))
        losses.append(float(terms.total.detach()))
        optimizer.zero_grad()
        terms.total.backward()
        optimizer.step()
    assert max(losses) < 10 * losses[0]


def test_a_stack_has_one_adam_and_so_takes_no_other_optimiser():
    problem = Problem((4, 4, 1), 10)
    assert stackable(BetaVAE(**SMALL), problem)
    assert stackable(BetaVAE(likelihood="gaussian:scale=0.5", **SMALL), problem)
    assert not stackable(BetaVAE(optimizer="adagrad", **SMALL), problem)


def test_betas_of_a_linear_model_grow_as_the_gaussian_narrows():
    # The loss is |x - m|^2 / (2 s^2) + beta KL, the same as |x - m|^2 + 2 s^2 beta KL.
    data = load("blobs16")
    usual, narrow = (linear_betas(data, 2, likelihood=text) for text in ("gaussian", "gaussian:scale=0.1"))
    assert np.allclose(narrow, 50 * usual)
    assert math.isclose(nets.likelihood("gaussian").scale, math.sqrt(0.5))
