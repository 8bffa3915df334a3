"""What single attacks promise beyond the laws that hold for all."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attack_toys import Prototypes, grey, prototypes
from torch import nn
from torch.nn import functional as F

from unbraid.errors import UsageError
from unbraid.robustness import attacks
from unbraid.robustness.attacks.apgd import checkpoints
from unbraid.robustness.attacks.goals import Misclassified
from unbraid.robustness.attacks.search import smallest_radius
from unbraid.robustness.attacks.square import share_of

RNG = np.random.default_rng(3)
IMAGES = grey(4, rng=RNG)
TWO = prototypes(2, rng=RNG)
LABELS = TWO(IMAGES).argmax(1)


class AtLeast(nn.Module):
    """Names class 1 of images with at least k bright pixels."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, images):
        bright = (images >= 0.5).flatten(1).sum(1)
        return F.one_hot((bright >= self.k).long(), 2).double()


@pytest.mark.parametrize("k", [1, 5, 20])
def test_pointwise_changes_exactly_the_pixels_that_count(k):
    # On a black image nothing but bright pixels helps, and k of them are enough: every other one is set back.
    black, labels = torch.zeros(2, 1, 28, 28), [0, 0]
    found = attacks.pointwise(AtLeast(k), black, labels, restarts=2)
    assert found.distances.tolist() == [k, k]
    assert (found.adversarials.flatten(1).sum(1) == k).all()
    # In l2 each of them goes back to 0.5, halved ten times: |x| = 0.5 sqrt(k).
    found = attacks.pointwise(AtLeast(k), black, labels, norm="l2", restarts=1)
    bright = found.adversarials[found.adversarials > 0]
    assert len(bright) == 2 * k
    torch.testing.assert_close(bright, torch.full_like(bright, 0.5), rtol=0, atol=1e-3)
    np.testing.assert_allclose(found.distances, 0.5 * k**0.5, atol=1e-3 * k**0.5)


def test_pointwise_ends_where_no_single_pixel_can_be_set_back():
    found = attacks.pointwise(TWO, IMAGES, LABELS, restarts=1)
    for image, moved, label in zip(IMAGES, found.adversarials, LABELS, strict=True):
        for place in (moved != image).nonzero():
            trial = moved.clone()
            trial[tuple(place)] = image[tuple(place)]
            assert TWO(trial[None]).argmax() == label


