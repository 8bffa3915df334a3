"""Fully invertible classifiers: bookkeeping, exactness at full size, memory, density."""

import math

import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets import bijections as b
from unbraid.nets.bijections import build_bijection
from unbraid.problem import Problem


def settled(net, x):
    """A network with random weights whose actnorms have seen a batch, in evaluation mode."""
    torch.manual_seed(1)
    for weights in net.parameters():
        weights.data += 0.02 * torch.randn_like(weights)
    net.train()
    with torch.no_grad():
        net(x)
    return net.eval()


@pytest.mark.parametrize(("channels", "parts"), [(1, (256, 256, 512)), (3, (768, 768, 1536))])
def test_the_network_for_digits_books_every_number(channels, parts):
    net = build_bijection("conv:blocks=1,width=4", (32, 32, channels), 10)
    assert net.parts == parts
    assert sum(net.parts) == net.size == 1024 * channels
    x = torch.rand(2, channels, 32, 32)
    z, _ = settled(net, x)(x)
    assert z.shape == (2, net.size)
    semantic, nuisance = net.split(z)
    assert torch.equal(semantic, z[:, :10])
    assert torch.equal(net.merge(semantic, nuisance), z)


def test_what_is_factored_out_last_in_the_vector_left_first():
    # Without couplings that do anything, the last 512 outputs are two of the four channels after the first squeeze.
    net = build_bijection("conv:blocks=1,width=4,actnorm=false,mixing=reverse,coupling=additive", (32, 32, 1), 10)
    x = torch.rand(1, 1, 32, 32)
    z, log_det = net.eval()(x)
    squeezed = b.Squeeze()(x)[0].flip(1)
    assert torch.equal(z[:, 512:], squeezed[:, 2:].flatten(1))
    assert not log_det.any()


def unheard(net, x):
    """The couplings that no logit depends on, by their place among all."""
    torch.manual_seed(0)
    for weights in net.parameters():
        weights.data = 0.3 * torch.randn_like(weights)
    net.train().logits(x).sum().backward()
    kinds = (b.AdditiveCoupling, b.AffineCoupling, b.SwapCoupling)
    couplings = [module for module in net.modules() if isinstance(module, kinds)]
    slopes = [[w.grad for w in one.parameters() if w.grad is not None] for one in couplings]
    return [place for place, some in enumerate(slopes) if not any(slope.any() for slope in some)]


@pytest.mark.parametrize(
    ("name", "shape", "last"),
    [
        ("imagenet:stages=2,blocks=2", (16, 16, 1), []),
        ("conv:stages=2,blocks=2,width=4,coupling=affine,mixing=none", (8, 8, 1), []),
        ("conv:stages=2,blocks=2,width=4,coupling=additive,mixing=none", (8, 8, 1), []),
        ("fc:coupling=affine", (12,), []),
        ("fc:coupling=additive", (12,), []),
        # The last coupling before numbers leave moves the half that leaves: nuisance alone.
        ("fc", (12,), [3]),
        ("conv:stages=2,blocks=2,width=4", (8, 8, 1), [1, 3]),
        ("conv:stages=2,blocks=2,width=4,factor_out=false", (8, 8, 1), [3]),
    ],
)
def test_logits_depend_on_every_coupling_whose_half_they_can_see(name, shape, last):
    net = build_bijection(name, shape, 2)
    assert unheard(net, torch.rand(4, *(shape if len(shape) == 1 else (shape[2], *shape[:2])))) == last


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("fc:zero=false", (100,)),
        ("conv:blocks=2,zero=false", (32, 32, 1)),
        ("conv:blocks=2,width=8,last=affine,zero=false", (32, 32, 3)),
        ("imagenet:blocks=1,stages=3,zero=false", (32, 32, 3)),
        ("conv:blocks=16,width=4,zero=false", (16, 16, 1)),  # 48 couplings
    ],
)
def test_float32_is_enough_to_invert_a_whole_network(name, shape):
    net = build_bijection(name, shape, 10)
    x = torch.rand(4, *(shape if len(shape) == 1 else (shape[2], *shape[:2]))) * 2 - 1
    found = settled(net, x).check(x)
    assert found.inverse_error < 1e-4
    assert net.double().check(x.double()).inverse_error < 1e-9


