"""The light network is a convolutional one whose windows do not overlap."""

import pytest
import torch
import torch.nn.functional as F

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets.light import cut, join


@pytest.mark.parametrize("size", [2, 4])
def test_windows_are_put_back_where_they_were_cut_out(size):
    grid = torch.arange(2 * 8 * 12 * 3.0).reshape(2, 8, 12, 3)
    windows = cut(grid, size)
    assert windows.shape == (2, 8 // size, 12 // size, 3 * size**2)
    assert torch.equal(windows[1, 1, 0], grid[1, size : 2 * size, :size].flatten())
    assert torch.equal(join(windows, size), grid)


def test_the_encoder_is_two_convolutions_and_two_linear_layers():
    encoder, _ = nets.build("light", (32, 32, 3), 5, generator=torch.Generator().manual_seed(0))
    images = torch.rand(4, 3, 32, 32)
    weight = dict(encoder.named_parameters())

    def convolve(x, layer, size):
        kernel = weight[f"windows.{layer}.weight"].unflatten(1, (size, size, -1)).permute(0, 3, 1, 2)
        return F.relu(F.conv2d(x, kernel, weight[f"windows.{layer}.bias"], stride=size))

    grid = convolve(convolve(images, 0, 4), 1, 2)
    assert grid.shape == (4, 64, 4, 4)
    hidden = F.relu(F.linear(grid.permute(0, 2, 3, 1).flatten(1), weight["hidden.weight"], weight["hidden.bias"]))
    torch.testing.assert_close(encoder(images), F.linear(hidden, weight["heads.weight"], weight["heads.bias"]))


def test_the_decoder_is_two_linear_layers_and_two_transposed_convolutions():
    _, decoder = nets.build("light:channels=8,hidden=16", (32, 32, 1), 5, generator=torch.Generator().manual_seed(0))
    codes = torch.randn(4, 5)
    weight = dict(decoder.named_parameters())

    def convolve(x, layer, size):
        kernel = weight[f"windows.{layer}.weight"].t().unflatten(1, (size, size, -1)).permute(0, 3, 1, 2)
        bias = weight[f"windows.{layer}.bias"].unflatten(0, (size, size, -1)).permute(2, 0, 1)
        repeated = bias.repeat(1, x.shape[2], x.shape[3])
        return F.conv_transpose2d(x, kernel, stride=size) + repeated

    hidden = F.relu(F.linear(codes, weight["hidden.weight"], weight["hidden.bias"]))
    grid = F.relu(F.linear(hidden, weight["expand.weight"], weight["expand.bias"]))
    grid = grid.unflatten(1, (4, 4, 16)).permute(0, 3, 1, 2)
    torch.testing.assert_close(decoder(codes), convolve(F.relu(convolve(grid, 0, 2)), 1, 4))


def test_layers_without_units_are_refused():
    with pytest.raises(UsageError, match="channels and hidden must be at least 1, got 0 and 128"):
        nets.build("light:channels=0", (32, 32, 1), 5)
