"""The network inside couplings as matrix products: outputs, gradients and running averages are those of its layers."""

import copy

import pytest
import torch
from torch.nn import functional as F

from unbraid.nets import fast_kernels
from unbraid.nets.bijections import ActNorm, Chain, InvertibleConv, build_bijection, conv_residual
from unbraid.nets.bijections._residual import planes, shift_and_add

SHAPES = [(2, 16, 16), (4, 8, 8), (3, 5, 7), (5, 4, 4)]


def moved(net, seed=0, scale=0.1):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(scale * torch.randn(weights.shape, generator=generator))
    return net


def asked(net, x, into):
    x = x.clone().requires_grad_()
    out = net(x)
    (out[0] if isinstance(out, tuple) else out).backward(into)
    gradients = {name: weights.grad for name, weights in net.named_parameters()}
    return (out[0] if isinstance(out, tuple) else out).detach(), x.grad, gradients


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_outputs_gradients_and_averages_are_those_of_the_layers(shape, training):
    channels, height, width = shape
    torch.manual_seed(0)
    first = moved(conv_residual(channels, channels, width=32, zero=False)).train(training)
    second = copy.deepcopy(first)
    x, into = torch.randn(6, 2 * channels, height, width)[:, :channels], torch.randn(6, *shape)
    y, dx, gradients = asked(copy.deepcopy(first).double(), x.double(), into.double())
    with fast_kernels():
        found, found_dx, found_gradients = asked(second, x, into)
    assert found.double().sub(y).abs().max() < 1e-5 * y.abs().max()
    assert found_dx.double().sub(dx).norm() < 1e-5 * dx.norm()
    for name, exact in gradients.items():
        # A bias before a normalisation by the batch's own mean has no effect: its gradient is rounding.
        scale = exact.norm() if exact.norm() > 1e-6 else into.norm()
        assert found_gradients[name].double().sub(exact).norm() < 1e-5 * scale, name
    first(x)
    for (name, kept), (_, other) in zip(first.named_buffers(), second.named_buffers(), strict=True):
        assert torch.allclose(kept, other, rtol=1e-5, atol=1e-6), name


def test_planes_and_their_sum_are_adjoint():
    # <planes(x), y> = <x, shift_and_add(y)> for all x and y, below and above the count from which torch adds them up.
    for channels in (1, 3, 6):
        x = torch.randn(4, channels, 5, 3, dtype=torch.float64)
        y = torch.randn(9 * channels, 4 * 15, dtype=torch.float64)
        assert float((planes(x) * y).sum()) == pytest.approx(float((x * shift_and_add(y, (4, 5, 3))).sum()))


def test_planes_times_a_kernel_are_a_convolution():
    x, kernel = torch.randn(2, 3, 4, 5), torch.randn(7, 3, 3, 3)
    found = (kernel.flatten(1) @ planes(x)).view(7, 2, 4, 5).transpose(0, 1)
    assert torch.allclose(found, F.conv2d(x, kernel, padding=1), atol=1e-5)


@pytest.mark.parametrize("low", [False, True])
def test_a_whole_network_has_the_gradients_it_had(low):
    x = torch.randn(8, 1, 16, 16)
    net = build_bijection("conv:stages=2,blocks=2,width=16", (16, 16, 1), 10).train()
    net(x)
    moved(net, scale=0.02).low_memory(low)
    into = torch.randn(8, 256, dtype=torch.float64)
    _, dx, gradients = asked(copy.deepcopy(net).low_memory(False).double(), x.double(), into)
    with fast_kernels():
        _, found_dx, found = asked(net, x, into.float())
    assert found_dx.double().sub(dx).norm() < 1e-4 * dx.norm()
    whole = torch.cat([exact.flatten() for exact in gradients.values()])
    assert torch.cat([each.flatten() for each in found.values()]).double().sub(whole).norm() < 1e-4 * whole.norm()


def test_determinants_of_many_layers_are_the_sum_of_each():
    torch.manual_seed(0)
    layers = [ActNorm(6), InvertibleConv(6), ActNorm(6), InvertibleConv(6, kind="plu"), InvertibleConv(6)]
    chain, x = Chain(layers), torch.randn(4, 6, 3, 5)
    chain.train()(x)
    moved(chain)
    z, total = chain(x)
    apart = []
    for layer in layers:
        x, log_det = layer(x)
        apart.append(log_det)
    assert torch.equal(z, x)
    assert torch.allclose(total, sum(apart), atol=1e-5)
