"""The broadcast decoder draws every patch by one function of the code and the place of the patch."""

import pytest
import torch
import torch.nn.functional as F

from unbraid import nets
from unbraid.errors import UsageError


def decoder(size=(16, 24), channels=3, **options):
    told = ",".join(f"{name}={value}" for name, value in options.items())
    shape = (*size, channels)
    return nets.build(f"broadcast:{told}", shape, 5, generator=torch.Generator().manual_seed(0))[1]


def test_each_patch_is_the_same_network_of_the_code_beside_its_place():
    # 16 x 24 pixels are 4 x 6 patches; rows go from -1 to 1 in steps of 2/3, columns in steps of 2/5.
    made, codes = decoder(width=16, layers=2), torch.randn(4, 5)
    weight = dict(made.named_parameters())
    images = made(codes)
    joint = torch.hstack([weight["code.weight"], weight["place.weight"]])
    for row, column in [(0, 0), (1, 4), (3, 5)]:
        place = torch.tensor([-1 + 2 * row / 3, -1 + 2 * column / 5]).expand(4, 2)
        units = F.relu(F.linear(torch.hstack([codes, place]), joint, weight["code.bias"]))
        units = F.relu(F.linear(units, weight["hidden.0.weight"], weight["hidden.0.bias"]))
        pixels = F.linear(units, weight["pixels.weight"], weight["pixels.bias"]).unflatten(1, (4, 4, 3))
        patch = images[:, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        torch.testing.assert_close(patch, pixels.permute(0, 3, 1, 2))


def test_places_are_no_weights():
    assert "places" not in decoder(width=8).state_dict()


def test_the_encoder_is_that_of_the_light_network():
    encoder, _ = nets.build("broadcast", (32, 32, 1), 5, generator=torch.Generator().manual_seed(0))
    other, _ = nets.build("light", (32, 32, 1), 5, generator=torch.Generator().manual_seed(0))
    images = torch.rand(3, 1, 32, 32)
    torch.testing.assert_close(encoder(images), other(images))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width and layers must be at least 1, got 0 and 3"),
        ({"layers": 0}, "width and layers must be at least 1, got 96 and 0"),
    ],
)
def test_what_it_cannot_be_made_of_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        decoder(**options)
