"""The fast convolutions against torch's own: outputs and every gradient."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid import nets
from unbraid.nets import stride2
from unbraid.nets.layers import CodeLinear, Conv, Deconv

# Inputs, outputs, kernel, height and width of the image: the study's layers, colour, few and many channels, odd grids.
CONVS = [
    (1, 32, 4, 64, 64),
    (3, 32, 4, 16, 24),
    (32, 32, 4, 32, 32),
    (32, 64, 2, 16, 16),
    (1, 8, 2, 8, 8),
    (5, 7, 4, 6, 10),
]
DECONVS = [(64, 64, 4, 4), (64, 32, 8, 8), (32, 1, 32, 32), (32, 3, 8, 12), (7, 5, 3, 5), (16, 8, 4, 4)]


def seeded(layer: nn.Module) -> nn.Module:
    """The layer with weights that do not depend on which tests ran before."""
    source = torch.Generator().manual_seed(3)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.1, generator=source)
    return layer


def both_ways(layer: nn.Module, x: Tensor, bf16: bool = False) -> tuple[list[Tensor], list[Tensor]]:
    """Output and gradients (input, weight, bias) by torch's route and by ours."""

    def run(fast: bool) -> list[Tensor]:
        layer.zero_grad()
        leaf = x.clone().requires_grad_()
        with nets.fast_kernels(fast), torch.autocast("cpu", torch.bfloat16, enabled=bf16 and fast):
            y = layer(leaf)
        weights = torch.randn(y.shape, generator=torch.Generator().manual_seed(5))
        (y.float() * weights).sum().backward()
        return [y.detach().float(), leaf.grad, *(p.grad.clone() for p in layer.parameters())]

    return run(False), run(True)


def layers() -> list:
    cases: list[tuple[str, Callable[[], nn.Module], tuple[int, ...]]] = []
    for inputs, outputs, kernel, height, width in CONVS:
        for relu in (True, False):
            cases.append(
                (
                    f"conv-{inputs}-{outputs}-{kernel}-{relu}",
                    lambda a=inputs, b=outputs, k=kernel, r=relu: Conv(a, b, k, relu=r),
                    (inputs, height, width),
                )
            )
    for inputs, outputs, height, width in DECONVS:
        for relu in (True, False):
            cases.append(
                (
                    f"deconv-{inputs}-{outputs}-{relu}",
                    lambda a=inputs, b=outputs, r=relu: Deconv(a, b, relu=r),
                    (inputs, height, width),
                )
            )
    return [pytest.param(make, shape, id=name) for name, make, shape in cases]


@pytest.mark.parametrize(("make", "shape"), layers())
def test_outputs_and_gradients_are_torchs_to_float32_rounding(make, shape):
    layer, x = seeded(make()), torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    for slow, fast in zip(*both_ways(layer, x), strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-4 * slow.abs().max().item())


@pytest.mark.parametrize(("make", "shape"), layers())
def test_bfloat16_keeps_the_direction_of_every_gradient(make, shape):
    # Eight bits of mantissa: relative errors of about 2**-8 per number; and the signs of sums near 0 change, so that
    # about one ReLU in 200 passes another gradient, an error of sqrt(1/200) = 7 % in norm.
    layer, x = seeded(make()), torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    for slow, fast in zip(*both_ways(layer, x, bf16=True), strict=True):
        assert fast.dtype == torch.float32
        assert F.cosine_similarity(slow.flatten(), fast.flatten(), dim=0) > 0.97
        assert (fast - slow).norm() < (0.2 if getattr(layer, "relu", True) else 0.01) * slow.norm()


def test_gradients_in_float64_pass_the_numerical_check():
    for make, shape in [
        (lambda: Conv(1, 3, 4), (1, 4, 6)),
        (lambda: Conv(2, 3, 2), (2, 4, 4)),
        (lambda: Deconv(2, 1), (2, 2, 3)),
    ]:
        layer = seeded(make()).double()
        x = torch.randn(2, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
        with nets.fast_kernels():
            assert torch.autograd.gradcheck(lambda x, *_, layer=layer: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("name", ["conv", "conv-bn", "slow"])
@pytest.mark.parametrize("shape", [(64, 64, 1), (32, 32, 3), (17, 28, 1)], ids=str)
def test_whole_networks_agree_with_and_without_fast_kernels(name, shape):
    # In evaluation mode: the moments of a batch of three would magnify rounding.
    encoder, decoder = (module.eval() for module in nets.build(name, shape, 4))
    images = torch.rand(3, shape[2], *shape[:2], generator=torch.Generator().manual_seed(0))

    def run(fast: bool) -> tuple[Tensor, Tensor, list[Tensor]]:
        encoder.zero_grad()
        decoder.zero_grad()
        with nets.fast_kernels(fast):
            heads = encoder(images)
            output = decoder(heads[:, :4])
        nets.likelihood("bernoulli").nll(output, images).sum().backward()
        gradients = [p.grad.clone() for m in (encoder, decoder) for p in m.parameters() if p.grad is not None]
        return heads.detach(), output.detach(), gradients

    slow, fast = run(False), run(True)
    torch.testing.assert_close(fast[0], slow[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fast[1], slow[1], rtol=1e-4, atol=1e-5)
    for a, b in zip(fast[2], slow[2], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4 * b.abs().max().item())


def test_the_same_step_twice_gives_the_same_bytes():
    def step() -> list[bytes]:
        encoder, decoder = nets.build("conv", (64, 64, 1), 4, generator=torch.Generator().manual_seed(1))
        images = torch.rand(8, 1, 64, 64, generator=torch.Generator().manual_seed(0)).round()
        with nets.fast_kernels(), torch.autocast("cpu", torch.bfloat16):
            output = decoder(encoder(images)[:, :4])
        nets.likelihood("bernoulli").nll(output, images).sum().backward()
        return [p.grad.numpy().tobytes() for m in (encoder, decoder) for p in m.parameters()]

    assert step() == step()


def test_an_image_that_needs_no_gradient_gets_none():
    encoder, _ = nets.build("conv", (16, 16, 1), 2)
    images = torch.rand(2, 1, 16, 16)
    with nets.fast_kernels():
        encoder(images).sum().backward()
    assert images.grad is None


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own, inside jacfwd
def test_outside_the_switch_forward_mode_works():
    _, decoder = nets.build("conv", (16, 16, 1), 2)
    codes = torch.randn(2, generator=torch.Generator().manual_seed(0))
    jacobian = torch.func.jacfwd(lambda z: decoder(z[None])[0])(codes)
    backward = torch.func.jacrev(lambda z: decoder(z[None])[0])(codes)
    assert jacobian.shape == (1, 16, 16, 2)
    torch.testing.assert_close(jacobian, backward, rtol=1e-3, atol=1e-6)


def test_the_switch_is_off_by_default_and_goes_back():
    x = torch.zeros(1)
    assert not stride2.use_fast_kernels(x)
    with nets.fast_kernels():
        assert stride2.use_fast_kernels(x)
        assert not stride2.use_fast_kernels(x.to("meta"))
        with nets.fast_kernels(False):
            assert not stride2.use_fast_kernels(x)
    assert not stride2.use_fast_kernels(x)


def test_layers_at_the_code_stay_in_float32_under_autocast():
    layer, x = seeded(CodeLinear(64, 3)), torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        inside = layer(x)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, layer(x))
