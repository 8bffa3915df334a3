"""Noises as augmentations: what they draw, what they leave alone, and the stand-in for style."""

import pytest
import torch
from torch.nn.functional import avg_pool2d

from unbraid.errors import UsageError
from unbraid.objectives import augment


def draws(seed=0):
    return torch.Generator().manual_seed(seed)


def test_speckle_leaves_black_pixels_alone_and_normal_noise_does_not():
    images = torch.zeros(8, 1, 16, 16)
    images[:, :, 4:12] = 0.5
    speckled = augment.make("speckle")(images, draws())
    assert (speckled[images == 0] == 0).all()
    assert (speckled[images > 0] != 0.5).all()
    assert (augment.make("gaussian-noise")(images, draws())[images == 0] != 0).float().mean() > 0.4


@pytest.mark.parametrize(
    ("text", "sigmas"),
    [
        ("gaussian-noise:sigmas=0.01+0.02+0.04+0.08+0.15", (0.01, 0.02, 0.04, 0.08, 0.15)),
        ("uniform:sigmas=0.01+0.02+0.04+0.08+0.15", (0.01, 0.02, 0.04, 0.08, 0.15)),
        ("speckle:sigmas=0.02+0.04+0.08+0.16+0.3", (0.01, 0.02, 0.04, 0.08, 0.15)),  # in proportion to 0.5
        ("uniform:sigma=0.1", (0.1,)),
    ],
)
def test_each_image_has_one_of_the_deviations_with_equal_chances(text, sigmas):
    images = torch.full((500, 1, 16, 16), 0.5)
    found = (augment.make(text)(images, draws()) - 0.5).flatten(1).std(1)
    # 256 draws per image: a relative standard error of 4 %, while neighbours differ by a factor.
    gaps = (found[:, None] / torch.tensor(sigmas) - 1).abs()
    assert (gaps.amin(1) < 0.2).all()
    counts = gaps.argmin(1).bincount(minlength=len(sigmas))
    # Binomial: 500 / 5 = 100 each with standard deviation 9.
    assert ((counts - 500 / len(sigmas)).abs() < 36).all()


def test_uniform_noise_reaches_root_three_deviations():
    grey = torch.full((100, 1, 32, 32), 0.5)
    found = augment.make("uniform:sigma=0.1")(grey, draws()) - 0.5
    assert found.std().item() == pytest.approx(0.1, rel=0.01)
    assert found.abs().max().item() == pytest.approx(0.1 * 3**0.5, rel=1e-3)


def test_clipped_normal_noise_on_uniform_images_has_the_norm_that_the_learned_one_is_given():
    # 150,528 numbers: the norms of single images lie within 0.2 of their mean.
    images = torch.rand(3, 3, 224, 224, generator=draws(1))
    noisy = augment.make("gaussian-noise:sigma=0.5")(images, draws())
    assert (noisy - images).flatten(1).norm(dim=1).mean().item() == pytest.approx(134.8, abs=0.3)


def textured(n=6):
    """A bright disc with stripes of one pixel, and, for odd images, a bright square with a chequerboard."""
    rows, columns = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    disc = (((rows - 16) ** 2 + (columns - 16) ** 2) < 100).float()
    square = ((rows - 12).abs() < 8).float() * ((columns - 20).abs() < 8)
    stripes, chequer = rows % 2 - 0.5, (rows + columns) % 2 - 0.5
    one, other = 0.3 + 0.4 * disc + 0.2 * stripes, 0.3 + 0.4 * square + 0.2 * chequer
    return torch.stack([one, other] * (n // 2))[:, None]


def correlation(a, b):
    return torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1].item()


def test_stylising_keeps_the_shape_and_takes_the_texture_of_another():
    images = textured(2)
    styled = augment.make("stylised")(images, draws())
    shapes, found = (avg_pool2d(part, 4, stride=1) for part in (images, styled))
    for own, other in ((0, 1), (1, 0)):
        assert correlation(found[own], shapes[own]) > 0.9
        assert correlation(found[own], shapes[other]) < 0.75
    # Squares of four pixels keep the phase of patterns that repeat every two. A pattern of +-1/2, whose square has mean
    # 1/4, times 0.2: smoothing leaves one third of stripes, inverted, and takes eight ninths of a chequerboard away.
    rows, columns = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    stripes, chequer = rows % 2 - 0.5, (rows + columns) % 2 - 0.5
    assert (images[0] * stripes).mean().item() == pytest.approx(0.05, abs=0.003)
    assert (styled[0] * stripes).mean().item() == pytest.approx(-0.05 / 3, abs=0.01)
    assert (styled[0] * chequer).mean().item() == pytest.approx(0.05 * 8 / 9, abs=0.01)


def test_without_texture_a_stylised_image_is_its_smooth_self_in_another_palette():
    images = textured(2)
    found = augment.make("stylised:strength=0")(images, draws())
    smooth = avg_pool2d(torch.nn.functional.pad(images, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    for own, other in ((0, 1), (1, 0)):
        expected = (smooth[own] - smooth[own].mean()) / smooth[own].std() * smooth[other].std() + smooth[other].mean()
        torch.testing.assert_close(found[own], expected.clamp(0, 1))


def test_a_single_image_is_its_own_style():
    image = textured(2)[:1]
    assert augment.make("stylised:patch=40")(image, draws()).shape == image.shape
    torch.testing.assert_close(augment.make("stylised:patch=40")(image, draws()), image, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gaussian-noise:sigmas=0.1+-0.2", "sigmas must be a number that is not negative, got -0.2"),
        ("uniform:sigma=-1", "sigma must be a number that is not negative, got -1"),
        ("stylised:window=4", "window must be an odd number of pixels from 3 on, got 4"),
        ("stylised:patch=0", "patch must be at least 1 pixel, got 0"),
        ("stylised:strength=-1", "strength must be a number that is not negative"),
        ("adversarial:radius=-1", "radius must be a number that is not negative, got -1"),
        ("adversarial:norm=l1", "norm of augmentation 'adversarial'"),
        ("adversarial:steps=-1", "steps must not be negative"),
    ],
)
def test_wrong_options_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        augment.make(text)


def test_one_deviation_is_a_list_of_one():
    assert augment.make("speckle:sigmas=0.1") == augment.make("speckle:sigmas=0.1+0.1").__class__(sigmas=(0.1,))
