"""Reasons to doubt an evaluation: of distances made up to give them, and of models that mask gradients."""

import numpy as np
import pytest
import torch
from attack_toys import grey, prototypes
from torch import nn

from unbraid.errors import UsageError
from unbraid.robustness import check_masking, masking, masking_doubts

ONES = np.ones(10)


def test_attacks_without_gradients_must_not_come_nearer():
    # Of ten images one is wrong as it is; of the nine others three are nearer by more than 5 %.
    white, black = ONES.copy(), ONES.copy()
    white[0] = black[0] = 0
    black[1:4] = 0.9
    doubt = masking.black_box_is_better({"pgd": white, "bim": white * 2}, {"square": black})
    assert doubt.share == pytest.approx(3 / 9)
    assert "attacks without gradients (square) come nearer than those with (pgd, bim) for 33 %" in str(doubt)
    assert masking.black_box_is_better({"pgd": white}, {"square": np.maximum(black, 0.96)}) is None
    assert masking.black_box_is_better({"pgd": white}, {}) is None
    # What gradients do not find at all counts, too.
    assert masking.black_box_is_better({"pgd": np.full(10, np.inf)}, {"s": ONES}).share == 1


def test_more_steps_must_not_find_much_more():
    fallen = ONES.copy()
    fallen[:2] = 0.5
    doubt = masking.more_steps_help({100: fallen, 10: ONES * 3, 50: ONES})
    assert doubt.share == 0.2  # 50 against 100: the shorter run does not matter
    assert str(doubt).startswith("100 steps instead of 50 come nearer for 20 % of images")
    assert masking.more_steps_help({10: ONES * 3, 50: ONES, 100: ONES * 0.96}) is None
    assert masking.more_steps_help({100: ONES}) is None
    bounded = np.where(np.arange(10) < 3, np.inf, 1.0)
    assert masking.more_steps_help({10: bounded, 20: ONES}).share == pytest.approx(0.3)


def test_an_attack_without_a_bound_must_succeed():
    some = np.where(np.arange(10) < 1, np.inf, 1.0)
    doubt = masking.unbounded_attack_fails("bim", some)
    assert doubt.share == 0.1
    assert "bim without a bound fails for 10 % of images" in str(doubt)
    assert masking.unbounded_attack_fails("bim", ONES) is None


def test_a_flat_loss_is_told():
    assert masking.flat_loss(np.where(np.arange(10) < 2, 0.0, 1.0)).share == 0.2
    assert masking.flat_loss(ONES) is None
    assert masking.flat_loss(ONES, changes=np.where(np.arange(10) < 3, 0.0, 1.0)).share == pytest.approx(0.3)


def test_doubts_are_gathered_and_what_cannot_be_distances_is_refused():
    failed = np.where(np.arange(10) < 1, np.inf, 1.0)
    doubts = masking_doubts({"bim": failed}, {"square": ONES / 2}, {10: failed, 20: failed}, slopes=np.zeros(10))
    assert [doubt.kind for doubt in doubts] == ["black-box", "unbounded", "flat"]
    assert masking_doubts({"bim": ONES}, {"square": ONES}, {10: ONES, 20: ONES}, slopes=ONES) == []
    with pytest.raises(UsageError, match="one per image"):
        masking.flat_loss(np.full(3, np.nan))
    with pytest.raises(UsageError, match="same images"):
        masking.black_box_is_better({"bim": ONES}, {"square": ONES[:3]})
    with pytest.raises(UsageError, match="norm must be linf or l2"):
        check_masking(prototypes(2, rng=np.random.default_rng(3)), grey(2, rng=np.random.default_rng(4)), [0, 0], "l0")


def test_a_plain_model_raises_no_doubt_and_one_with_steps_in_its_scores_does():
    images, plain = grey(3, rng=np.random.default_rng(3)), prototypes(2, rng=np.random.default_rng(4))
    labels = plain(images).argmax(1)
    assert check_masking(plain, images, labels, "l2", steps=10) == []

    class Masked(nn.Module):
        """The same decisions; but its slope points the wrong way."""

        def forward(self, images):
            scores = plain(images)
            return scores.detach() - 1e-3 * (scores - scores.detach())

    doubts = check_masking(Masked(), images, labels, "l2", steps=10)
    assert "black-box" in {doubt.kind for doubt in doubts}
    saturated = nn.Sequential(plain, _Times(1e6)).float()
    doubts = check_masking(saturated, images.float(), labels, "l2", steps=10)
    assert "flat" in {doubt.kind for doubt in doubts}


class _Rounded(nn.Module):
    """Pixels in steps of a quarter, with a gradient that is 0 wherever there is one."""

    def forward(self, images):
        return (4 * images).round() / 4


def test_quantised_inputs_and_huge_logits_are_told_and_a_plain_network_is_not():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ELU(), nn.Flatten(), nn.Linear(144, 3))
    images = torch.rand(6, 1, 8, 8)
    labels = plain(images).argmax(1)
    assert check_masking(plain, images, labels, "l2", steps=25) == []
    quantised, huge = nn.Sequential(_Rounded(), plain), nn.Sequential(plain, _Times(1e4))
    for model in (quantised, huge):
        doubts = check_masking(model, images, model(images).argmax(1), "l2", steps=5)
        assert "flat" in {doubt.kind for doubt in doubts}


class _Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, scores):
        return self.factor * scores


def test_classes_that_there_are_not_and_scores_that_are_no_numbers_are_no_doubts_but_errors():
    images, plain = grey(3, rng=np.random.default_rng(3)), prototypes(2, rng=np.random.default_rng(4))
    labels = plain(images).argmax(1)
    with pytest.raises(UsageError, match="scores of 2 classes, and there is a class"):
        check_masking(plain, images, labels + 2, "l2")
    with pytest.raises(UsageError, match="no numbers"):
        check_masking(nn.Sequential(plain, _Times(np.nan)), images, labels, "l2")


def test_masking_needs_gradients():
    with pytest.raises(UsageError, match="function on arrays"):
        check_masking(lambda images: np.zeros((len(images), 2)), torch.rand(2, 1, 4, 4), [0, 1])
