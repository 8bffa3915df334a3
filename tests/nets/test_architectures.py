"""The networks: sizes, shapes, initial weights, names."""

import math

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import UsageError

SIZES = [(8, 8), (16, 16), (17, 17), (28, 28), (32, 32), (64, 64), (96, 96), (24, 40), (9, 31)]
NAMES = [name for name in nets.names() if nets.get(name).__module__ not in ("unbraid.nets.registry", "page")]

CONVOLUTIONAL = ("conv", "conv-bn", "light", "broadcast", "slow", "burgess")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("name", "channels", "encoder_size", "decoder_size"),
    [
        ("conv", 1, 309_204, 381_313),
        ("conv", 3, 310_228, 382_339),  # 692,567 together
        # convolutions 544 + 16,416 + 32,832 + 65,600 + 524,800, their norms 2 * 704, heads 513 * 20;
        # 11 * 512, transposed ones 524,352 + 65,600 + 32,800 + 16,416 + 513, norms 2 * 704
        ("conv-bn", 1, 651_860, 646_721),
        ("slow", 1, 382_932, 380_353),
        # convolutions 544 + 3 * 16,416, linear 513 * 256 + 257 * 256, heads 257 * 20;
        # 11 * 256 + 257 * 256 + 257 * 512, transposed ones 3 * 16,416 + 513
        ("burgess", 1, 252_052, 249_953),
        # 4096 * 1200 + 1200 + 1200 * 1201 + 1201 * 20; 11 * 1200 + 2 * 1200 * 1201 + 1201 * 4096
        ("fc", 1, 6_381_620, 7_814_896),
        # 4097 * 20; 11 * 4096
        ("linear", 1, 81_940, 45_056),
    ],
)
def test_parameter_counts_are_the_published_ones(name, channels, encoder_size, decoder_size):
    encoder, decoder = nets.build(name, (64, 64, channels), 10)
    assert (count(encoder), count(decoder)) == (encoder_size, decoder_size)


def test_conv_at_64_pixels_has_exactly_the_layers_of_the_study():
    encoder, decoder = nets.build("conv", (64, 64, 1), 10)
    shapes = [tuple(p.shape) for p in encoder.parameters() if p.ndim > 1]
    assert shapes == [(32, 1, 4, 4), (32, 32, 4, 4), (64, 32, 2, 2), (64, 64, 2, 2), (256, 1024), (20, 256)]
    shapes = [tuple(p.shape) for p in decoder.parameters() if p.ndim > 1]
    assert shapes == [(256, 10), (1024, 256), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 1, 4, 4)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name in (*CONVOLUTIONAL, "mlp", "linear") for size in SIZES] + [("fc", (17, 24))],
    ids=str,
)
def test_any_image_goes_in_and_comes_out_in_its_own_shape(name, size, channels):
    encoder, decoder = nets.build(name, (*size, channels), 3)
    codes = encoder(torch.rand(2, channels, *size))
    assert codes.shape == (2, 6)
    assert decoder(codes[:, :3]).shape == (2, channels, *size)


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_the_largest_image_works_without_memory_on_the_meta_device(name):
    with torch.device("meta"):
        encoder, decoder = nets.build(name, (256, 256, 3), 10, heads=1)
        assert decoder(encoder(torch.empty(2, 3, 256, 256))).shape == (2, 3, 256, 256)


@pytest.mark.parametrize("size", [(7, 8), (8, 257)])
def test_sizes_outside_8_to_256_are_refused_with_a_way_out(size):
    with pytest.raises(UsageError, match=r"8 to 256 pixels.*mlp"):
        nets.build("conv", (*size, 1), 2)


@pytest.mark.parametrize(
    ("name", "size"), [*((name, (17, 24)) for name in NAMES), ("conv", (64, 64)), ("slow", (64, 64))], ids=str
)
def test_the_gradient_reaches_every_parameter(name, size):
    # In evaluation mode: in training a batch norm takes away the bias before it, whose gradient is then zero.
    encoder, decoder = (module.eval() for module in nets.build(name, (*size, 1), 3))
    posterior = nets.Gaussian.from_heads(encoder(torch.rand(4, 1, *size, generator=generator())))
    output = decoder(posterior.sample(generator=generator()))
    (output.square().sum() + posterior.kl().sum()).backward()
    for key, parameter in [*encoder.named_parameters(), *decoder.named_parameters()]:
        assert parameter.grad is not None, key
        assert parameter.grad.abs().max() > 0, key


