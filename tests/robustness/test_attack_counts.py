"""What all attacks share: the search for a radius, the count after it, refinement, and random numbers of images."""

import numpy as np
import pytest
import torch
from attack_toys import AtLeast, grey
from torch import nn
from torch.nn import functional as F

from unbraid.errors import UsageError
from unbraid.robustness import attacks
from unbraid.robustness.attacks.goals import Misclassified
from unbraid.robustness.attacks.search import smallest_radius


def test_straight_through_is_binary_forwards_and_the_identity_backwards():
    seen = []

    class Inner(nn.Module):
        def forward(self, images):
            seen.append(images.detach())
            return torch.stack([(images**2).flatten(1).sum(1), images.flatten(1).sum(1)], 1)

    model = attacks.straight_through(Inner())
    images = torch.tensor([0.0, 0.3, 0.5, 0.9]).reshape(1, 1, 2, 2).requires_grad_()
    model(images)[0, 0].backward()
    assert seen[0].flatten().tolist() == [0, 0, 1, 1]  # 0.5 counts as 1
    # The gradient of the sum of squares is 2 x, at the binary image.
    assert images.grad.flatten().tolist() == [0, 0, 2, 2]
    with pytest.raises(UsageError, match="threshold must lie between 0 and 1"):
        attacks.straight_through(Inner(), 1.0)
    with pytest.raises(UsageError, match="model must be a torch module"):
        attacks.straight_through(lambda images: images)


def test_refinement_takes_back_all_that_a_threshold_does_not_see():
    images = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.4, 0.6]]).reshape(1, 1, 2, 3)
    moved = torch.tensor([[0.3, 0.7, 0.8, 0.1, 0.9, 0.2]]).reshape(1, 1, 2, 3)
    found = attacks.refined(images, moved).flatten()
    assert found[:2].tolist() == [0, 1]  # on the same side: as before
    assert found[[2, 4]].tolist() == [0.5, 0.5]
    assert (found[[3, 5]] < 0.5).all()
    assert torch.equal(found >= 0.5, moved.flatten() >= 0.5)
    for norm in ("l0", "l2", "linf"):
        new, old = (attacks.lengths(one - images, norm) for one in (found.reshape(images.shape), moved))
        assert new <= old
    # Of an image of 0 and 1 whatever crosses the threshold goes 0.5 far.
    black = torch.zeros(1, 1, 2, 3)
    assert attacks.lengths(attacks.refined(black, moved) - black, "linf") == 0.5


def test_attacks_on_a_thresholding_model_can_be_refined():
    torch.manual_seed(0)
    model = attacks.straight_through(nn.Sequential(nn.Flatten(), nn.Linear(16, 2)))
    images = (grey(6, 0.5, rng=np.random.default_rng(5)) > 0.5).float()
    labels = model(images).argmax(1)
    plain = attacks.bim(model, images, labels, norm="linf")
    found = attacks.bim(model, images, labels, norm="linf", threshold=0.5)
    assert found.success.all()
    # White pixels go to the largest number below 0.5.
    np.testing.assert_allclose(found.distances, 0.5, atol=1e-7)
    assert (found.distances <= plain.distances).all()


def test_the_search_asks_each_image_until_its_radius_is_known_and_no_longer():
    asked = []
    exact = torch.tensor([0.05, 0.3, 2.0])

    class Told(attacks.Classifier):
        def __init__(self):
            pass

        def see(self, images):
            return images

        def met(self, images, goal):
            return images.flatten(1).amax(1) >= exact[goal.classes]

    def attempt(images, goal, radius, _):
        asked.append(goal.classes.tolist())
        return radius.reshape(-1, 1, 1, 1).expand(images.shape)

    black, goal = torch.zeros(3, 1, 2, 2), Misclassified(torch.arange(3))
    moved = smallest_radius(attempt, Told(), black, goal, attacks.norm_of("linf"), attacks.Draws.of(black, 0))
    reached = moved.flatten(1).amax(1)
    assert exact[0] <= reached[0] <= exact[0] * 1.001
    assert exact[1] <= reached[1] <= exact[1] * 1.001
    assert reached[2] == 0  # nothing in [0, 1] is 2 away
    # 0.1 1.5^k passes 1 at k = 6: the third image is asked seven times.
    assert sum(2 in rows for rows in asked) == 7
    assert max(len(rows) for rows in asked[7:]) == 2


def test_distances_are_counted_as_the_spec_says():
    def found(distances, name="one"):
        sizes = torch.tensor(distances, dtype=torch.float64)
        images = torch.arange(len(sizes)).reshape(-1, 1, 1, 1).expand(-1, 1, 2, 2)
        return attacks.Found(name, "l2", images, sizes, sizes.isfinite())

    one = found([0.0, 1, 2, np.inf])
    assert one.median == 1.5  # between the two in the middle
    assert one.accuracy(1.5) == 0.5
    assert one.accuracy(0) == 0.75
    assert found([np.inf, np.inf, 1]).median == np.inf
    both = attacks.best_of([one, found([0.0, 3, 0.5, 4], "two")])
    assert both.distances.tolist() == [0, 1, 0.5, 4]
    assert both.median <= min(one.median, 2)
    with pytest.raises(UsageError, match="at least one attack"):
        attacks.best_of([])
    with pytest.raises(UsageError, match="one norm and of the same images"):
        attacks.best_of([one, found([1.0])])


