"""Laws that every bijection keeps, block by block: inverse, determinant, shapes, precision, save and load."""

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets import bijections as b

IMAGE, VECTOR = (4, 4, 4), (7,)


def conv(inputs, outputs):
    return b.conv_residual(inputs, outputs, width=5, norm="batch", zero=False)


def dense(inputs, outputs):
    return b.fc_residual(inputs, outputs, width=6, zero=False)


def conditional(part):
    part.condition()
    return part


BLOCKS = {
    "swap": (lambda: b.SwapCoupling(conv(2, 2), 2), IMAGE),
    "swap, uneven": (lambda: b.SwapCoupling(dense(4, 3), 3), VECTOR),
    "additive": (lambda: b.AdditiveCoupling(conv(2, 2), 2), IMAGE),
    "additive, uneven": (lambda: b.AdditiveCoupling(dense(3, 4), 3), VECTOR),
    "affine, tanh": (lambda: b.AffineCoupling(conv(2, 4), 2), IMAGE),
    "affine, sigmoid": (lambda: b.AffineCoupling(dense(3, 8), 3, scale="sigmoid"), VECTOR),
    "actnorm": (lambda: b.ActNorm(4), IMAGE),
    "actnorm of vectors": (lambda: b.ActNorm(7), VECTOR),
    "mixing, slogdet": (lambda: b.InvertibleConv(4), IMAGE),
    "mixing, plu": (lambda: b.InvertibleConv(4, kind="plu"), IMAGE),
    "mixing of vectors": (lambda: b.InvertibleConv(7, kind="plu"), VECTOR),
    "reverse": (lambda: b.Permutation(4), IMAGE),
    "shuffle": (lambda: b.Permutation(7, "shuffle"), VECTOR),
    "squeeze": (lambda: b.Squeeze(), IMAGE),
    "dct": (lambda: b.DCT(), IMAGE),
    "read-out": (lambda: b.ReadOut(IMAGE, (2, 1)), IMAGE),
    "factor out": (
        lambda: b.FactorOut(b.Chain([b.InvertibleConv(2), b.Squeeze(), b.ReadOut((8, 2, 2))]), IMAGE),
        IMAGE,
    ),
    "factor out, conditional": (
        lambda: conditional(b.FactorOut(b.Chain([b.InvertibleConv(2), b.Squeeze(), b.ReadOut((8, 2, 2))]), IMAGE)),
        IMAGE,
    ),
    "logit norm": (lambda: b.LogitNorm(3), VECTOR),
    "conv, conditional": (
        lambda: b.conv((8, 8, 1), 3, stages=2, blocks=1, width=5, zero=False).condition().normalise_logits(),
        (1, 8, 8),
    ),
    "chain": (lambda: b.Chain([b.ActNorm(4), b.Squeeze(), b.InvertibleConv(16)]), IMAGE),
    "fc": (lambda: b.fc(VECTOR, 2, blocks=3, width=6, zero=False), VECTOR),
    "fc, affine": (lambda: b.fc(VECTOR, 2, coupling="affine", actnorm=True, width=6, zero=False), VECTOR),
    "fc of images": (lambda: b.fc((4, 4, 4), 3, width=6, zero=False), IMAGE),
    "conv": (lambda: b.conv((8, 8, 1), 3, stages=2, blocks=2, width=5, zero=False), (1, 8, 8)),
    "conv, affine": (
        lambda: b.conv(
            (8, 4, 2), 3, stages=2, blocks=1, width=5, coupling="affine", mixing="plu", readout="position", zero=False
        ),
        (2, 8, 4),
    ),
    "conv, swap": (
        lambda: b.conv(
            (8, 8, 1), 3, stages=2, blocks=2, width=5, coupling="swap", mixing="reverse", kernel=3, zero=False
        ),
        (1, 8, 8),
    ),
    "imagenet": (lambda: b.imagenet((8, 8, 1), 3, stages=2, blocks=1, zero=False), (1, 8, 8)),
}
KEEP_VOLUME = (
    "swap",
    "swap, uneven",
    "additive",
    "additive, uneven",
    "reverse",
    "shuffle",
    "squeeze",
    "dct",
    "read-out",
)
KEEP_VOLUME += ("fc", "fc of images")