def test_estimated_gradients_of_a_linear_model_are_its_own():
    # Scores are quadratic here, and central differences of a quadratic are exact.
    model, goal = attacks.Classifier(TWO), Misclassified(LABELS)
    guess = attacks.with_estimated_gradient(TWO, h=0.05)
    classes = torch.tensor([[0, 1]] * 4)
    own, scores = model.jacobian(IMAGES, classes)
    found, same = guess.jacobian(IMAGES, classes)
    torch.testing.assert_close(found, own, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(scores, same)
    torch.testing.assert_close(guess.gradient(IMAGES, goal, margin=True)[0], model.gradient(IMAGES, goal, True)[0])
    # Cross-entropy is not quadratic: the error falls with h^2.
    off = [
        (attacks.with_estimated_gradient(TWO, h=h).gradient(IMAGES, goal)[0] - model.gradient(IMAGES, goal)[0])
        .abs()
        .max()
        for h in (0.02, 0.01)
    ]
    assert off[1] < 1e-4
    assert off[0] / off[1] == pytest.approx(4, rel=0.05)


def test_at_a_bound_an_estimated_slope_counts_half_of_its_way():
    # clip(x + h) - clip(x - h) is h instead of 2 h where x = 0, and the formula divides by 2 h all the same.
    plane = nn.Sequential(nn.Flatten(), nn.Linear(16, 2).double())
    guess = attacks.with_estimated_gradient(plane, h=0.1)
    found, _ = guess.jacobian(torch.zeros(1, 1, 4, 4, dtype=torch.float64), torch.tensor([[0, 1]]))
    torch.testing.assert_close(found[0].flatten(1), plane[1].weight.detach() / 2)


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


def test_momentum_adds_gradients_or_their_signs():
    # Two steps of a loss whose slopes are (3, -1) then (-1, -1): divided by their mean absolute values, 2 and 1, they
    # add up to (1.5 - 1, -0.5 - 1); their signs to (1 - 1, -1 - 1).
    slopes = [torch.tensor([3.0, -1.0]), torch.tensor([-1.0, -1.0])]

    class Told(attacks.Classifier):
        def __init__(self):
            self.asked = 0

        def gradient(self, images, goal, margin=False):
            self.asked += 1
            return slopes[self.asked - 1].reshape(1, 1, 1, 2).clone(), torch.tensor([[1.0, 0.0]])

        def met(self, images, goal):
            self.last = images.flatten()
            return torch.tensor([True])

    grey_image, goal = torch.full((1, 1, 1, 2), 0.5), Misclassified(torch.tensor([0]))
    about = {"norm": attacks.norm_of("linf"), "radius": torch.tensor([0.4]), "steps": 2, "step": 0.25}
    for first, way in ((False, [0.1 + 0.1, -0.1 - 0.1]), (True, [0.1 + 0.0, -0.1 - 0.1])):
        told = Told()
        attacks.mim.move(told, grey_image, goal, sign_first=first, **about)
        torch.testing.assert_close(told.last, 0.5 + torch.tensor(way))


def test_latent_descent_ends_on_the_boundary_of_its_last_line():
    # Between two prototypes the boundary is a plane: along the line from x to the other prototype q it is crossed at
    # the share s where |x + s (q - x) - p| = |x + s (q - x) - q|. Steps of 1 % towards q stay on this line.
    found = attacks.latent_descent(TWO, IMAGES, LABELS)
    own, other = TWO.prototypes[LABELS], TWO.prototypes[1 - LABELS]
    normals, lacks = TWO.planes(IMAGES, LABELS)
    share = lacks[:, 0] / (normals[:, 0] * (other - IMAGES)).flatten(1).sum(1)
    exact = share * (other - IMAGES).flatten(1).norm(dim=1)
    assert own.shape == other.shape
    assert (found.distances >= exact.detach() * (1 - 1e-9)).all()
    assert (found.distances <= exact.detach() * 1.02).all()
    assert (found.distances <= (other - IMAGES).flatten(1).norm(dim=1)).all()


def test_latent_descent_crosses_a_threshold_and_sets_back_the_rest():
    class Counts(AtLeast):
        def infer(self, images):
            drawn = torch.stack([torch.zeros_like(images), torch.ones_like(images)], 1)
            return SimpleNamespace(reconstruction=drawn)

    # Class 1 draws white: pixels go to 0.5 and no farther, and all but three are set back.
    black = torch.zeros(1, 1, 4, 4)
    found = attacks.latent_descent(Counts(3), black, [0], binary=0.5)
    assert (found.adversarials > 0).sum() == 3
    assert found.distances.item() == pytest.approx(0.5 * 3**0.5)
    with pytest.raises(UsageError, match=r"must be a torch module with infer"):
        attacks.latent_descent(AtLeast(3), black, [0])


def test_transfer_follows_the_substitute_and_counts_on_the_model():
    # The substitute's plane has another normal v: along v the plane of w is lack / (w . v / |v|) away.
    other = Prototypes((TWO.prototypes + 0.05 * grey(2, 1.0, rng=np.random.default_rng(6))).detach())
    found = attacks.transfer(TWO, IMAGES, LABELS, norm="l2", substitute=other)
    normals, lacks = TWO.planes(IMAGES, LABELS)
    way = 2 * (other.prototypes[1 - LABELS] - other.prototypes[LABELS]).detach()
    along = lacks[:, 0] / (normals[:, 0] * way).flatten(1).sum(1) * way.flatten(1).norm(dim=1)
    assert (found.distances <= along * 1.001).all()
    assert (found.distances >= TWO.distance(IMAGES, LABELS, "l2")).all()
    with pytest.raises(UsageError, match="needs substitute="):
        attacks.transfer(TWO, IMAGES, LABELS)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_margin_leads_to_the_nearest_of_few_classes(classes):
    model = prototypes(classes, 0.3, rng=np.random.default_rng(7))
    labels = model(IMAGES).argmax(1)
    exact = model.distance(IMAGES, labels, "l2")
    found = attacks.apgd(model, IMAGES, labels, norm="l2", loss="margin", steps=30)
    assert (found.distances >= exact * (1 - 1e-9)).all()
    assert found.distances.median() <= 1.3 * exact.median()
    plain = attacks.apgd(model, IMAGES, labels, norm="l2", loss="ce", steps=30)
    assert found.distances.median() <= plain.distances.median() * 1.01


def test_saturated_cross_entropy_does_not_stop_an_attack():
    # Scores 10,000 times as large: softmax is 1 in float32, and its gradient is nothing.
    class Sure(nn.Module):
        def forward(self, images):
            return 1e4 * TWO(images.double()).float()

    images = IMAGES.float()
    found = attacks.bim(Sure(), images, LABELS, norm="l2")
    np.testing.assert_allclose(found.distances, TWO.distance(IMAGES, LABELS, "l2"), rtol=5e-3)


def test_boundary_begins_at_the_nearest_start_that_is_adversarial():
    others = torch.cat([TWO.prototypes.detach(), torch.ones(1, 1, 4, 4).double()])
    exact = TWO.distance(IMAGES, LABELS, "l2")
    found = attacks.boundary(TWO, IMAGES, LABELS, steps=1, starts=others)
    line = (TWO.prototypes[1 - LABELS] - IMAGES).flatten(1).norm(dim=1)
    assert (found.distances < line).all()
    more = attacks.boundary(TWO, IMAGES, LABELS, steps=200, starts=others)
    assert (more.distances <= found.distances).all()
    assert more.distances.median() < 1.15 * exact.median()
    with pytest.raises(UsageError, match=r"starts must be images \[m, 1, 4, 4\]"):
        attacks.boundary(TWO, IMAGES, LABELS, starts=torch.zeros(2, 1, 3, 3))


def test_schedules_are_those_of_the_papers():
    # p = 0, .22, then steps that are .03 shorter each, .06 at the least: .41, .57, .70, .80, .87, .93, .99.
    assert checkpoints(100) == [22, 41, 57, 70, 80, 87, 93, 99]
    # After 10, 50, 200, 500, 1000, 2000, 4000, 6000 and 8000 of 10,000 steps the squares have half as many pixels.
    assert [share_of(step, 10_000) for step in (10, 11, 51, 8001)] == [1, 0.5, 0.25, 0.5**9]


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


class Crooked(nn.Module):
    """Two pixels of which the second matters only where the first is above 0.2."""

    def forward(self, images):
        a, b = images.flatten(1).unbind(1)
        margin = a + 5 * (a - 0.2).clamp_min(0) * b - 0.6
        return torch.stack([torch.zeros_like(margin), margin], 1)


def test_deepfool_in_linf_lets_all_pixels_go_as_far_as_the_farthest():
    # The first step sees the first pixel alone and reaches 0.6. There the second helps, too: with both at r,
    # r + 5 (r - 0.2) r = 0.6, so r^2 = 0.12.
    black = torch.zeros(1, 1, 1, 2, dtype=torch.float64)
    found = attacks.deepfool(Crooked(), black, [0], norm="linf")
    assert found.distances[0] == pytest.approx(0.12**0.5, rel=2e-3)
