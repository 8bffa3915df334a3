"""The networks of the generalisation benchmark: symmetries, starts, sizes and released weights."""

import numpy as np
import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets.predictors.bit import BiT, load_bit
from unbraid.nets.predictors.densenet import DenseNet, load_densenet
from unbraid.nets.predictors.rotation import RotatedConv, rotations


def images(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("size", "channels"), [(32, 3), (28, 1)])
def test_rotated_features_are_features_of_the_rotated_image(size, channels):
    net = nets.build_predictor("rotation-eq", (size, size, channels), 3)
    x = images(2, channels, size, size)
    for layers in range(2, len(net) - 1):
        upright, turned = net[:layers](x), net[:layers](torch.rot90(x, 1, (2, 3)))
        if upright.ndim == 4:
            expected = torch.rot90(upright.unflatten(1, (-1, 8)).roll(2, 2), 1, (3, 4)).flatten(1, 2)
            torch.testing.assert_close(turned, expected, atol=1e-4, rtol=1e-4)


def test_an_eighth_turn_twice_is_nearly_a_quarter():
    # Of a smooth kernel: interpolation blurs, so the two are alike, not equal.
    rows, columns = np.indices((9, 9)) - 4
    smooth = (np.exp(-((rows - 1.5) ** 2 + columns**2) / 8) * (np.hypot(rows, columns) <= 4.5)).ravel()
    turned = rotations(9)
    twice, quarter = turned[1] @ turned[1] @ smooth, turned[2] @ smooth
    assert np.corrcoef(twice, quarter)[0, 1] > 0.98
    assert np.corrcoef(twice, turned[6] @ smooth)[0, 1] < 0.7, "the same sense of rotation"


def test_features_turn_by_45_degrees_approximately():
    torch.manual_seed(0)
    layer = RotatedConv(1, 2, 9, lifting=True)
    with torch.no_grad():  # a smooth kernel, so that interpolation changes little
        rows, columns = torch.meshgrid(torch.arange(9) - 4.0, torch.arange(9) - 4.0, indexing="ij")
        layer.weight.copy_(torch.exp(-((rows - 1.5) ** 2 + columns**2) / 8).reshape(1, 1, 1, 81).expand(2, -1, -1, -1))
        bank = layer.bank().unflatten(0, (2, 8))
    for g in range(8):
        angle = g * np.pi / 4
        # The middle of the bump, 1.5 rows below the centre, turns counter-clockwise on the screen.
        mass = bank[0, g, 0] / bank[0, g, 0].sum()
        middle = torch.stack([(mass * rows).sum(), (mass * columns).sum()])
        length = float(middle.norm())
        assert length > 0.5
        expected = torch.tensor([np.cos(angle), np.sin(angle)], dtype=torch.float32)
        torch.testing.assert_close(middle / length, expected, atol=0.05, rtol=0)


