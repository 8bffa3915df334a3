"""Decoders that add up blocks, and the search that uses it."""

import pytest
import torch

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets import Additive, Renderer, block_sizes, nearest_sum, shuffled_blocks
from unbraid.objectives import AE, Inputs, Problem

SHAPE = (16, 16, 1)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("net", "adds"),
    [("additive:net=conv,blocks=2", True), ("additive:net=mlp:width=16,blocks=1+3", True), ("conv", False)],
)
def test_second_differences_of_an_additive_decoder_vanish_for_any_codes(net, adds):
    _, decoder = nets.build(net, SHAPE, 4, generator=generator())
    first = decoder.sizes[0] if adds else 2
    draws = generator(1)
    a, b, other_a, other_b = (3 * torch.randn(8, size, generator=draws) for size in (first, 4 - first) * 2)
    f = [decoder(torch.cat(codes, dim=1)) for codes in ((a, b), (a, other_b), (other_a, b), (other_a, other_b))]
    gap = (f[0] - f[1] - f[2] + f[3]).abs().max().item()
    assert gap < 1e-5 if adds else gap > 1e-2


def test_with_one_block_the_loss_is_that_of_the_plain_autoencoder():
    images = torch.rand(6, 1, 16, 16, generator=generator())
    losses = []
    for net in ("conv", "additive:net=conv,blocks=1"):
        objective = AE(net=net, latents=3, likelihood="gaussian")
        model = objective.build(Problem(SHAPE, 10), generator())
        losses.append(objective.loss(model, Inputs(images), 0, generator()).total.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_block_does_not_see_the_codes_of_the_others():
    _, decoder = nets.build("additive:net=mlp:width=8,blocks=2+1", SHAPE, 3, generator=generator())
    codes = torch.randn(2, 3, generator=generator()).requires_grad_()
    first, _ = decoder.split(codes)
    gradient = torch.autograd.grad(decoder.block(0, first).sum(), codes)[0]
    assert (gradient[:, :2] != 0).all()
    assert not gradient[:, 2].any()


def test_blocks_that_do_not_fit_are_refused():
    for blocks in (0, 4, [2, 2], [3, 0]):
        with pytest.raises(UsageError, match="blocks must"):
            block_sizes(3, blocks)
    with pytest.raises(UsageError, match="likelihood gaussian"):
        AE(net="additive:net=mlp", latents=2).build(Problem(SHAPE, 10), generator())
    with pytest.raises(UsageError, match="two or more blocks"):
        AE(net="mlp", latents=2, recombine=3).build(Problem(SHAPE, 10), generator())


def test_shuffled_blocks_keep_each_block_whole_and_recombine_rows():
    codes = torch.arange(30.0).reshape(10, 3)
    mixed = shuffled_blocks(codes, (2, 1), generator())
    assert mixed[:, :2].sort(0).values.equal(codes[:, :2])
    assert (mixed[:, 1] - mixed[:, 0]).eq(1).all()  # what was in one row of a block still is
    assert (mixed[:, 2] - mixed[:, 1]).ne(1).any()


def test_recombining_moves_the_encoder_alone_towards_the_recombined_codes():
    objective = AE(net="additive:net=mlp:width=16,blocks=2", latents=2, likelihood="gaussian", recombine=5)
    model = objective.build(Problem((8, 8, 1), 10), generator())
    images = torch.rand(6, 1, 8, 8, generator=generator())
    assert set(objective.loss(model, Inputs(images), 4, generator()).terms) == {"reconstruction"}
    terms = objective.loss(model, Inputs(images), 5, generator(1)).terms
    codes = shuffled_blocks(model.encoder(images), (1, 1), generator(1)).detach()
    expected = (model.encoder(objective.decode(model, codes)) - codes).square().sum(1).mean()
    assert terms["recombination"].item() == pytest.approx(expected.item(), rel=1e-6)
    terms["recombination"].backward()
    assert all(weight.grad is None for weight in model.decoder.parameters())
    assert all(weight.grad is not None for weight in model.encoder.parameters())


@pytest.mark.parametrize("counts", [(7,), (3, 4), (2, 3, 4)])
def test_the_nearest_sum_is_that_of_a_search_through_all_of_them(counts):
    parts = [torch.randn(count, 9, generator=generator(count)) for count in counts]
    images = torch.randn(20, 9, generator=generator(9))
    grid = torch.cartesian_prod(*map(torch.arange, counts)).reshape(-1, len(counts))
    sums = torch.stack([sum(part[k] for part, k in zip(parts, row, strict=True)) for row in grid.tolist()])
    expected = grid[torch.cdist(images, sums).argmin(1)]
    assert torch.equal(nearest_sum(images, parts), expected)


@pytest.mark.parametrize("net", ["additive:net=mlp:width=8,blocks=1+2", "mlp:width=8"])
def test_a_renderer_finds_the_factors_that_its_own_pictures_show(net):
    problem = Problem((8, 8, 1), 60, factor_sizes=(3, 4, 5), factor_names=("a", "b", "c"))
    _, decoder = nets.build(net, (8, 8, 1), 3, heads=1, generator=generator())
    model = Renderer(decoder, problem)
    values = torch.cartesian_prod(*map(torch.arange, (3, 4, 5)))
    pictures = model.decoder(model.scaled(values)).detach()
    assert torch.equal(model.find(pictures), values)
    with torch.no_grad():  # pictures are kept, but not beyond a change of weights
        next(model.decoder.parameters()).mul_(-1.5)
    moved = model.decoder(model.scaled(values)).detach()
    assert torch.equal(model.find(moved), values)


def test_a_grid_too_large_to_draw_is_refused_and_blocks_make_it_smaller():
    problem = Problem((64, 64, 1), 10**6, factor_sizes=(100, 1000), factor_names=("a", "b"))
    with pytest.raises(UsageError, match="100,000 combinations"):
        Renderer(nets.build("mlp:width=2", problem.shape, 2)[1], problem)
    assert isinstance(Renderer(nets.build("additive:net=mlp:width=2", problem.shape, 2)[1], problem).decoder, Additive)
