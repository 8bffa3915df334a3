"""What single attacks promise beyond the laws that hold for all."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attack_toys import AtLeast, Prototypes, grey, prototypes
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import attacks
from unbraid.robustness.attacks.apgd import checkpoints
from unbraid.robustness.attacks.goals import Misclassified
from unbraid.robustness.attacks.square import share_of

RNG = np.random.default_rng(3)
IMAGES = grey(4, rng=RNG)
TWO = prototypes(2, rng=RNG)
LABELS = TWO(IMAGES).argmax(1)


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