def make(name, seed=0, dtype=torch.float64):
    """A block with random parameters and statistics, in evaluation mode, and data for it."""
    build, shape = BLOCKS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        block = build().to(dtype)
        for weights in block.parameters():
            weights.data += 0.1 * torch.randn_like(weights)
        for part in block.modules():
            if isinstance(part, nn.BatchNorm2d | nn.BatchNorm1d):
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2)
            if isinstance(part, b.ActNorm):
                part.initialised.fill_(True)
        return block.eval(), torch.randn(3, *shape, dtype=dtype)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize(("dtype", "exact"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_the_inverse_is_exact_and_shapes_and_precision_are_kept(name, dtype, exact):
    block, x = make(name, dtype=dtype)
    z, log_det = block(x)
    assert z.dtype == log_det.dtype == dtype
    assert z.numel() == x.numel()
    assert log_det.shape == (3,)
    back = block.inverse(z)
    assert back.shape == x.shape
    assert (back - x).abs().max() < exact
    assert name == "squeeze" or not torch.equal(z.flatten(), x.flatten())


@pytest.mark.parametrize("name", BLOCKS)
def test_the_log_determinant_is_that_of_the_jacobian(name):
    block, x = make(name)
    _, log_det = block(x)
    for row, claimed in zip(x, log_det, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda r: block(r[None])[0].flatten(), row)
        found = torch.linalg.slogdet(jacobian.reshape(row.numel(), -1))[1]
        assert claimed.item() == pytest.approx(float(found), abs=1e-6)
    assert (name in KEEP_VOLUME) == (not log_det.any())


@pytest.mark.parametrize("name", BLOCKS)
def test_a_sample_does_not_depend_on_its_batch_and_one_is_enough(name):
    block, x = make(name)
    z, log_det = block(x)
    alone, own = block(x[1:2])
    assert (alone - z[1:2]).abs().max() < 1e-12
    assert (own - log_det[1:2]).abs().max() < 1e-12
    assert (block.inverse(alone) - x[1:2]).abs().max() < 1e-9


@pytest.mark.parametrize("name", BLOCKS)
def test_it_comes_back_from_its_state(name):
    block, x = make(name)
    other, _ = make(name, seed=1)
    other.load_state_dict(block.state_dict())
    assert all(torch.equal(a, c) for a, c in zip(other(x), block(x), strict=True))
    assert torch.equal(other.inverse(block(x)[0]), block.inverse(block(x)[0]))


@pytest.mark.parametrize("name", BLOCKS)
def test_gradients_reach_every_parameter_and_the_input(name):
    block, x = make(name)
    x.requires_grad_()
    z, log_det = block(x)
    (z.square().sum() + log_det.sum()).backward()
    assert x.grad.abs().max() > 0
    assert all(weights.grad is not None for weights in block.parameters())


def test_actnorm_begins_at_mean_zero_and_spread_one():
    norm, x = b.ActNorm(4), 3 * torch.randn(8, 4, 5, 5) + 2
    norm.train()
    z, log_det = norm(x)
    assert z.mean((0, 2, 3)).abs().max() < 1e-5
    assert (z.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-3
    # 25 positions share each channel's log scale
    assert log_det.tolist() == pytest.approx([25 * norm.log_scale.sum().item()] * 8)
    norm(10 * x)  # a second batch changes nothing
    assert torch.equal(norm(x)[0], z)


def test_an_actnorm_that_was_never_initialised_says_so():
    norm = b.ActNorm(4).eval()
    for call in (norm, norm.inverse):
        with pytest.raises(UsageError, match=r"never initialised: train the network.*initialise\(x\)"):
            call(torch.randn(2, 4))
    with pytest.raises(UsageError, match="batch_size must be at least 2"):
        norm.train()(torch.randn(1, 4))


@pytest.mark.parametrize("kind", ["slogdet", "plu"])
def test_mixing_begins_as_a_rotation(kind):
    torch.manual_seed(0)
    layer = b.InvertibleConv(6, kind=kind)
    matrix = layer.matrix().detach()
    assert (matrix @ matrix.T - torch.eye(6)).abs().max() < 1e-5
    assert abs(float(layer.log_dets([layer]).detach())) < 1e-5


def test_the_cosine_transform_is_orthonormal_and_begins_with_the_mean():
    for size in (1, 2, 7, 16):
        c = b.dct_matrix(size)
        assert (c @ c.T - torch.eye(size)).abs().max() < 1e-12
    x = torch.randn(2, 3, 7, 7, dtype=torch.float64)
    z, _ = b.DCT()(x)
    assert (z[..., 0, 0] - 7 * x.mean((2, 3))).abs().max() < 1e-12  # sum / sqrt(7)^2 = 7 mean
    constant, _ = b.DCT()(torch.full((1, 1, 4, 4), 3.0, dtype=torch.float64))
    assert constant.flatten()[0] == pytest.approx(12)
    assert constant.flatten()[1:].abs().max() < 1e-12


def test_the_cosine_transform_keeps_its_digits_after_a_stay_in_float32():
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    layer = nn.Sequential(b.DCT()).float().double()[0]
    assert (layer.inverse(layer(x)[0]) - x).abs().max() < 1e-13


def test_the_cosine_transform_can_be_trained_through_after_a_first_use_in_inference():
    with torch.inference_mode():
        b.DCT()(torch.rand(1, 1, 13, 13, dtype=torch.float64))
    x = torch.rand(1, 1, 13, 13, dtype=torch.float64, requires_grad=True)
    b.DCT()(x)[0].sum().backward()
    assert x.grad.any()
    b.dct_matrix(13).zero_()  # a copy of one's own
    assert b.dct_matrix(13).any()


def test_scipy_has_the_same_cosine_transform():
    from scipy.fft import dctn

    x = torch.randn(5, 6, dtype=torch.float64)
    z, _ = b.DCT()(x[None, None])
    assert abs(z[0, 0].numpy() - dctn(x.numpy(), norm="ortho")).max() < 1e-12


def test_squeezing_puts_each_block_of_four_pixels_into_channels():
    z, _ = b.Squeeze()(torch.arange(16.0).view(1, 1, 4, 4))
    assert z[0, :, 0, 0].tolist() == [0, 1, 4, 5]
    with pytest.raises(UsageError, match=r"even height and width, got \[1, 1, 5, 4\]"):
        b.Squeeze()(torch.zeros(1, 1, 5, 4))


def test_inverting_in_training_mode_is_refused_and_evaluation_mode_is_exact():
    torch.manual_seed(0)
    for inside in (nn.BatchNorm2d(2), nn.Dropout(0.5)):
        block = b.AdditiveCoupling(nn.Sequential(inside, nn.Conv2d(2, 2, 3, padding=1)), 2)
        x = torch.randn(4, 4, 4, 4)
        z, _ = block(x)
        with pytest.raises(
            UsageError, match=rf"training mode: net.0 \({type(inside).__name__}\).*call .eval\(\) first"
        ):
            block.inverse(z)
        block.eval()
        assert (block.inverse(block(x)[0]) - x).abs().max() < 1e-4


def test_a_network_that_does_not_fit_the_other_half_is_refused():
    with pytest.raises(UsageError, match=r"must give what fits the other part, \[3, 2\], got \[3, 1\]"):
        b.AdditiveCoupling(nn.Linear(2, 1), 2)(torch.zeros(3, 4))
    with pytest.raises(UsageError, match="unknown scale 'exp'"):
        b.AffineCoupling(nn.Linear(2, 4), 2, scale="exp")
    with pytest.raises(UsageError, match="each of 3 channels once"):
        b.Permutation(3, [0, 0, 2])


def test_scales_are_bounded_however_large_the_network_is():
    block = b.AffineCoupling(nn.Linear(2, 4), 2)
    block.net.weight.data *= 1e4
    x = torch.randn(100, 4)
    z, log_det = block(x)
    assert log_det.abs().max() <= 2 * 0.5 + 1e-6
    assert (block.inverse(z) - x).abs().max() < 1e-3 * z.abs().max()


def test_the_exported_names_include_the_package():
    assert nets.bijections.build_bijection is b.build_bijection
    assert set(b.names()) >= {"conv", "fc", "imagenet"}


def test_what_is_factored_out_has_a_conditional_normal_density():
    # log N(e; m, s) of the half as it was is log N(0, 1) of the numbers that come out, minus the sum of log s.
    block, x = make("factor out, conditional")
    plain, _ = make("factor out, conditional")
    plain.given = None
    (z, log_det), (before, same) = block(x), plain(x)
    mean, raw = block.given(x[:, :2]).chunk(2, 1)
    density = torch.distributions.Normal(mean, (3 * torch.tanh(raw / 3)).exp())
    found = torch.distributions.Normal(0.0, 1.0).log_prob(z[:, 32:]).sum(1) + log_det - same
    assert torch.allclose(found, density.log_prob(x[:, 2:]).flatten(1).sum(1))
    assert torch.equal(z[:, :32], before[:, :32])
    with pytest.raises(UsageError, match="this network factors nothing out"):
        b.fc(VECTOR, 2).condition()


def test_normalised_logits_follow_the_batch_in_training_and_stand_still_afterwards():
    layer, x = b.LogitNorm(2), 3 * torch.randn(50, 5) + 1
    z, log_det = layer.train()(x)
    assert z[:, :2].mean(0).abs().max() < 1e-5
    assert torch.equal(z[:, 2:], x[:, 2:])
    # The deviation of the batch is divided by: minus its logarithm, for each of the two.
    expected = -float(x[:, :2].std(0, correction=0).log().sum())
    assert log_det[0].item() == pytest.approx(expected, abs=1e-4)
    # Running averages keep 0.9 of themselves.
    assert torch.allclose(layer.norm.running_mean, 0.1 * x[:, :2].mean(0))
    with pytest.raises(UsageError, match=r"training mode: norm \(BatchNorm1d\)"):
        layer.inverse(z)
    with pytest.raises(UsageError, match="batch_size must be at least 2"):
        layer(x[:1])
    layer.eval()
    assert (layer.inverse(layer(x)[0]) - x).abs().max() < 1e-5
    assert torch.equal(layer(x[:1])[0], layer(x)[0][:1])
