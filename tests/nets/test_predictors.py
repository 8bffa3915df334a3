"""Networks that predict: sizes, shapes, names, seeds."""

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets.layers import Whole

SMALL = {  # of networks made for clusters, a relative that differs in depth and width alone
    "bit-r50x1": "resnet",
    "bit-r101x3": "resnet:blocks=1+2,width=32",
    "densenet-121": "densenet-121:blocks=2+2+2,growth=8,width=16",
    "rotation-eq-big": "rotation-eq:fields=8+4+4+8+16",
    "madry": "madry:width=8,hidden=64",
    "small-cnn": "small-cnn:width=4,hidden=32",
}
NAMES = [SMALL.get(name, name) for name in nets.predictors.names() if name != "one-layer"]


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("name", "channels", "outputs", "size"),
    [
        # The published counts of the generalisation benchmark: dSprites, Shapes3D, MPI3D; 398,407 + 23 n for the MLP.
        ("cnn", 1, 5, 379_077),
        ("cnn", 3, 6, 380_358),
        ("cnn", 3, 7, 380_615),
        ("mlp:layers=90+90+90+90+45+22", 1, 5, 398_407 + 23 * 5),
        ("mlp:layers=90+90+90+90+45+22", 3, 7, 1_135_687 + 23 * 7),
        # 3,460 + 21 n and 3,540 + 21 n of the set encoder; the spatial transformer adds 9,130 or 9,914 to the CNN
        ("set-encoder", 1, 5, 3_460 + 21 * 5),
        ("set-encoder", 3, 6, 3_540 + 21 * 6),
        ("spatial-transformer", 1, 5, 379_077 + 9_130),
        ("spatial-transformer", 3, 6, 380_358 + 9_914),
        # 3x3 convolutions from 3 or 5 to 16, four from 16 to 16, one to 32; linear layers 33 * 32 + 33 n
        ("coordconv", 1, 5, 16 * 28 + 4 * 16 * 145 + 32 * 145 + 33 * 32 + 33 * 5),
        # lifting 4 (16 c + 1); 8 * 16 numbers a pair of fields, a bias each; the linear 257 n
        ("rotation-eq", 1, 5, 68 + 4 * 513 + 8 * 513 + 8 * 1025 + 32 * 1025 + 257 * 5),
        # convolutions 16 (c k k) + 1: 8 * 17 + 8 * 129 + 16 * 129 + 16 * 257 + 64 * 257, the linear 65 * 2
        ("cnn:width=8", 1, 2, 136 + 1_032 + 2_064 + 4_112 + 16_448 + 130),
        ("cnn:depth=9", 1, 5, 379_077 + 3 * (64 * 9 * 64 + 64)),
        ("mlp:width=5,depth=1", 1, 2, 4097 * 5 + 6 * 2),
    ],
)
def test_parameter_counts(name, channels, outputs, size):
    assert count(nets.build_predictor(name, (64, 64, channels), outputs)) == size


def test_parameter_counts_of_the_networks_for_digits():
    # 5x5 convolutions and two linear layers: 32 * 26 + 64 * 801 + 1024 * 3137 + 10 * 1025, and half the channels.
    assert count(nets.build_predictor("madry", (28, 28, 1), 10)) == 3_274_634
    assert count(nets.build_predictor("small-cnn", (28, 28, 1), 10)) == 16 * 26 + 32 * 401 + 128 * 1569 + 10 * 129
    # As published with analysis by synthesis.
    assert count(nets.build_predictor("abs-cnn", (28, 28, 1), 10)) == 249_228
    assert count(nets.build_predictor("substitute", (28, 28, 1), 10)) == 52_010


def test_a_pooled_network_is_what_torch_makes_of_its_layers():
    net = nets.build_predictor("madry:width=4,hidden=16", (12, 8, 3), 5)
    images = torch.rand(6, 3, 12, 8, generator=torch.Generator().manual_seed(0))
    first, second, _, hidden, _, last = net
    x = nn.functional.max_pool2d(nn.functional.conv2d(images, first.weight, first.bias, padding=2).relu(), 2)
    x = nn.functional.max_pool2d(nn.functional.conv2d(x, second.weight, second.bias, padding=2).relu(), 2)
    torch.testing.assert_close(net(images), last(hidden(x.flatten(1)).relu()))


@pytest.mark.parametrize("outputs", [4, 5, 6, 7])
def test_the_read_out_of_ten_codes_has_the_published_number_of_parameters(outputs):
    # 11 * 40 + 2 * 41 * 40 + 41 n; one layer has 11 n.
    assert count(nets.build_predictor("readout", (10,), outputs)) == 3_720 + 41 * outputs
    assert count(nets.build_predictor("linear", (10,), outputs)) == 11 * outputs


