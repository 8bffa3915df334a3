"""Sixteen channels at a time: convolutions pooled in registers and their gradients are those of torch in float32."""

import pytest
import torch
import torch.nn.functional as F

from unbraid import nets
from unbraid.nets import _pooled_lanes, _pooling, _table, _table_lanes, stride2

SIZES = [(8, 8), (7, 10), (5, 9), (28, 28)]


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pooled_by_torch(x, weight, bias, slope):
    """Features ``[n, h, w, f]`` and the gradients of all three, by torch's own layers."""
    inputs = [part.clone().requires_grad_() for part in (x, weight, bias)]
    found = F.max_pool2d(F.conv2d(*inputs, padding=2).relu(), 2)
    return found.detach().permute(0, 2, 3, 1), torch.autograd.grad(found, inputs, slope.permute(0, 3, 1, 2))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("features", [16, 48])
def test_a_first_convolution_pooled_in_registers_is_that_of_torch(features, size):
    x, weight, bias = drawn(3, 1, *size), 0.2 * drawn(features, 1, 5, 5, seed=1), drawn(features, seed=2)
    slope = drawn(3, size[0] // 2, size[1] // 2, features, seed=3)
    expected, (images, into_weight, into_bias) = pooled_by_torch(x, weight, bias, slope)
    pooled, places, padded = _pooled_lanes.first_forward(x, weight, bias, torch.float32)
    torch.testing.assert_close(pooled, expected, rtol=1e-4, atol=1e-5)
    found = _pooled_lanes.first_backward(padded, slope, places)
    torch.testing.assert_close(found[0], into_weight, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[1], into_bias, rtol=1e-4, atol=1e-4)
    moved = _pooled_lanes.image_gradient(weight, slope, places, (3, *size))
    torch.testing.assert_close(moved, images, rtol=1e-4, atol=1e-5)


def test_pooled_features_are_rounded_to_the_nearest_bfloat16():
    x, weight, bias = drawn(2, 1, 8, 8), drawn(16, 1, 5, 5, seed=1), drawn(16, seed=2)
    exact, places, _ = _pooled_lanes.first_forward(x, weight, bias, torch.float32)
    rounded, same_places, _ = _pooled_lanes.first_forward(x, weight, bias, torch.bfloat16)
    assert torch.equal(rounded, exact.bfloat16())
    assert torch.equal(same_places.float(), places)  # 0 to 4 are numbers of bfloat16


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("channels", "features"), [(16, 6), (32, 16), (16, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_weight_gradient_without_products_with_zero_is_that_of_torch(channels, features, size, dtype):
    x = drawn(3, *size, channels).to(dtype)
    weight, bias = 0.05 * drawn(features, channels, 5, 5, seed=1), drawn(features, seed=2)
    slope = drawn(3, size[0] // 2, size[1] // 2, features, seed=3).to(dtype)
    _, (_, into_weight, into_bias) = pooled_by_torch(x.float().permute(0, 3, 1, 2), weight, bias, slope.float())
    y = F.conv2d(x.float().permute(0, 3, 1, 2), weight, bias, padding=2)
    most, at = F.max_pool2d(y, 2, return_indices=True)
    row, column = at // size[1] % 2, at % size[1] % 2  # the parity of a pixel is its place in the block
    codes = torch.where(most > 0, 2 * row + column, 4).permute(0, 2, 3, 1).contiguous().to(_pooling._BITS[dtype])
    found = _pooled_lanes.weight_gradient(x, slope, codes)
    # Given the same places, sums of the same numbers in float32: nothing is rounded but these.
    torch.testing.assert_close(found[0], into_weight, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[1], into_bias, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [1, 16])
@pytest.mark.parametrize("size", [(28, 28), (9, 7)], ids=str)
def test_gradients_in_bfloat16_are_near_those_of_torch_in_float32(channels, size):
    # Products with numbers of 8 bits: each is off by 2^-8 at most, their sums relatively less.
    x, weight, bias = drawn(8, channels, *size), drawn(32, channels, 5, 5, seed=1), drawn(32, seed=2)
    weight = weight / (5 * channels**0.5)
    slope = drawn(8, size[0] // 2, size[1] // 2, 32, seed=3)
    expected, exact = pooled_by_torch(x, weight, bias, slope)
    inputs = [part.clone().requires_grad_() for part in (x, weight, bias)]
    with nets.fast_kernels(), torch.autocast("cpu", torch.bfloat16):
        found = _pooling.conv_pool(*inputs)
    torch.testing.assert_close(found.float().permute(0, 2, 3, 1), expected, rtol=0.03, atol=0.05)
    slopes = torch.autograd.grad(found, inputs, slope.permute(0, 3, 1, 2).to(found.dtype))
    for part, near, name in zip(slopes, exact, ("images", "weight", "bias"), strict=True):
        assert part.dtype is torch.float32, name
        assert (part - near).norm() < 0.1 * near.norm(), name  # near ties of a block, another place is the largest


def test_layers_take_sixteen_channels_at_a_time_only_where_that_is_possible(monkeypatch):
    taken = []
    real = _pooled_lanes.first_forward
    monkeypatch.setattr(_pooled_lanes, "first_forward", lambda *given: taken.append(len(given[1])) or real(*given))
    monkeypatch.setattr(stride2, "one_wide_core", lambda: True)
    for features in (16, 20, 32):
        _pooling.conv_pool(drawn(2, 1, 8, 8), drawn(features, 1, 5, 5), drawn(features))
    _pooling.conv_pool(drawn(2, 3, 8, 8), drawn(16, 3, 5, 5), drawn(16))
    assert taken == [16, 32]
    monkeypatch.setattr(stride2, "one_wide_core", lambda: False)
    _pooling.conv_pool(drawn(2, 1, 8, 8), drawn(16, 1, 5, 5), drawn(16))
    assert taken == [16, 32]


@pytest.mark.parametrize("functions", [16, 24, 32])
def test_the_gradient_of_tables_is_that_of_looking_them_up(functions):
    at, cells = (2 * drawn(3, 6, 7)).clamp(-5.9, 5.9), 32
    values = drawn(9, cells + 1, functions, seed=1).requires_grad_()
    slope = drawn(3, 4, 5, functions, seed=2)
    # A hat function of each place of the table, for every window: the derivation of looking up linearly.
    grid = _table.places(cells, at)
    hats = (1 - (at[..., None] - grid).abs() / (grid[1] - grid[0])).clamp_min(0)
    windows = torch.stack([hats[:, k // 3 : k // 3 + 4, k % 3 : k % 3 + 5] for k in range(9)])
    expected = torch.einsum("knhwp,nhwf->kpf", windows, slope)
    cell, part = (torch.from_numpy(found).view(at.shape) for found in _table._cells(at, cells))
    torch.testing.assert_close(
        _table_lanes.scatter_windows(slope, cell, part, cells + 1), expected, rtol=1e-4, atol=1e-4
    )
    (found,) = torch.autograd.grad(_table.sum_windows(values, at), values, slope.view(-1, functions))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [1, 16])
def test_a_bias_learns_beside_a_frozen_weight(channels):
    rng = torch.Generator().manual_seed(0)
    x, weight = torch.randn(3, channels, 8, 8, generator=rng), torch.randn(16, channels, 5, 5, generator=rng) / 5
    bias = torch.zeros(16, requires_grad=True)
    _pooling.conv_pool(x, weight, bias).sum().backward()
    ours, bias.grad = bias.grad, None
    F.max_pool2d(F.conv2d(x, weight, bias, padding=2), 2).relu().sum().backward()
    torch.testing.assert_close(ours, bias.grad)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_narrow_images_get_their_gradient(width):
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(2, 1, 6, width, generator=rng, requires_grad=True)
    weight, bias = torch.randn(16, 1, 5, 5, generator=rng) / 5, torch.zeros(16)
    _pooling.conv_pool(x, weight, bias).sum().backward()
    ours, x.grad = x.grad, None
    F.max_pool2d(F.conv2d(x, weight, bias, padding=2), 2).relu().sum().backward()
    torch.testing.assert_close(ours, x.grad, atol=1e-5, rtol=1e-5)