def test_colours_of_a_pixel_count_once_in_l0():
    delta = torch.zeros(1, 3, 2, 2)
    delta[0, :, 0, 0] = 0.1
    delta[0, 1, 1, 1] = 0.2
    assert attacks.lengths(delta, "l0") == 2
    norm, images = attacks.norm_of("l0"), torch.full((1, 3, 2, 2), 0.5)
    # sqrt(3) 0.1 < 0.2: the single loud colour stays.
    kept = norm.clip(images, delta, torch.tensor([1.0])) - images
    assert kept[0, 1, 1, 1] > 0.1
    assert kept[0, :, 0, 0].abs().sum() == 0


def test_streams_of_random_numbers_belong_to_images():
    images = torch.rand(4, 1, 3, 3, generator=torch.Generator().manual_seed(0))
    draws, again = attacks.Draws.of(images, 7), attacks.Draws.of(images.flip(0), 7)
    first = draws.uniform(5)
    assert torch.equal(first, again.uniform(5).flip(0))
    some = draws[torch.tensor([2])].uniform(3)
    assert torch.equal(again[torch.tensor([1])].uniform(3), some)
    assert not torch.equal(attacks.Draws.of(images, 8).uniform(5), first)
    many = attacks.Draws.of(images, 0).normal(20_000)
    # Standard errors: 1 / sqrt(80,000) = 0.0035 of the mean, sqrt(2) and sqrt(96) times that of the other moments.
    assert abs(float(many.mean())) < 4 * 0.0035
    assert abs(float(many.var()) - 1) < 4 * 0.005
    assert abs(float((many**4).mean()) - 3) < 4 * 0.035
    below = attacks.Draws.of(images, 0).below(3, 1000)
    assert sorted(below.unique().tolist()) == [0, 1, 2]
    branch = attacks.Draws.of(images, 0).branch(2)
    assert len(branch) == 8
    assert len(branch.uniform(1).unique()) == 8


def test_refinement_is_kept_only_where_the_goal_stays_reached():
    class Above(nn.Module):
        """Compares with > where refinement puts pixels on the threshold itself."""

        def forward(self, images):
            bright = (images > 0.5).flatten(1).sum(1)
            return F.one_hot((bright >= 3).long(), 2).double()

    black = torch.zeros(3, 1, 4, 4)
    plain, refined = (attacks.pointwise(Above(), black, [0] * 3, threshold=t, restarts=2) for t in (None, 0.5))
    assert plain.success.all()
    assert refined.success.all()
    # One that compares with >= keeps the shorter way.
    assert (attacks.pointwise(AtLeast(3), black, [0] * 3, threshold=0.5, restarts=2).adversarials <= 0.5).all()


@pytest.mark.parametrize(("norm", "bound"), [("linf", 0.3), ("linf", 0.1), ("l2", 0.9)])
def test_a_function_on_bytes_is_counted_within_the_bound(norm, bound):
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(16, 2)))
    weights -= weights.mean(0)

    class Plane(nn.Module):
        def forward(self, images):
            return images.flatten(1).double() @ weights

    def plane(images):
        return images.reshape(len(images), -1) / 255 @ weights.numpy()

    images = np.random.default_rng(0).integers(0, 256, (40, 4, 4, 1)).astype(np.uint8)
    labels = plane(images).argmax(1)
    whole = np.floor(bound * 255) / 255 if norm == "linf" else bound
    expected = attacks.square(Plane(), images, labels, norm=norm, bound=whole, steps=100).success.double().mean()
    found = attacks.square(plane, images, labels, norm=norm, bound=bound, steps=100)
    assert found.success.double().mean() >= expected - 0.1
    assert expected > 0.2
    # What is stored is what was counted: whole bytes, within the bound, and named otherwise.
    pixels = found.adversarials.mul(255)
    torch.testing.assert_close(pixels, pixels.round(), rtol=0, atol=1e-3)
    moved = pixels.round().permute(0, 2, 3, 1).numpy().astype(np.uint8)
    assert (plane(moved).argmax(1) != labels)[found.success.numpy()].all()
    away = (moved.astype(float) - images)[found.success.numpy()].reshape(int(found.success.sum()), -1) / 255
    sizes = np.abs(away).max(1) if norm == "linf" else np.linalg.norm(away, axis=1)
    assert (sizes <= bound + 1e-9).all()
    np.testing.assert_allclose(found.distances[found.success], sizes, rtol=1e-5)