def test_a_check_compares_the_determinant_where_that_is_possible():
    net = build_bijection("fc:coupling=affine,zero=false,width=16", (12,), 2).double()
    assert net.check(torch.randn(3, 12, dtype=torch.float64)).log_det_error < 1e-9
    net = build_bijection("conv:blocks=1,width=4", (32, 32, 1), 2)
    assert settled(net, torch.rand(2, 1, 32, 32)).check(torch.rand(2, 1, 32, 32)).log_det_error is None


def test_logits_are_means_of_channels_or_one_position():
    x = torch.rand(2, 1, 16, 16)
    options = "blocks=1,width=4,actnorm=false,mixing=reverse,factor_out=false"
    mean = build_bijection(f"conv:{options}", (16, 16, 1), 10).eval()
    place = build_bijection(f"conv:{options},readout=position", (16, 16, 1), 10).eval()
    maps = x
    for _ in range(3):  # couplings begin as the identity; each stage turns the order of channels round
        maps = b.Squeeze()(maps)[0].flip(1)
    assert (mean.logits(x) - 2 * maps[:, :10].mean((2, 3))).abs().max() < 1e-5
    assert torch.equal(place.logits(x), maps[:, :10, 1, 1])


@pytest.mark.parametrize("name", ["conv:blocks=2,width=4,zero=false", "imagenet:stages=2,blocks=2,zero=false"])
def test_low_memory_gives_the_same_gradients_and_statistics(name):
    shape, found = (8, 8, 2) if "conv" in name else (8, 8, 1), []
    x = torch.randn(6, shape[2], 8, 8, dtype=torch.float64)
    name = name.replace("conv:", "conv:stages=2,")
    for low in (False, True):
        net = build_bijection(name, shape, 3).double().low_memory(low).train()
        net(x)  # actnorms begin
        x.requires_grad_()
        x.grad = None
        z, log_det = net(x)
        (z[:, :3].logsumexp(1).sum() + z.square().mean() - 0.1 * log_det.sum()).backward()
        state = {key: value for key, value in net.state_dict().items() if "running" in key or "batches" in key}
        found.append((z.detach(), x.grad, [weights.grad for weights in net.parameters()], state))
    plain, low = found
    assert torch.equal(plain[0], low[0])
    assert (plain[1] - low[1]).abs().max() < 1e-9
    for a, c in zip(plain[2], low[2], strict=True):
        assert (a - c).abs().max() < 1e-9
    assert len(plain[3]) > 0
    assert all(torch.equal(plain[3][key], low[3][key]) for key in plain[3])


def test_low_memory_repeats_what_dropout_drew():
    torch.manual_seed(0)
    inside = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5)).double()
    x = torch.randn(5, 6, dtype=torch.float64)
    gradients = []
    for low in (False, True):
        chain = b.Chain([b.SwapCoupling(inside, 3), b.Permutation(6)], low_memory=low)
        inside.zero_grad()
        torch.manual_seed(7)
        chain(x)[0].square().sum().backward()
        gradients.append([weights.grad.clone() for weights in inside.parameters()])
    assert all((a - c).abs().max() < 1e-12 for a, c in zip(*gradients, strict=True))


def test_low_memory_keeps_one_activation_however_many_layers():
    def kept(blocks, low):
        held = []
        net = build_bijection(f"fc:blocks={blocks},width=8,zero=false", (10,), 2).low_memory(low)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t.numel()) or t, lambda t: t):
            net(torch.randn(16, 10))
        return sum(held)

    assert kept(8, True) == kept(2, True) == 160
    assert kept(8, False) > 3 * kept(2, False)


