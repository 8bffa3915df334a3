"""The noise generator: its size, what it makes at first, and how far its noise reaches."""

import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets.noise import NoiseGenerator


def count(module):
    return sum(weights.numel() for weights in module.parameters())


@pytest.mark.parametrize(
    ("options", "size"),
    [
        # Published: depth 1 to 5 in three channels, both kernels; 20 (c + 1) + 420 + 420 + 21 c otherwise.
        *(({"channels": 3, "depth": depth}, size) for depth, size in enumerate((12, 143, 563, 983, 1403), 1)),
        ({"channels": 3, "kernel": 3}, 4_183),
        ({"channels": 1}, 901),
        ({"channels": 1, "kernel": 3}, 4_101),
    ],
)
def test_parameter_counts(options, size):
    assert count(NoiseGenerator(**options)) == size


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("channels", [1, 3])
def test_noise_starts_out_as_the_normal_one_that_goes_in(channels, kernel):
    net = NoiseGenerator(channels, kernel)
    shape = (20, channels, 32, 32)
    found = net.sample(shape, torch.Generator().manual_seed(0)).detach()
    edge = net.margin
    size = 32 + 2 * edge
    drawn = torch.randn(20, channels, size, size, generator=torch.Generator().manual_seed(0))
    inside = drawn[..., edge : size - edge, edge : size - edge]
    assert found.shape == shape
    assert found.mean().item() == pytest.approx(0, abs=0.01 + 3 / 143)  # 20,480 draws and more: 3 standard errors
    assert found.std().item() == pytest.approx(1, abs=0.02)
    assert torch.corrcoef(torch.stack([found.flatten(), inside.flatten()]))[0, 1] > 0.999


def correlation(noise, down, across):
    height, width = noise.shape[2:]
    a, b = noise[:, :, : height - down, : width - across], noise[:, :, down:, across:]
    return torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1].item()


@pytest.mark.parametrize("kernel", [1, 3])
def test_how_far_noise_is_correlated(kernel):
    net = NoiseGenerator(1, kernel)
    draws = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(0.4 * torch.randn(weights.shape, generator=draws))
        noise = net.sample((150, 1, 32, 32), draws)
    assert (noise - noise.mean()).abs().max() > 1
    places = [(0, 1), (1, 0), (0, 3), (3, 0), (3, 3)]
    found = {place: abs(correlation(noise, *place)) for place in places}  # 150,000 pairs: standard error 0.003
    near = [found.pop(place) for place in [(0, 1), (1, 0)]]
    assert max(found.values()) < 0.02
    assert (max(near) < 0.02) if kernel == 1 else (max(near) > 0.1)


def test_weights_follow_from_the_generator_alone():
    def weights(seed):
        return NoiseGenerator(1, generator=torch.Generator().manual_seed(seed)).layers[0].weight

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channels": 1, "kernel": 5}, "kernel must be 1 or 3, got 5"),
        ({"channels": 1, "kernel": 3, "depth": 1}, "depth must be at least 2, got 1"),
        ({"channels": 0}, "must be at least 1"),
    ],
)
def test_wrong_generators_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        NoiseGenerator(**options)


def test_noise_of_another_layout_is_refused():
    with pytest.raises(UsageError, match=r"noise of shape \(n, 1, height, width\), got \(2, 3, 8, 8\)"):
        NoiseGenerator(1).sample((2, 3, 8, 8), torch.Generator())
