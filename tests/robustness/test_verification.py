"""Adversarials of models that search count only when the whole search agrees."""

import numpy as np
import pytest
import torch
from attack_toys import AtLeast, Constant, Prototypes, grey, prototypes
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import attacks

RNG = np.random.default_rng(2)
COLD = prototypes(2, rng=RNG)
SOME = grey(40, rng=RNG)
IMAGES = SOME[COLD(SOME).argmax(1) == 0][:5]
LABELS = torch.zeros(len(IMAGES), dtype=torch.long)


class Shifted(Prototypes):
    """Prototypes after a search that was cut short: the plane is moved into class 0, whose images fall too early."""

    def __init__(self, inner, shift):
        super().__init__(inner.prototypes.detach().clone())
        self.shift = shift

    def forward(self, images):
        scores = super().forward(images)
        return scores + scores.new_tensor([-self.shift, self.shift])


def flattering(share=0.3):
    """A model that lies in favour of the attack: a share of what the image nearest to the plane lacks."""
    _, lacks = COLD.planes(IMAGES, LABELS)
    return Shifted(COLD, float(share * lacks.min() / 2))  # half of it goes to each score


CASES = [("bim", "l2", {}), ("deepfool", "l2", {}), ("ddn", "l2", {"steps": 50}), ("boundary", "l2", {"steps": 200})]
CASES += [("fgm", "linf", {}), ("latent-descent", "l2", {})]


@pytest.mark.parametrize(("name", "norm", "options"), CASES)
def test_a_flattering_model_is_refuted_and_the_nearest_verified_image_takes_its_place(name, norm, options):
    warm, images, labels = flattering(), IMAGES, LABELS
    attack, truth = attacks.get(name), COLD.distance(images, labels, norm)
    assert (warm(images).argmax(1) == labels).all()
    claimed = attack(warm, images, labels, norm=norm, **options)
    believed = COLD(claimed.adversarials).argmax(1) != labels
    assert not believed.all()  # some of what it claims is false
    found = attack(warm, images, labels, norm=norm, verify=COLD, **options)
    assert found.success.all()
    assert (COLD(found.adversarials).argmax(1) != labels).all()
    assert (found.distances >= truth - 1e-9).all()
    # Not much farther than what the attack finds when it asks the model that decides.
    alone = attack(COLD, images, labels, norm=norm, **options)
    assert (found.distances <= 1.1 * alone.distances).all()
    assert torch.equal(found.refuted, ~believed)


def test_the_verified_image_lies_on_the_line_where_the_plane_is():
    # Deepfool on the shifted plane goes along its normal, and so does the line beyond: the true plane is met at its
    # true distance.
    warm, images, labels = flattering(), IMAGES, LABELS
    found = attacks.deepfool(warm, images, labels, norm="l2", verify=COLD)
    np.testing.assert_allclose(found.distances, COLD.distance(images, labels, "l2"), rtol=1e-3)


def test_where_no_line_leads_on_the_verifying_model_is_attacked_itself():
    # Four pixels that are white already are enough for the one, and cannot go farther; the other needs five.
    black = torch.zeros(2, 1, 8, 8)
    assert attacks.pointwise(AtLeast(4), black, [0, 0], restarts=2).distances.tolist() == [4, 4]
    found = attacks.pointwise(AtLeast(4), black, [0, 0], restarts=2, verify=AtLeast(5))
    assert found.distances.tolist() == [5, 5]
    assert found.refuted.all()


class Brightness(nn.Module):
    """Class 1 of images with more light than a limit; its margin is the difference."""

    def __init__(self, limit):
        super().__init__()
        self.limit, self.asked = limit, 0

    def forward(self, images):
        self.asked += len(images)
        light = images.flatten(1).sum(1).double() - self.limit
        return torch.stack([-light / 2, light / 2], 1)


def test_a_stand_in_that_must_be_surer_saves_questions_to_the_verifying_model():
    # Light of 4.5 takes five white pixels, and one of 6.5 seven. The stand-in lacks 1.5 there: surer by twice that, it
    # asks for 0.5 + 3 more than 4.5, which eight pixels have. The model that decides is hardly asked.
    black = torch.zeros(2, 1, 8, 8)
    judge = Brightness(6.5)
    found = attacks.pointwise(Brightness(4.5), black, [0, 0], restarts=1, verify=judge)
    assert found.distances.tolist() == [8, 8]
    assert found.refuted.all()
    assert judge.asked < 150
    alone = Brightness(6.5)
    assert attacks.pointwise(alone, black, [0, 0], restarts=1).distances.tolist() == [7, 7]
    assert alone.asked > judge.asked / 2


def test_pixels_that_go_no_farther_are_not_looked_for_by_attacking_the_verifying_model_along_gradients():
    # As above, by gradients: white pixels cannot go on along their line, and eight of them are surer than six.
    judge = Brightness(6.5)
    found = attacks.fmn(Brightness(4.5), torch.zeros(2, 1, 8, 8), [0, 0], norm="l0", verify=judge)
    assert found.refuted.all()
    assert found.success.all()
    assert (found.distances >= 7).all()
    assert judge.asked < 50  # an attack on it asks for 101 gradients of each image


def test_where_the_stand_in_has_nothing_to_claim_the_verifying_model_is_not_attacked():
    black, judge = torch.zeros(2, 1, 8, 8), Brightness(6.5)
    found = attacks.pointwise(Brightness(100), black, [0, 0], restarts=1, verify=judge)
    assert found.distances.isinf().all()
    assert not found.refuted.any()
    assert judge.asked <= 4  # the images, and what the attack left of them


def test_what_is_right_and_wrong_from_the_start_is_decided_by_the_verifying_model():
    # The plane is moved so far that every image of class 0 is taken for class 1 as it is: none has distance 0.
    warm, images, labels = flattering(share=50), IMAGES, LABELS
    assert (warm(images).argmax(1) != labels).all()
    found = attacks.bim(warm, images, labels, norm="l2", verify=COLD)
    assert (found.distances > 0).all()
    assert found.success.all()
    swapped = attacks.bim(warm, images, 1 - labels, norm="l2", verify=COLD)
    assert swapped.distances.tolist() == [0] * len(images)


def test_what_nothing_verifies_is_infinitely_far():
    warm, images, labels = flattering(), IMAGES, LABELS
    constant = nn.Sequential(Constant(), _First(2, flip=True))
    found = attacks.bim(warm, images, labels, norm="l2", verify=constant)
    assert found.distances.isinf().all()
    assert torch.equal(found.adversarials, images)


class _First(nn.Module):
    """Some columns, so that class 0 is named."""

    def __init__(self, count, flip):
        super().__init__()
        self.count, self.flip = count, flip

    def forward(self, scores):
        return scores[:, : self.count].flip(1)


def test_verification_by_a_function_without_gradients_and_of_other_classes():
    warm, images, labels = flattering(), IMAGES, LABELS
    bytes_only = lambda pixels: COLD(torch.from_numpy(pixels).permute(0, 3, 1, 2).double() / 255).detach().numpy()  # noqa: E731
    found = attacks.deepfool(warm, images, labels, norm="l2", verify=bytes_only)
    assert found.success.all()
    assert (COLD(found.adversarials).argmax(1) != labels).all()
    with pytest.raises(UsageError, match="verify must give what predict gives: Constant gives 3 numbers"):
        attacks.bim(warm, images, labels, verify=Constant())


def test_without_verification_nothing_is_refuted():
    found = attacks.bim(COLD, IMAGES, LABELS, norm="l2")
    assert not found.refuted.any()