def test_the_density_of_a_flow_of_two_numbers_integrates_to_one():
    net = build_bijection(
        "fc:coupling=affine,width=8,zero=false,blocks=3", (2,), 1, generator=torch.Generator().manual_seed(3)
    )
    for weights in net.parameters():
        weights.data *= 1.5
    axis = torch.linspace(-12, 12, 601)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 2)
    with torch.no_grad():
        z, log_det = net(grid)
        density = (b.DiagonalNormal(2).log_prob(z) + log_det).exp()
    assert float(density.sum()) * (24 / 600) ** 2 == pytest.approx(1, abs=0.01)
    assert log_det.std() > 0.01


def test_bits_of_uniform_bytes_under_a_standard_normal():
    # E[-log2 p] = (ln(2 pi) / 2 + E x^2 / 2 + ln 128) / ln 2 with E x^2 = 1/3 for x uniform in [-1, 1).
    net = build_bijection("fc:blocks=1,zero=true", (16, 16, 4), 2)
    grid = b.Grid((16, 16, 4))
    model = b.BijectiveModel(net, grid, Problem((16, 16, 4), 1))
    torch.manual_seed(0)
    images = torch.randint(256, (64, 4, 16, 16)) / 255
    z, log_det = model.outputs(images, torch.Generator().manual_seed(0))
    expected = (0.5 * math.log(2 * math.pi) + 1 / 6 + math.log(128)) / math.log(2)
    assert expected == pytest.approx(8.566, abs=1e-3)
    assert model.bits(z, log_det).mean().item() == pytest.approx(expected, abs=5e-3)


def test_images_come_back_byte_for_byte_and_noise_stays_within_a_byte():
    grid = b.Grid((28, 27, 1), unit=8)
    assert grid.padded == (32, 32, 1)
    bytes_ = torch.randint(256, (2, 1, 28, 27))
    x = grid(bytes_ / 255)
    assert x.shape == (2, 1, 32, 32)
    assert torch.equal((255 * grid.back(x)).round().long(), bytes_)
    noisy = grid(bytes_ / 255, torch.Generator().manual_seed(0))
    assert -1 <= noisy.min() < noisy.max() < 1
    assert torch.equal(((noisy[:, :, 2:30, 2:29] + 1) * 128).floor().long(), bytes_)
    assert ((noisy - x).abs() <= 0.5 / 128 + 1e-6).all()


def test_the_same_generator_gives_the_same_weights():
    def weights(seed):
        net = build_bijection(
            "conv:blocks=1,width=4,mixing=shuffle", (8, 8, 1), 2, generator=torch.Generator().manual_seed(seed)
        )
        return torch.cat([value.flatten().float() for value in net.state_dict().values()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


@pytest.mark.parametrize(
    ("name", "shape", "classes", "message"),
    [
        ("conv", (28, 28, 1), 10, "28x28 cannot be squeezed 3 times: sides must be multiples of 8; pad them to 32x32"),
        ("conv", (100,), 10, "takes images .* try 'fc'"),
        ("conv:mixing=stir", (8, 8, 1), 2, "unknown mixing .*'stir'"),
        ("conv:coupling=loose", (8, 8, 1), 2, "unknown coupling .*'loose'"),
        ("fc", (4,), 4, "fewer than the 4 numbers of a sample"),
        ("fc:blocks=0", (4,), 2, "blocks must be at least 1, got 0"),
        ("cnov", (8, 8, 1), 2, "unknown bijection 'cnov'; did you mean 'conv'"),
        ("fc:layers=3", (4,), 2, "layers"),
    ],
)
def test_what_cannot_be_built_is_said(name, shape, classes, message):
    with pytest.raises(UsageError, match=message):
        build_bijection(name, shape, classes)


def test_wrong_shapes_are_named():
    net = build_bijection("fc", (6,), 2)
    with pytest.raises(UsageError, match=r"x must be \[n, 6\], got \[2, 5\]"):
        net(torch.zeros(2, 5))
    with pytest.raises(UsageError, match=r"outputs must be \[n, 6\]"):
        net.inverse(torch.zeros(2, 5))
    with pytest.raises(UsageError, match=r"semantic must be \[n, 2\], got \[2, 3\]"):
        net.merge(torch.zeros(2, 3), torch.zeros(2, 3))
