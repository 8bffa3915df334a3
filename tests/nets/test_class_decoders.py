"""Compiled decoders of all classes against torch's layers in double precision."""

import copy

import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets import ClassVAEs, Decodings, Search, explain, stride2
from unbraid.nets._class_decoders import Decoders


@pytest.fixture(autouse=True)
def wide(monkeypatch) -> None:
    """The code runs on any processor; where it is not the faster one it is not used."""
    monkeypatch.setattr(stride2, "one_wide_core", lambda: True)


def network(shape, classes, latents):
    net = ClassVAEs(shape, classes, latents, generator=torch.Generator().manual_seed(0)).train()
    noise = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for norm in (layer for layer in net.decoder if isinstance(layer, torch.nn.BatchNorm2d)):
            norm.weight.uniform_(0.5, 2, generator=noise)
            norm.bias.normal_(generator=noise)
        for _ in range(3):  # batch norms learn something
            net.decode(torch.randn(8, classes, latents, generator=noise))
    return net.eval()


@pytest.mark.parametrize(
    ("shape", "classes", "latents"), [((28, 28, 1), 10, 8), ((13, 16, 3), 3, 5), ((33, 30, 2), 2, 20)]
)
@pytest.mark.parametrize("n", [1, 6])
def test_decodings_and_gradients_are_torchs(shape, classes, latents, n):
    net = network(shape, classes, latents)
    draw = net.drawing()
    assert isinstance(draw, Decoders)
    codes = 2 * torch.randn(n, classes, latents, generator=torch.Generator().manual_seed(2))
    ours, exact = codes.clone().requires_grad_(), codes.double().requires_grad_()
    found, wanted = draw(ours), copy.deepcopy(net).double().decode(exact)
    weights = torch.randn(wanted.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (found * weights.float()).sum().backward()
    (wanted * weights).sum().backward()
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=2e-5)
    assert wanted.std() > 0.01
    scale = exact.grad.abs().max()
    torch.testing.assert_close(ours.grad.double() / scale, exact.grad / scale, rtol=0, atol=2e-5)


def test_no_number_depends_on_what_else_is_in_the_batch():
    draw = network((28, 28, 1), 3, 8).drawing()
    codes = torch.randn(9, 3, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    whole = draw(codes)
    (slopes,) = torch.autograd.grad(whole.square().sum(), codes)
    for part in (slice(0, 1), slice(3, 5), slice(2, 9)):
        some = codes[part].detach().clone().requires_grad_()
        alone = draw(some)
        assert torch.equal(alone, whole[part])
        assert torch.equal(torch.autograd.grad(alone.square().sum(), some)[0], slopes[part])


def test_some_classes_of_each_image_are_decoded_as_all_are():
    draw = network((28, 28, 1), 5, 8).drawing()
    codes = torch.randn(7, 5, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    order = torch.rand(7, 5, generator=torch.Generator().manual_seed(1)).argsort(1)
    which = order[:, :2]  # other classes for other images
    whole = draw(codes)
    picked = whole.gather(1, which[..., None, None, None].expand(-1, -1, 1, 28, 28))
    (slopes,) = torch.autograd.grad(picked.square().sum(), codes)
    some = codes.detach().gather(1, which[..., None].expand(-1, -1, 8)).requires_grad_()
    found = draw.some(some, which)
    torch.testing.assert_close(found, picked, rtol=0, atol=1e-6)
    (own,) = torch.autograd.grad(found.square().sum(), some)
    torch.testing.assert_close(own, slopes.gather(1, which[..., None].expand(-1, -1, 8)), rtol=1e-5, atol=1e-5)
    with pytest.raises(UsageError, match="which must lie"):
        draw.some(some, which + 4)
    with pytest.raises(UsageError, match="codes must be float32"):
        draw.some(some[..., :3], which)


def test_a_search_with_them_ends_where_one_with_torchs_layers_does():
    net, search = network((28, 28, 1), 3, 4), Search(samples=200, iterations=30)
    codes = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(0))
    images = net.decode(codes)[:, 1].detach()
    ways = [net.drawing(), net.decode]
    found, wanted = (explain(way, images, Decodings(way, 3, 4, search, images), search) for way in ways)
    torch.testing.assert_close(found.energy, wanted.energy, rtol=1e-3, atol=1e-4)
    assert (found.energy.argmin(1) == 1).all()


def test_they_are_the_weights_as_they_were_and_take_what_fits():
    net = network((16, 16, 1), 2, 3)
    codes = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0))
    draw = net.drawing()
    before = draw(codes)
    with torch.no_grad():
        net.decoder[0].weight.mul_(2)
    assert torch.equal(draw(codes), before)
    torch.testing.assert_close(net.drawing()(codes), net.decode(codes), rtol=0, atol=2e-5)
    for wrong in (codes.double(), codes[:, :1], codes[..., :2], codes[0]):
        with pytest.raises(UsageError, match="codes must be float32"):
            draw(wrong)
    assert draw(codes[:0]).shape == (0, 2, 1, 16, 16)


def test_training_and_other_numbers_are_left_to_torch():
    net = network((16, 16, 1), 2, 3)
    assert net.train().drawing() == net.decode
    assert net.eval().double().drawing() == net.decode
