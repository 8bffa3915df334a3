"""Convolutions without gradients, with fewer products, against torch's in double precision."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid import nets
from unbraid.nets import _inference, stride2
from unbraid.nets.layers import Conv
from unbraid.training import numerics

SHAPES = [
    (8, 8, 1),
    (8, 11, 3),
    (16, 16, 1),
    (17, 28, 1),
    (32, 32, 1),
    (32, 32, 5),
    (64, 64, 3),
    (96, 64, 1),
    (128, 128, 3),
]


@pytest.fixture
def wide(monkeypatch) -> None:
    """The code runs on any processor; where it is not the faster one it is not used."""
    monkeypatch.setattr(stride2, "one_wide_core", lambda: True)


def layer(c: int, f: int, k: int, relu: bool = True) -> _inference.Layer:
    source = torch.Generator().manual_seed(c + f + k)
    weight = torch.randn(f, c, k, k, generator=source) / (c * k * k) ** 0.5
    return weight, torch.randn(f, generator=source), relu


def exact(x: Tensor, layers: list[_inference.Layer]) -> Tensor:
    y = x.double()
    for weight, bias, relu in layers:
        y = F.conv2d(y, weight.double(), bias.double(), 2, weight.shape[-1] // 2 - 1)
        y = y.relu() if relu else y
    return y


def difference(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    return ((found - expected).abs().max() / expected.abs().max()).item()


@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize(("h", "w"), [(1, 1), (2, 2), (3, 4), (4, 5), (8, 7)])
@pytest.mark.parametrize(("c", "f", "k"), [(1, 32, 4), (3, 64, 4), (5, 32, 2), (16, 32, 4), (64, 96, 4), (64, 32, 2)])
def test_one_layer_is_torchs(c, f, k, h, w, n):
    x = torch.randn(n, c, 2 * h, 2 * w, generator=torch.Generator().manual_seed(0))
    for relu in (True, False):
        layers = [layer(c, f, k, relu)]
        assert difference(_inference.convs(x, layers), exact(x, layers)) < 5e-6


def test_more_images_than_go_at_a_time_and_none():
    layers = [layer(2, 32, 4), layer(32, 32, 4), layer(32, 64, 2)]
    for n in (0, 1, 50, 150):
        x = torch.rand(n, 2, 24, 16)
        found = _inference.convs(x, layers)
        assert found.shape == (n, 64, 3, 2)
        assert n == 0 or difference(found, exact(x, layers)) < 5e-6
    # Whatever goes with it, an image has the same features to the last bit, and in any order of memory.
    assert torch.equal(_inference.convs(x[70:73], layers), found[70:73])
    assert torch.equal(_inference.convs(x.to(memory_format=torch.channels_last), layers), found)


def test_what_is_not_a_number_stays():
    x = torch.rand(1, 1, 8, 8)
    x[0, 0, 3, 3] = torch.nan
    layers = [layer(1, 32, 4), layer(32, 32, 4)]
    assert torch.isnan(_inference.convs(x, layers)).any()


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_codes_are_those_of_plain_layers(shape):
    encoder, _ = nets.build("conv", shape, 10, generator=torch.Generator().manual_seed(0))
    images = np.random.default_rng(0).integers(256, size=(5, *shape)).astype(np.uint8)
    x = numerics.to_tensor(images)
    with torch.no_grad():
        expected = copy.deepcopy(encoder).double()(x.double())
    codes = numerics.in_batches(lambda part: encoder(numerics.to_tensor(part)), images, 3, numerics.device("cpu"))
    assert difference(torch.from_numpy(codes), expected) < 1e-5


@pytest.mark.usefixtures("wide")
def test_only_codes_at_full_precision_take_this_way(monkeypatch):
    taken = []
    convs = _inference.convs
    monkeypatch.setattr(_inference, "convs", lambda *given: taken.append(given) or convs(*given))
    encoder, _ = nets.build("conv", (16, 16, 1), 2)
    x = torch.rand(2, 1, 16, 16)

    def goes(run, images: Tensor = x) -> bool:
        taken.clear()
        run(images)
        return bool(taken)

    monkeypatch.setattr(stride2, "one_wide_core", lambda: True)
    with nets.fast_kernels():
        assert not goes(encoder)
        with torch.no_grad():
            assert goes(encoder)
            assert not goes(copy.deepcopy(encoder).double(), x.double())
            assert not goes(encoder.convs, x[..., :15])
            assert not goes(nets.Convs(Conv(1, 24, 4)))
            with torch.autocast("cpu", torch.bfloat16):
                assert not goes(encoder)
            monkeypatch.setattr(stride2, "one_wide_core", lambda: False)
            assert not goes(encoder)
            monkeypatch.setattr(stride2, "one_wide_core", lambda: True)
    with torch.no_grad():
        assert not goes(encoder)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("layers", "channels"),
    [([Conv(3, 32, 4)], 1), ([Conv(1, 32, 4), Conv(64, 64, 4)], 1), ([Conv(32, 32, 4)], 3)],
)
def test_layers_that_do_not_fit_are_refused_as_torch_does(layers, channels):
    with nets.fast_kernels(), torch.no_grad(), pytest.raises(RuntimeError, match="channels"):
        nets.Convs(*layers)(torch.rand(2, channels, 16, 16))


@pytest.mark.usefixtures("wide")
def test_other_kernels_are_torchs():
    convs, x = nets.Convs(Conv(1, 32, 6)), torch.rand(2, 1, 16, 16)
    with torch.no_grad():
        expected = convs(x)
        with nets.fast_kernels():
            assert torch.allclose(convs(x), expected, atol=1e-5)


def test_several_threads_are_torchs():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert not stride2.one_wide_core()
    finally:
        torch.set_num_threads(before)


def test_where_nothing_is_compiled_torch_does_it(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        assert stride2.one_wide_core()
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        assert not stride2.one_wide_core()
    finally:
        torch.set_num_threads(before)


def test_images_go_in_large_batches_where_features_stay_in_the_cache_anyway(monkeypatch):
    encoder, _ = nets.build("conv", (16, 16, 1), 2)
    for wide, size in ((True, 256), (False, 64)):
        monkeypatch.setattr(stride2, "one_wide_core", lambda wide=wide: wide)
        assert numerics.block_size(encoder, 256, numerics.device("cpu")) == size