def test_a_set_of_pixels_has_no_order():
    net = nets.build_predictor("set-encoder", (16, 16, 3), 4)
    pixels = net.places(images(2, 3, 16, 16)).flatten(2).transpose(1, 2)
    order = torch.randperm(256, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(net.of_pixels(pixels[:, order]), net.of_pixels(pixels), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(net(images(2, 3, 16, 16).flip(2)), net(images(2, 3, 16, 16))), "but places count"


@pytest.mark.parametrize("size", [64, 28])
def test_a_spatial_transformer_starts_as_the_network_inside(size):
    net = nets.build_predictor("spatial-transformer", (size, size, 1), 5)
    x = images(3, 1, size, size)
    torch.testing.assert_close(net(x), net.inner(x), atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        net.affine.bias[2] = 0.25  # looks to the right, by an eighth of the image
    moved = torch.zeros_like(x)
    moved[..., : size - size // 8] = x[..., size // 8 :]
    if size == 64:
        torch.testing.assert_close(net(x), net.inner(moved), atol=1e-4, rtol=1e-4)


def test_the_published_sizes_of_residual_and_dense_networks():
    with torch.device("meta"):
        assert count(BiT((3, 4, 6, 3), 64, 1000)) == 25_549_352
        assert count(BiT((3, 4, 23, 3), 192, 1000)) == 387_934_888
        assert count(DenseNet((6, 12, 24, 16), 32, 64, 1000)) == 7_978_856


def released(net, rng):
    """A file's arrays for a small BiT, under the released names and in TensorFlow's layout."""
    arrays = {"resnet/head/conv2d/kernel": rng.random((1, 1, 128, 1000), np.float32)}

    def put(name, tensor):
        value = rng.standard_normal(tuple(tensor.shape)).astype(np.float32)
        arrays[f"resnet/{name}"] = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value
        return value

    expected = {"root.conv.weight": put("root_block/standardized_conv2d/kernel", net.root.conv.weight)}
    for stage, units in enumerate(net.body, start=1):
        for unit, block in enumerate(units, start=1):
            at, here = f"block{stage}/unit{unit:02d}", f"body.{stage - 1}.{unit - 1}"
            for k, letter in enumerate("abc", start=1):
                conv, norm = getattr(block, f"conv{k}"), getattr(block, f"gn{k}")
                expected[f"{here}.conv{k}.weight"] = put(f"{at}/{letter}/standardized_conv2d/kernel", conv.weight)
                expected[f"{here}.gn{k}.weight"] = put(f"{at}/{letter}/group_norm/gamma", norm.weight)
                expected[f"{here}.gn{k}.bias"] = put(f"{at}/{letter}/group_norm/beta", norm.bias)
            if block.downsample is not None:
                name = f"{at}/a/proj/standardized_conv2d/kernel"
                expected[f"{here}.downsample.weight"] = put(name, block.downsample.weight)
    expected["gn.weight"] = put("group_norm/gamma", net.gn.weight)
    expected["gn.bias"] = put("group_norm/beta", net.gn.bias)
    return arrays, expected


def test_released_bit_weights_find_their_places(tmp_path):
    net = BiT((1, 2), 16, 5)
    head = net.head.weight.clone()
    arrays, expected = released(net, np.random.default_rng(0))
    np.savez(tmp_path / "bit.npz", **arrays)
    load_bit(net, tmp_path / "bit.npz")
    state = net.state_dict()
    assert {name for name in state if not name.startswith("head.")} == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(state[name], value)
    assert torch.equal(net.head.weight, head)


def test_weights_of_another_network_are_refused_by_name(tmp_path):
    arrays, _ = released(BiT((1, 2), 16, 5), np.random.default_rng(0))
    np.savez(tmp_path / "bit.npz", **arrays)
    with pytest.raises(UsageError, match=r"block3/unit01/a/group_norm/gamma"):
        load_bit(BiT((1, 2, 1), 16, 5), tmp_path / "bit.npz")
    with pytest.raises(UsageError, match=r"root_block.*shape \[32, 3, 7, 7\]"):
        load_bit(BiT((1, 2), 32, 5), tmp_path / "bit.npz")
    with pytest.raises(UsageError, match=r"nothing\.npz"):
        load_bit(BiT((1, 2), 16, 5), tmp_path / "nothing.npz")
    (tmp_path / "torn.npz").write_bytes((tmp_path / "bit.npz").read_bytes()[:1000])
    with pytest.raises(UsageError, match=r"torn\.npz"):
        load_bit(BiT((1, 2), 16, 5), tmp_path / "torn.npz")


def small_densenet():
    return DenseNet((2, 1), 4, 8, 5)


@pytest.mark.parametrize("old", [True, False])
def test_released_densenet_weights_find_their_places(tmp_path, old):
    source, net = small_densenet(), small_densenet()
    for module in source.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_()
    state = source.state_dict()
    if old:  # the first releases: norm.1 for norm1, no count of batches
        state = {
            (
                name.replace("norm1", "norm.1")
                .replace("norm2", "norm.2")
                .replace("conv1", "conv.1")
                .replace("conv2", "conv.2")
                if "denselayer" in name
                else name
            ): tensor
            for name, tensor in state.items()
            if not name.endswith("num_batches_tracked")
        }
    state["classifier.weight"] = torch.zeros(1000, 12)
    torch.save(state, tmp_path / "densenet.pth")
    head = net.classifier.weight.clone()
    load_densenet(net, tmp_path / "densenet.pth")
    x = images(2, 3, 32, 32)
    torch.testing.assert_close(net.features(x), source.features(x))
    assert torch.equal(net.classifier.weight, head)


def test_a_file_that_would_run_code_is_refused(tmp_path):
    torch.save({"features.conv0.weight": print}, tmp_path / "evil.pth")
    with pytest.raises(UsageError, match=r"evil\.pth"):
        load_densenet(small_densenet(), tmp_path / "evil.pth")
    torch.save({"features.conv0.weight": torch.zeros(8, 3, 7, 7)}, tmp_path / "part.pth")
    with pytest.raises(UsageError, match=r"features\.norm0\.weight"):
        load_densenet(small_densenet(), tmp_path / "part.pth")


@pytest.mark.parametrize("name", ["resnet", "densenet-121:blocks=1+1+1+1,growth=4,width=8"])
def test_images_of_one_channel_are_repeated(name):
    net = nets.build_predictor(name, (16, 16, 1), 3).eval()
    x = images(2, 1, 16, 16)
    torch.testing.assert_close(net(x), net(x.expand(-1, 3, -1, -1)))
    with pytest.raises(UsageError, match="one or three channels, got 2"):
        nets.build_predictor(name, (16, 16, 2), 3)
