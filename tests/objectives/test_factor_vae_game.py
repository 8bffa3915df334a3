"""FactorVAE: the shuffle, the discriminator, and who moves when."""

import math

import pytest
import torch

import unbraid
from unbraid import nets
from unbraid.errors import UsageError
from unbraid.objectives import FactorVAE, Inputs, Problem, discriminator_terms, log_ratio, permute_dims

SMALL = {"net": "mlp:width=16", "latents": 3, "discriminator_width": 16, "discriminator_depth": 2}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_permuting_keeps_every_column_and_breaks_the_rows():
    codes = torch.randn(50, 4, generator=generator())
    shuffled = permute_dims(codes, generator(1))
    assert torch.equal(shuffled.sort(0).values, codes.sort(0).values)
    assert not torch.equal(shuffled, codes)
    rows = {tuple(row) for row in codes.tolist()}
    assert sum(tuple(row) in rows for row in shuffled.tolist()) < 5
    same = torch.arange(50.0)[:, None].expand(50, 2)
    assert not torch.equal(*permute_dims(same, generator(1)).T)  # the columns move independently


def test_permuting_is_uniform():
    # 6000 batches of 3: each of the 6 orders a sixth of the time, +-4 standard deviations of the binomial.
    codes = torch.arange(3.0)[:, None].expand(3, 6000)
    counts = permute_dims(codes, generator()).T.unique(dim=0, return_counts=True)[1]
    assert len(counts) == 6
    assert (counts - 1000).abs().max() < 4 * math.sqrt(6000 * 5 / 36)


def test_discriminator_has_the_published_size():
    network = nets.discriminator(10)
    assert sum(p.numel() for p in network.parameters()) == 5_018_002
    assert network(torch.zeros(3, 10)).shape == (3, 2)


def test_discriminator_follows_from_its_generator_alone():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    first, second, other = (nets.discriminator(2, width=8, generator=generator(s)) for s in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)


def test_discriminator_loss_and_ratio_of_known_logits():
    # p(class 0) = 0.8 for any code: -(log 0.8 + log 0.2) / 2, and the ratio log(0.8 / 0.2).
    logits = torch.tensor([[math.log(0.8), math.log(0.2)]])
    terms = discriminator_terms(lambda codes: logits.expand(len(codes), 2), torch.zeros(6, 1), torch.zeros(4, 1))
    assert terms.total.item() == pytest.approx(-(math.log(0.8) + math.log(0.2)) / 2)
    assert terms.watched["accuracy"].item() == pytest.approx(0.5)
    assert log_ratio(logits).item() == pytest.approx(math.log(4))


def test_probabilities_are_clipped_in_the_discriminators_loss_only():
    # Certain and wrong half of the time: log p is cut at log 1e-6, the ratio is not.
    logits = torch.tensor([[100.0, -100.0]])
    terms = discriminator_terms(lambda codes: logits.expand(len(codes), 2), torch.zeros(5, 1), torch.zeros(5, 1))
    assert terms.total.item() == pytest.approx(-(math.log(1e-6) + math.log1p(-1e-6)) / 2, rel=1e-6)
    assert log_ratio(logits).item() == 200