@pytest.mark.parametrize("name", ["conv", "light"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_pixel_is_ignored(size, name):
    # Sizes that do not halve evenly are padded rather than cropped: every pixel must matter.
    encoder, _ = nets.build(name, (*size, 1), 3)
    images = torch.rand(8, 1, *size, generator=generator()).requires_grad_()
    encoder(images).square().sum().backward()
    assert images.grad is not None
    assert (images.grad.abs().sum((0, 1)) > 0).all()


def test_glorot_weights_fill_their_bounds_and_biases_are_zero():
    encoder, decoder = nets.build("conv", (64, 64, 1), 10, generator=generator(1))
    # A 4x4 convolution from 32 to 32 channels: fans 512 and 512. The heads count as two layers of 10 units.
    expected = {
        "convs.0.weight": math.sqrt(6 / (16 * 33)),
        "convs.1.weight": math.sqrt(6 / 1024),
        "hidden.weight": math.sqrt(6 / (1024 + 256)),
        "heads.weight": math.sqrt(6 / (256 + 10)),
    }
    weights = dict(encoder.named_parameters())
    for key, bound in expected.items():
        assert 0.98 * bound < weights[key].abs().max() <= bound, key
        # The standard deviation of a uniform distribution is its half width / sqrt(3).
        assert weights[key].std().item() == pytest.approx(bound / math.sqrt(3), rel=0.06), key
    biases = [p for m in (encoder, decoder) for key, p in m.named_parameters() if key.endswith("bias")]
    assert len(biases) == 12
    assert not any(bias.any() for bias in biases)


def test_slow_has_kaiming_convolutions_and_default_transposed_ones():
    encoder, decoder = nets.build("slow", (64, 64, 1), 10, generator=generator(1))
    # Kaiming: standard deviation sqrt(2 / fan_in), here 32 channels of 4x4.
    assert encoder[2].weight.std().item() == pytest.approx(math.sqrt(2 / 512), rel=0.03)
    assert not encoder[2].bias.any()
    # torch's default is uniform in +-1/sqrt(fan_in), with fan_in counted over the second axis: 64 channels of 4x4.
    assert decoder[3].weight.abs().max().item() == pytest.approx(1 / math.sqrt(64 * 16), rel=0.01)
    assert decoder[3].bias.any()


def test_batch_norm_follows_every_convolution_of_conv_bn_but_the_last():
    encoder, decoder = nets.build("conv-bn", (64, 64, 1), 10)
    widths = [[m.num_features for m in module if isinstance(m, nn.BatchNorm2d)] for module in (encoder, decoder)]
    assert widths == [[32, 32, 64, 64, 512], [512, 64, 64, 32, 32]]
    convolutions = [tuple(p.shape) for p in encoder.parameters() if p.ndim > 2]
    assert convolutions == [(32, 1, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (64, 64, 4, 4), (512, 64, 4, 4)]
    transposed = [tuple(p.shape) for p in decoder.parameters() if p.ndim > 2]
    assert transposed == [(512, 64, 4, 4), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 1, 4, 4)]


def test_conv_bn_reads_its_second_head_as_a_log_standard_deviation():
    encoder, _ = nets.build("conv-bn", (16, 16, 1), 3)
    heads = encoder[-2]
    with torch.no_grad():
        heads.weight.zero_()
        heads.bias.copy_(torch.tensor([1.0, 2.0, 3.0, *[math.log(0.5)] * 3]))
    posterior = nets.Gaussian.from_heads(encoder(torch.rand(2, 1, 16, 16)))
    assert posterior.mean[0].tolist() == [1, 2, 3]
    torch.testing.assert_close(posterior.logvar.exp(), torch.full((2, 3), 0.25))  # sigma 0.5
    plain, _ = nets.build("conv-bn", (16, 16, 1), 3, heads=1)
    assert isinstance(plain[-1], nn.Linear)  # a plain code has no deviation to double


def test_conv_bn_normalises_by_the_batch_in_training_and_by_running_averages_afterwards():
    encoder, decoder = nets.build("conv-bn", (16, 16, 1), 3)
    images = torch.rand(6, 1, 16, 16, generator=generator())
    together, apart = encoder(images), encoder(images[:2])
    assert not torch.allclose(together[:2], apart, atol=1e-3)
    encoder.eval()
    torch.testing.assert_close(encoder(images)[:1], encoder(images[:1]))  # a single image is fine here
    with pytest.raises(UsageError, match="batch_size must be at least 2"):
        decoder(torch.zeros(1, 3))


@pytest.mark.parametrize("name", NAMES)
def test_weights_follow_from_the_generator_alone(name):
    def weights(seed: int, noise: int) -> list[torch.Tensor]:
        torch.manual_seed(noise)
        before = torch.random.get_rng_state()
        built = nets.build(name, (16, 16, 1), 3, generator=generator(seed))
        assert torch.equal(before, torch.random.get_rng_state())
        return [p for module in built for p in module.parameters()]

    first, again, other = weights(0, noise=1), weights(0, noise=2), weights(1, noise=1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True) if a.ndim > 1)


def test_a_generator_gives_different_networks_one_after_the_other():
    source = generator()
    first, second = (nets.build("mlp", (8, 8, 1), 2, generator=source)[0] for _ in range(2))
    assert not torch.equal(first[1].weight, second[1].weight)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_dict_restores_the_function(name):
    images = torch.rand(2, 1, 16, 16, generator=generator())
    for module, other, x in zip(
        nets.build(name, (16, 16, 1), 3, generator=generator(0)),
        nets.build(name, (16, 16, 1), 3, generator=generator(1)),
        (images, torch.randn(2, 3, generator=generator())),
        strict=True,
    ):
        assert not torch.equal(module(x), other(x))
        other.load_state_dict(module.state_dict())
        assert torch.equal(module(x), other(x))


def test_options_stand_in_the_name_or_beside_it():
    written, _ = nets.build("mlp:encoder=60+40,activation=tanh", (8, 8, 1), 2)
    given, _ = nets.build("mlp", (8, 8, 1), 2, encoder=[60, 40], activation="tanh")
    assert str(written) == str(given)
    assert [p.shape[0] for p in written.parameters() if p.ndim > 1] == [60, 40, 4]
    deep, _ = nets.build("mlp:width=5,depth=3", (8, 8, 1), 2)
    assert [p.shape[0] for p in deep.parameters() if p.ndim > 1] == [5, 5, 5, 4]


def test_wrong_names_and_options_say_what_is_right():
    with pytest.raises(UsageError, match="did you mean 'conv'"):
        nets.build("convv", (64, 64, 1), 2)
    with pytest.raises(UsageError, match="did you mean 'width'"):
        nets.build("mlp:widht=3", (8, 8, 1), 2)
    with pytest.raises(UsageError, match="did you mean 'tanh'"):
        nets.build("mlp", (8, 8, 1), 2, activation="tan")
    with pytest.raises(UsageError, match="cannot read 'wide'"):
        nets.build("mlp:wide", (8, 8, 1), 2)
    with pytest.raises(UsageError, match="latents and heads"):
        nets.build("mlp", (8, 8, 1), 0)
    with pytest.raises(UsageError, match="height, width, channels"):
        nets.build("mlp", (8, 8), 2)


def test_an_own_network_keeps_torchs_initialisation_and_is_still_reproducible():
    @nets.register("own-test-net")
    def own(shape, latents, *, heads=2, width=7):
        pixels = math.prod(shape)
        encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, heads * latents))
        decoder = nn.Sequential(nn.Linear(latents, pixels), nn.Unflatten(1, (shape[2], *shape[:2])))
        return encoder, decoder

    first, _ = nets.build("own-test-net:width=5", (8, 8, 1), 2, generator=generator(3))
    again, _ = nets.build("own-test-net:width=5", (8, 8, 1), 2, generator=generator(3))
    assert "own-test-net" in nets.names()
    assert first[1].weight.shape == (5, 64)
    assert first[1].bias.any()  # torch's default bias is not zero
    assert torch.equal(first[1].weight, again[1].weight)
