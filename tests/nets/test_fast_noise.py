"""The routes taken in noise training do what the layers they stand for do: pooled convolutions, tables, projections."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unbraid import nets
from unbraid.nets import NoiseGenerator, frozen, project_l2
from unbraid.nets._pooling import conv_pool


def drawn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(8, 8), (7, 10)], ids=str)
def test_a_pooled_convolution_is_that_of_torch(channels, size):
    inputs = [drawn(4, channels, *size), 0.2 * drawn(6, channels, 5, 5, seed=1), drawn(6, seed=2)]
    inputs = [part.requires_grad_() for part in inputs]
    slope = drawn(4, 6, size[0] // 2, size[1] // 2, seed=3)

    def plain(x, weight, bias):
        return F.max_pool2d(F.conv2d(x, weight, bias, padding=2).relu(), 2)

    ways = []
    for way in (plain, conv_pool):
        found = way(*inputs)
        ways.append([found, *torch.autograd.grad(found, inputs, slope)])
    for expected, found in zip(*ways, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = conv_pool(*inputs)
    assert rounded.dtype is torch.bfloat16
    torch.testing.assert_close(rounded.float(), ways[0][0], rtol=0.03, atol=0.05)


def test_equal_and_negative_blocks_are_pooled_as_by_torch():
    # A black image: every entry of a channel equals its bias, the gradient is the first one's, or nobody's below zero.
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    weight, bias = drawn(2, 1, 5, 5).requires_grad_(), torch.tensor([0.5, -0.5], requires_grad=True)
    ways = []
    for way in (lambda *a: F.max_pool2d(F.conv2d(*a, padding=2).relu(), 2), conv_pool):
        found = way(x, weight, bias)
        ways.append([found, *torch.autograd.grad(found.sum(), [x, bias])])
    for expected, found in zip(*ways, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("wrong", [math.nan, -math.nan, math.inf])
def test_numbers_that_are_none_do_not_get_lost_in_pooling(wrong, channels, dtype):
    x, weight, bias = torch.rand(2, channels, 8, 8), torch.rand(4, channels, 5, 5), torch.zeros(4)
    for place in (x, weight, bias):
        kept = place.flatten()[0].item()
        place.view(-1)[0] = wrong
        assert conv_pool(x.to(dtype), weight.to(dtype), bias.to(dtype)).isnan().any()
        place.view(-1)[0] = kept
    assert conv_pool(x.to(dtype), weight.to(dtype), bias.to(dtype)).isfinite().all()


def test_no_gradient_is_computed_for_frozen_weights():
    net = nets.build_predictor("small-cnn:width=8,hidden=32", (8, 8, 1), 3)
    kept = net[5]
    x = drawn(2, 1, 8, 8).requires_grad_()
    with nets.fast_kernels(), frozen(net, but=kept):
        scores = net(x)
    assert all(weights.requires_grad for weights in net.parameters())
    scores.sum().backward()
    assert x.grad.abs().sum() > 0
    assert [name for name, weights in net.named_parameters() if weights.grad is not None] == ["5.weight", "5.bias"]


@pytest.mark.parametrize(
    ("channels", "kernel", "depth"), [(1, 1, 1), (1, 1, 4), (1, 3, 3), (1, 3, 4), (1, 3, 2), (3, 1, 4), (3, 3, 4)]
)
def test_noise_looked_up_or_by_rows_is_that_of_the_layers(channels, kernel, depth):
    net = NoiseGenerator(channels, kernel, depth)
    with torch.no_grad():
        for place, weights in enumerate(net.parameters()):
            weights.add_(0.2 * drawn(*weights.shape, seed=place))
    z = drawn(20, channels, 12, 12, seed=9)

    def found(fast):
        with nets.fast_kernels(fast):
            noise = net(z)
        return noise.detach(), torch.autograd.grad(noise.square().sum(), list(net.parameters()))

    (exact, slopes), (fast, found_slopes) = found(False), found(True)
    assert (fast - exact).abs().max() < 0.02 * exact.std()
    assert (fast - exact).std() < 1e-3 * exact.std()
    for expected, got in zip(slopes, found_slopes, strict=True):
        assert (got - expected).norm() < 0.04 * expected.norm()


def test_numbers_beyond_a_table_are_extrapolated():
    net = NoiseGenerator(1, 1, 2)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(0.3 * drawn(*weights.shape))
    z = torch.tensor([-9.0, 9.0, -6.0, 6.0, 0.0]).view(5, 1, 1, 1)  # no kink lies beyond 6
    with nets.fast_kernels():
        fast = net(z)
    torch.testing.assert_close(fast, net(z), rtol=1e-4, atol=2e-3)


def test_projections_in_single_and_double_precision_agree_in_value_and_gradient():
    images = torch.rand(8, 50, generator=torch.Generator().manual_seed(0)).round(decimals=1)
    delta, weights = drawn(8, 50), drawn(50, seed=1)

    def found(dtype):
        d = delta.to(dtype).requires_grad_()
        moved = project_l2(images.to(dtype), d, torch.linspace(0.5, 5, 8))
        return moved.detach().float(), torch.autograd.grad((moved * weights.to(dtype)).sum(), d)[0].float()

    for single, double in zip(found(torch.float32), found(torch.float64), strict=True):
        torch.testing.assert_close(single, double, rtol=1e-3, atol=1e-5)


def test_the_loss_of_a_network_falls_in_the_same_way_by_either_route():
    losses = []
    for fast in (False, True):
        net = nets.build_predictor("small-cnn:width=4,hidden=16", (8, 8, 1), 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        images, labels = drawn(30, 1, 8, 8), torch.arange(30) % 3
        for _ in range(10):
            with nets.fast_kernels(fast):
                loss = nn.functional.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] < 1.05
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