@pytest.mark.parametrize("size", [(8, 8), (17, 17), (28, 28), (64, 64), (24, 40), (96, 96)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_pixel_of_any_image_matters_and_every_parameter_learns(name, size):
    net = nets.build_predictor(name, (*size, 3), 4)
    with torch.no_grad():
        for p in net.parameters():  # where a network starts at zero on purpose, nothing before it would learn yet
            if not p.any():
                p.copy_(0.01 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1)))
    images = torch.rand(8, 3, *size, generator=torch.Generator().manual_seed(0)).requires_grad_()
    scores = net(images)
    assert scores.shape == (8, 4)
    scores.square().sum().backward()
    assert images.grad is not None
    reached = images.grad.abs().sum((0, 1)) > 0
    if name.startswith("rotation-eq"):  # its kernels are discs, which miss the very corners of an image
        reached[:: size[0] - 1, :: size[1] - 1] = True
    assert reached.all()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in net.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_weights_follow_from_the_generator_alone(name):
    def weights(seed):
        torch.manual_seed(seed)  # must not matter
        return nn.utils.parameters_to_vector(
            nets.build_predictor(name, (16, 16, 1), 3, generator=torch.Generator().manual_seed(7)).parameters()
        )

    assert torch.equal(weights(0), weights(1))
    other = nets.build_predictor(name, (16, 16, 1), 3, generator=torch.Generator().manual_seed(8))
    assert not torch.equal(weights(0), nn.utils.parameters_to_vector(other.parameters()))


def test_fast_kernels_do_not_change_what_the_cnn_says():
    net = nets.build_predictor("cnn", (64, 64, 1), 5)
    images = torch.rand(4, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    with nets.fast_kernels():
        fast = net(images)
    torch.testing.assert_close(fast, net(images), rtol=1e-4, atol=1e-6)


def test_vectors_are_for_the_mlp():
    assert nets.build_predictor("mlp:width=8", (7,), 2)(torch.zeros(3, 7)).shape == (3, 2)
    with pytest.raises(UsageError, match=r"takes images.*\(7,\).*mlp"):
        nets.build_predictor("cnn", (7,), 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cn", "unknown predictor 'cn'; did you mean 'cnn'"),
        ("cnn:wide=3", "unknown option of predictor 'cnn': 'wide'"),
        ("cnn:width=0", "width must be at least 1, got 0"),
        ("mlp:layers=3+0", "at least one unit"),
        ("madry:hidden=0", "width and hidden must be at least 1, got 32 and 0"),
        ("mlp:depth=two", "must be int, got 'two'"),
    ],
)
def test_wrong_names_and_options_are_refused(name, message):
    with pytest.raises(UsageError, match=message):
        nets.build_predictor(name, (16, 16, 1), 2)


@pytest.mark.parametrize("size", [(32, 32, 1), (24, 40, 3)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_routes_taken_in_training_change_neither_predictions_nor_gradients(name, size):
    net = nets.build_predictor(name, size, 4).double().eval()
    images = torch.rand(3, size[2], *size[:2], dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def found(fast):
        net.zero_grad()
        with nets.fast_kernels(fast):
            scores = net(images)
        scores.square().sum().backward()
        return [scores.detach(), *(p.grad.clone() for p in net.parameters())]

    for fast, plain in zip(found(True), found(False), strict=True):
        torch.testing.assert_close(fast, plain, atol=1e-10, rtol=1e-8)


def test_a_convolution_as_large_as_its_image_is_a_matrix_product():
    layer = Whole(3, 5, (2, 4)).double()
    x = torch.randn(6, 3, 2, 4, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(layer(x), nn.functional.conv2d(x, layer.weight, layer.bias))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [16, 28])
def test_gradients_in_bfloat16_are_numbers_down_to_a_single_pixel(name, size):
    net = nets.build_predictor(name, (size, size, 1), 3)
    images = torch.rand(8, 1, size, size, generator=torch.Generator().manual_seed(0))
    for _ in range(3):  # what is wrong is read from memory that was used before
        net.zero_grad()
        with nets.fast_kernels(), torch.autocast("cpu", torch.bfloat16):
            scores = net(images)
        scores.float().square().sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("outer", ["binarised", "coordconv", "spatial-transformer"])
def test_a_network_inside_another_follows_from_the_seed(outer):
    def first(seed):
        net = nets.build_predictor(
            f"{outer}:net=small-cnn", (28, 28, 1), 3, generator=torch.Generator().manual_seed(seed)
        )
        return torch.cat([part.flatten() for part in net.state_dict().values()])

    assert torch.equal(first(0), first(0))
    assert not torch.equal(first(0), first(1))


def test_a_binarised_network_sees_black_and_white_with_gradients_past_the_threshold():
    net = nets.build_predictor("binarised:net=small-cnn", (8, 8, 1), 3, generator=torch.Generator().manual_seed(0))
    images = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.equal(net(images), net((images >= 0.5).float()))
    net(images).sum().backward()
    binary = (images.detach() >= 0.5).float().requires_grad_()
    net.model(binary).sum().backward()
    assert torch.equal(images.grad, binary.grad)
