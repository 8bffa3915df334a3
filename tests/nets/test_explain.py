"""Inference by search against what is known of linear decoders."""

import itertools

import numpy as np
import pytest
import torch

from unbraid.errors import UsageError
from unbraid.nets import ClassVAEs, Decodings, Search, descend, explain, half_squares, misfit

PIXELS, LATENTS, CLASSES = 12, 3, 4
WEIGHTS = 0.2 * torch.randn(CLASSES, PIXELS, LATENTS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
SHIFTS = torch.rand(CLASSES, PIXELS, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
IMAGES = torch.rand(7, 1, 3, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
SEARCH = Search(samples=500, iterations=300, rate=0.05)


def decode(codes):
    return (torch.einsum("cpl,ncl->ncp", WEIGHTS, codes) + SHIFTS).view(len(codes), CLASSES, 1, 3, 4)


def known(search=SEARCH):
    return Decodings(decode, CLASSES, LATENTS, search, IMAGES)


def exact():
    """The lowest energies: |x - W z - b|^2 + |z|^2 / 2 is least at z = (W'W + I / 2)^-1 W'(x - b)."""
    apart = IMAGES.flatten(1)[:, None] - SHIFTS
    inner = torch.einsum("cpl,cpm->clm", WEIGHTS, WEIGHTS) + 0.5 * torch.eye(LATENTS, dtype=torch.float64)
    codes = torch.linalg.solve(inner, torch.einsum("cpl,ncp->ncl", WEIGHTS, apart)[..., None])[..., 0]
    return misfit(IMAGES[:, None], decode(codes)) + half_squares(codes), codes


def test_search_finds_the_lowest_energy_of_linear_decoders():
    energy, codes = exact()
    found = explain(decode, IMAGES, known(), SEARCH)
    torch.testing.assert_close(found.energy, energy, rtol=1e-3, atol=0)
    torch.testing.assert_close(found.codes, codes, rtol=0, atol=0.02)
    torch.testing.assert_close(found.reconstruction, decode(found.codes))


def test_more_iterations_never_raise_an_energy():
    energies = [explain(decode, IMAGES, known(), Search(50, k, rate=0.3)).energy for k in (0, 1, 2, 5, 20)]
    assert torch.equal(energies[0], energies[1])  # one pass evaluates only
    for fewer, more in itertools.pairwise(energies):
        assert (more <= fewer).all()
    assert (energies[-1] < energies[0]).any()


def test_a_search_of_some_classes_finds_the_best_ones_and_leaves_the_others_higher():
    energy, _ = exact()
    some = Search(samples=500, iterations=300, rate=0.05, classes=2)
    found = explain(decode, IMAGES, known(), some)
    best = energy.topk(2, dim=1, largest=False).indices
    torch.testing.assert_close(found.energy.gather(1, best), energy.gather(1, best), rtol=1e-3, atol=0)
    assert (found.energy >= energy - 1e-9).all()
    others = torch.ones_like(energy, dtype=torch.bool).scatter(1, best, False)
    assert (found.energy > 1.001 * energy)[others].any()
    # So many as there are, or a search that is over before it knows which, is the search of all.
    for classes, iterations in ((CLASSES, 20), (2, 3)):
        few = Search(500, iterations, classes=classes)
        assert torch.equal(
            explain(decode, IMAGES, known(), few).energy,
            explain(decode, IMAGES, known(), Search(500, iterations)).energy,
        )
    with pytest.raises(UsageError, match="classes must not be negative"):
        Search(classes=-1)


def test_what_is_found_does_not_depend_on_the_other_images():
    whole = explain(decode, IMAGES, known(), SEARCH)
    alone = [explain(decode, IMAGES[k : k + 1], known(), SEARCH).energy for k in range(len(IMAGES))]
    torch.testing.assert_close(torch.cat(alone), whole.energy, rtol=1e-9, atol=0)
    assert torch.equal(explain(decode, IMAGES, known(), SEARCH).codes, whole.codes)


def test_gradients_are_those_of_the_lowest_energy():
    # Envelope theorem: d/dx min_z E(x, z) = dE/dx at the best z; against finite differences of the exact minimum.
    images = IMAGES.clone().requires_grad_()
    explain(decode, images, known(), SEARCH).energy[:, 2].sum().backward()
    step = 1e-5
    for pixel in (0, 5, 11):
        moved = IMAGES.flatten(1).clone()
        moved[:, pixel] += step
        up = _lowest(moved.view_as(IMAGES))
        moved[:, pixel] -= 2 * step
        down = _lowest(moved.view_as(IMAGES))
        torch.testing.assert_close(images.grad.flatten(1)[:, pixel], (up - down) / (2 * step), rtol=0, atol=1e-5)


def _lowest(images):
    apart = images.flatten(1) - SHIFTS[2]
    inner = WEIGHTS[2].T @ WEIGHTS[2] + 0.5 * torch.eye(LATENTS, dtype=torch.float64)
    codes = torch.linalg.solve(inner, (apart @ WEIGHTS[2]).T).T
    return (apart - codes @ WEIGHTS[2].T).square().sum(1) + 0.5 * codes.square().sum(1)


def test_random_latents_are_the_likely_ones_and_the_nearest_is_the_nearest():
    some = known(Search(samples=90, radius=100.0))
    assert some.codes.shape == (90, LATENTS)
    drawn = torch.randn(100, LATENTS, generator=torch.Generator().manual_seed(0))
    assert some.codes.norm(dim=1).max() < drawn.norm(dim=1).max()  # the tenth of the lowest density is gone
    codes = some.codes[:, None].expand(-1, CLASSES, -1)
    energies = misfit(IMAGES[:, None, None], decode(codes)) + half_squares(codes)  # [n, samples, classes]
    assert torch.equal(some.nearest(IMAGES), some.codes[energies.argmin(1)])
    distances = misfit(IMAGES[:, None, None], decode(codes))
    assert torch.equal(some.nearest(IMAGES, weight=0.0), some.codes[distances.argmin(1)])


def test_the_nearest_of_a_single_decoder_is_the_nearest():
    def first(codes):
        return decode(codes.expand(-1, CLASSES, -1))[:, :1]

    some = Decodings(first, 1, LATENTS, Search(samples=90), IMAGES)
    energies = misfit(IMAGES[:, None, None], first(some.codes[:, None])) + half_squares(some.codes)[:, None]
    assert torch.equal(some.nearest(IMAGES), some.codes[energies.argmin(1)])


def test_decodings_follow_the_weights():
    net = ClassVAEs((16, 16, 1), 2, 3).eval()
    like, search = torch.empty(0), Search(samples=5)
    first = Decodings.of(net, net.decode, 2, 3, search, like)
    assert Decodings.of(net, net.decode, 2, 3, search, like) is first
    optimizer = torch.optim.Adam(net.decoder.parameters(), lr=0.1, fused=True)  # which leaves versions of tensors alone
    net.decode(torch.randn(4, 2, 3)).sum().backward()
    optimizer.step()
    assert not torch.equal(Decodings.of(net, net.decode, 2, 3, search, like).rows, first.rows)
    assert Decodings.of(net, net.double().decode, 2, 3, search, like.double()).rows.dtype == torch.float64


def test_bernoulli_latents_are_compared_by_cross_entropy():
    def probabilities(codes):
        return decode(codes).sigmoid()

    some = Decodings(probabilities, CLASSES, LATENTS, Search(samples=40, likelihood="bernoulli"), IMAGES)
    codes = some.codes[:, None].expand(-1, CLASSES, -1)
    chance = probabilities(codes)[None].expand(len(IMAGES), -1, -1, -1, -1, -1)
    image = IMAGES[:, None, None].expand_as(chance)
    entropy = torch.nn.functional.binary_cross_entropy(chance, image, reduction="none").sum((-3, -2, -1))
    torch.testing.assert_close(misfit(image, chance, "bernoulli"), entropy)
    assert torch.equal(some.nearest(IMAGES), some.codes[(entropy + half_squares(codes)).argmin(1)])


def test_latents_stay_in_their_ball():
    pulled = lambda codes: -codes.sum(-1)  # noqa: E731 (away from the origin for ever)
    _, codes = descend(pulled, torch.zeros(2, 3, 4), Search(iterations=200, rate=0.5, radius=2.0))
    torch.testing.assert_close(codes.norm(dim=-1), torch.full((2, 3), 2.0))
    assert (codes > 0).all()


def test_it_searches_where_gradients_are_switched_off():
    usual = explain(decode, IMAGES, known(), SEARCH).energy
    with torch.inference_mode():
        torch.testing.assert_close(explain(decode, IMAGES + 0, known(), SEARCH).energy, usual)


def test_divergence_is_half_the_squared_length():
    codes = torch.randn(5, 8, dtype=torch.float64)
    normal = torch.distributions.Normal(codes, torch.ones_like(codes))
    prior = torch.distributions.Normal(torch.zeros_like(codes), torch.ones_like(codes))
    torch.testing.assert_close(half_squares(codes), torch.distributions.kl_divergence(normal, prior).sum(1))


def test_class_networks_have_the_published_sizes():
    net = ClassVAEs((28, 28, 1), 10)
    counts = [sum(p.numel() for p in part.parameters()) for part in (net.encoder, net.decoder)]
    assert counts == [616_160, 237_450]
    sizes, x = [], torch.zeros(2, 10, 28, 28)
    for layer in net.encoder:
        x = layer(x)
        sizes += [x.shape[-1]] if isinstance(layer, torch.nn.Conv2d) else []
    assert sizes == [24, 11, 5, 1]
    decoded = net.decode(torch.randn(2, 10, 8))
    assert decoded.shape == (2, 10, 1, 28, 28)
    assert 0 < decoded.min() <= decoded.max() < 1


@pytest.mark.parametrize("shape", [(13, 13, 1), (16, 19, 3), (32, 32, 3), (33, 64, 1)])
def test_class_networks_take_images_of_any_size(shape):
    net = ClassVAEs(shape, 3, 5)
    codes = net.encode(torch.rand(2, 3, shape[2], *shape[:2]))[0]
    assert net.decode(codes).shape == (2, 3, shape[2], *shape[:2])


def test_classes_never_meet():
    net = ClassVAEs((16, 16, 1), 3, 2).eval()
    images, codes = torch.rand(2, 3, 1, 16, 16), torch.randn(2, 3, 2)
    means, decoded = net.encode(images)[0], net.decode(codes)
    images[:, 1], codes[:, 1] = 0.5, 0.0
    same = torch.tensor([True, False, True])
    assert ((net.encode(images)[0] == means).all(-1).all(0) == same).all()
    assert ((net.decode(codes) == decoded).flatten(2).all(-1).all(0) == same).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassVAEs((12, 28, 1), 10), "13 pixels a side"),
        (lambda: ClassVAEs((5,), 10), "take images"),
        (lambda: ClassVAEs((28, 28, 1), 1), "two classes"),
        (lambda: Search(samples=0), "samples must be at least 1"),
        (lambda: Search(rate=np.nan), "rate and radius must be above 0"),
        (lambda: Search(likelihood="cauchy"), "gaussian or bernoulli"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(UsageError, match=message):
        make()