@pytest.mark.parametrize(("rho", "low", "high"), [(0.0, -0.1, 0.1), (0.9, 0.4, 1.0)])
def test_discriminator_alone_finds_the_total_correlation_of_gaussians(rho, low, high):
    # Truth: -log(1 - rho^2) / 2 = 0 and 0.830. A narrower network than the published one, for time.
    noise = generator(3)
    network = nets.discriminator(2, width=64, generator=noise)
    adam = torch.optim.Adam(network.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def draw(n):
        first, second = torch.randn(2, n, generator=noise)
        return torch.stack([first, rho * first + math.sqrt(1 - rho**2) * second], 1)

    for _ in range(300):
        codes = draw(256)
        adam.zero_grad()
        discriminator_terms(network, codes, permute_dims(codes, noise)).total.backward()
        adam.step()
    with torch.no_grad():
        assert low < log_ratio(network(draw(20_000))).item() < high


def parts(model):
    coder = [*model.encoder.parameters(), *model.decoder.parameters()]
    return coder, list(model.discriminator.parameters())


def test_each_loss_reaches_its_own_player():
    objective = FactorVAE(**SMALL)
    model = objective.build(Problem((8, 8, 1), 100), generator())
    inputs = Inputs(torch.rand(12, 1, 8, 8, generator=generator()))
    losses = objective.losses(model, inputs, 0, generator(1))
    coder, adversary = parts(model)
    player, terms = next(losses)
    assert player == "model"
    assert {id(p) for p in coder} == {
        id(p) for g in objective.optimizers(model)["model"].param_groups for p in g["params"]
    }
    assert terms.terms["penalty"].item() == pytest.approx(
        (terms.watched["kl"] + objective.gamma * terms.watched["tc"]).item(), rel=1e-6
    )
    player, terms = next(losses)
    assert player == "discriminator"
    terms.total.backward()
    assert all(p.grad is None for p in coder)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in adversary)
    assert next(losses, None) is None


def test_total_correlation_pushes_the_encoder():
    objective = FactorVAE(gamma=50.0, **SMALL)
    model = objective.build(Problem((8, 8, 1), 100), generator())
    inputs = Inputs(torch.rand(12, 1, 8, 8, generator=generator()))
    encoder = list(model.encoder.parameters())
    tc = objective.loss(model, inputs, 0, generator(1)).watched["tc"]
    assert any(gradient.abs().sum() > 0 for gradient in torch.autograd.grad(tc, encoder))


def test_both_players_see_the_same_codes_even_after_the_first_has_moved():
    objective = FactorVAE(**SMALL)
    seen = []
    for shift in (0.0, 1.0):
        model = objective.build(Problem((8, 8, 1), 100), generator())
        losses = objective.losses(model, Inputs(torch.ones(12, 1, 8, 8)), 0, generator(1))
        next(losses)
        with torch.no_grad():
            for parameter in parts(model)[0]:
                parameter += shift
        seen.append(next(losses)[1].total.item())
    assert seen[0] == seen[1]


def test_a_second_batch_gives_the_codes_to_shuffle():
    objective = FactorVAE(second_batch=True, **SMALL)
    model = objective.build(Problem((8, 8, 1), 100), generator())
    first, second = torch.rand(2, 12, 1, 8, 8, generator=generator())

    def cross_entropy(partners):
        *_, (_, terms) = objective.losses(model, Inputs(first, partners), 0, generator(1))
        return terms.total.item()

    assert cross_entropy(second) != cross_entropy(first)
    with pytest.raises(UsageError, match="second batch"):
        cross_entropy(None)


def test_half_steps_make_half_the_updates(dots, tmp_path):
    options = {"out": tmp_path / "half", "progress": "none", "log_every": 2}
    half = unbraid.train(FactorVAE(half_steps=True, **SMALL), dots, steps=8, **options)
    full = unbraid.train(FactorVAE(**SMALL), dots, steps=4, **{**options, "out": tmp_path / "full"})
    assert half.info["step"] == 4
    assert half.finished
    assert all(torch.equal(a, b) for a, b in zip(half.model.parameters(), full.model.parameters(), strict=True))
    assert FactorVAE(half_steps=True).updates(300_000) == 150_000
    assert FactorVAE().updates(300_000) == 300_000


def test_history_has_both_players(dots, tmp_path):
    run = unbraid.train(
        FactorVAE(second_batch=True, **SMALL), dots, steps=2, out=tmp_path, progress="none", log_every=2
    )
    assert {"loss", "tc", "kl", "discriminator/loss", "discriminator/accuracy"} <= set(run.history().columns)
