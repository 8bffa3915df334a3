"""The relation network: pairs that are shared give what all pairs would, and codes decide what can be learnt."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.errors import UsageError
from unbraid.evaluation import measure, reasoning_curve
from unbraid.nets import WReN
from unbraid.objectives import BetaVAE, Reasoning

SIZES = (5, 6, 3, 3, 4, 4)
CELLS = np.indices(SIZES).reshape(6, -1).T


def all_pairs(net: WReN, panels: torch.Tensor) -> torch.Tensor:
    """The same by the definition: each answer in turn completes the matrix, 81 ordered pairs each."""
    embedded, found = net.embed(panels), []
    for answer in range(8, 14):
        nine = torch.cat([embedded[:, :8], embedded[:, answer : answer + 1]], dim=1)
        left = nine[:, :, None].expand(-1, 9, 9, -1)
        right = nine[:, None].expand(-1, 9, 9, -1)
        edges = net.edge(torch.cat([left, right], dim=3)).sum(dim=(1, 2))
        found.append(net.head(net.graph(edges)))
    return torch.cat(found, dim=1)


def test_shared_pairs_give_the_logits_and_gradients_of_all_pairs():
    torch.manual_seed(0)
    net, panels = WReN(10, edge=(64, 64), graph=(32,)), torch.randn(5, 14, 10)
    shared, naive = net(panels), all_pairs(net, panels)
    torch.testing.assert_close(shared, naive, rtol=1e-5, atol=1e-5)
    weights = torch.randn(5, 6)
    gradients = [torch.autograd.grad((found * weights).sum(), list(net.parameters())) for found in (shared, naive)]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max().clamp(min=1)))


def test_permuting_answers_permutes_logits():
    torch.manual_seed(0)
    net, panels = WReN(4, edge=(16,), graph=(8,)), torch.randn(3, 14, 4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    moved = torch.cat([panels[:, :8], panels[:, 8 + order]], dim=1)
    torch.testing.assert_close(net(moved), net(panels)[:, order])


@pytest.mark.parametrize(
    ("edge", "graph", "count"), [((512,) * 4, (256, 256), 1_005_313), ((256, 256), (128,), 108_801)]
)
def test_the_network_has_as_many_weights_as_counted(edge, graph, count):
    # 38 inputs (twice ten codes and nine positions), then layers with biases, then one logit.
    assert sum(weights.numel() for weights in WReN(10, edge=edge, graph=graph).parameters()) == count


def test_a_frozen_encoder_stays_as_the_run_left_it(dots, tmp_path):
    shape = {"net": "mlp:width=8", "latents": 3}
    seen = unbraid.train(BetaVAE(**shape), dots, out=tmp_path / "seen", steps=2, progress="none")
    objective = Reasoning(**shape, edge=(8,), graph=(8,), frozen=True)
    options = {"start": seen.path, "parts": ("encoder",), "batch_size": 4, "progress": "none"}
    run = unbraid.train(objective, dots, out=tmp_path / "run", steps=3, **options)
    images = dots.images(np.arange(4))
    np.testing.assert_array_equal(run.encode(images), seen.encode(images))
    free = unbraid.train(Reasoning(**shape, edge=(8,), graph=(8,)), dots, out=tmp_path / "free", steps=3, **options)
    assert (free.encode(images) != seen.encode(images)).any()


def test_constant_codes_stay_at_chance():
    found = reasoning_curve(np.ones((len(CELLS), 2)), SIZES, steps=3, test=3200, edge=(8,), graph=(8,))
    assert list(found["accuracy"]) == [96]
    assert found["accuracy"][96] == pytest.approx(1 / 6, abs=0.02)
    assert found["only"] == pytest.approx(1 / 6, abs=0.02)


@pytest.mark.slow
def test_one_hot_codes_learn_what_answers_alone_do_not_tell():
    codes = np.hstack([np.eye(size)[CELLS[:, k]] for k, size in enumerate(SIZES)])
    found = reasoning_curve(codes, SIZES, steps=313, test=1600)
    assert found["accuracy"][313 * 32] > found["only"] + 0.3


def test_the_measure_keeps_the_curve_and_the_baseline(dots, tmp_path):
    run = unbraid.train(BetaVAE(net="mlp:width=8", latents=3), dots, out=tmp_path, steps=1, progress="none")
    asked = "reasoning:steps=40,test=50,edge=8,graph=8"
    rows = measure(run, dots, asked)["reasoning"].rows
    assert [condition["samples"] for condition, _ in rows] == [1024, 1280, 0]
    first, last = (float(scores["accuracy"]) for _, scores in rows[:2])
    assert rows[-1][1]["area"] == pytest.approx((first + last) / 2)  # a trapezoid over two points
    assert rows[-1][1]["answers_only"] == max(rows[-1][1]["answers_most"], rows[-1][1]["answers_least"])


@pytest.mark.parametrize(
    "wrong", [{"edge": ()}, {"dropout": 1.0}, {"mode": "medium"}, {"latents": 0}, {"learning_rate": 0.0}]
)
def test_wrong_hyperparameters_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Reasoning(**wrong)
