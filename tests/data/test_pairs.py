"""Streams of pairs and sequences."""

import numpy as np
import pytest

from unbraid.data import load, make_stream
from unbraid.errors import UsageError


@pytest.mark.parametrize("kind", ["pairs", "pairs:protocol=uni", "sequences:length=5,protocol=lap-nc,rate=2.5"])
def test_a_batch_of_pairs_is_a_function_of_seed_and_step(dots, kind):
    stream, again = make_stream(kind, dots, 8, 3), make_stream(kind, dots, 8, 3)
    stream(7)
    assert (stream(5).images == again(5).images).all()
    assert (stream(5).partners == again(5).partners).all()
    assert (stream(5).index != stream(6).index).any()
    assert (stream(5).index != make_stream(kind, dots, 8, 4)(5).index).any()
    assert stream(5).images.shape == stream(5).partners.shape == (8, 16, 16, 1)


def test_partners_are_one_step_away(dots):
    batch = make_stream("pairs:protocol=lap", dots, 64, 0)(0)
    assert (dots.space.index(batch.factors) == batch.index).all()
    assert (dots.images(batch.index) == batch.images).all()
    assert (batch.partners != batch.images).any(axis=(1, 2, 3)).all()


def test_options_of_the_protocol_come_with_the_kind():
    data = load("mini-sprites")
    slow, fast = (make_stream(f"pairs:rate={rate}", data, 1, 0).protocol.expected_changes() for rate in (8, 0.5))
    assert slow < fast
    moving = make_stream("pairs:frozen=x+y", data, 1, 0).protocol.change_probabilities()
    assert (moving > 0).tolist() == [True, True, False, False]
    assert make_stream("pairs:rate=0", data, 1, 0).protocol.rate is None


def test_pairs_of_uni_may_differ_in_a_given_number_of_factors():
    data = load("mini-sprites")
    law = make_stream("pairs:protocol=uni,changes=1", data, 1, 0).protocol.change_counts()
    assert law.tolist() == [0, 1, 0, 0, 0]
    assert make_stream("pairs:protocol=uni", data, 1, 0).protocol.change_counts()[1] < 1


def test_the_published_pairs_of_ada_gvae_come_by_name():
    batch = make_stream("pairs:protocol=loc", load("mini-sprites"), 64, 0)(0)
    assert batch.partners.shape == batch.images.shape


@pytest.mark.parametrize("kind", ["loc,rate=2", "uni,frozen=x", "lap,changes=1", "loc,changes=2"])
def test_an_option_of_another_protocol_is_refused(kind):
    with pytest.raises(UsageError, match=f"has no option {kind.split(',')[1].split('=')[0]}"):
        make_stream(f"pairs:protocol={kind}", load("mini-sprites"), 8, 0)


def test_sequences_are_cut_into_pairs_of_neighbours(dots):
    stream = make_stream("sequences:length=4", dots, 6, 0)
    frames, batch = stream.frames(2), stream(2)
    assert frames.shape == (2, 4, 16, 16, 1)
    assert (batch.images.reshape(2, 3, 16, 16, 1) == frames[:, :-1]).all()
    assert (batch.partners.reshape(2, 3, 16, 16, 1) == frames[:, 1:]).all()
    assert (dots.images(batch.index) == batch.images).all()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("pairs:protocl=uni", "did you mean 'protocol'"),
        ("pairs:protocol=laplace", "unknown protocol"),
        ("sequences:length=4", "dividing the batch size 8"),
        ("pairs:frozen=z", "unknown frozen factor 'z'"),
    ],
)
def test_wrong_options_are_named(dots, kind, words):
    with pytest.raises(UsageError, match=words):
        make_stream(kind, dots, 8, 0)


def test_pairs_need_a_grid_or_tracks():
    with pytest.raises(UsageError, match="neither transitions nor a factor grid"):
        make_stream("pairs", load("digits8"), 8, 0)


def test_natural_pairs_win_over_a_protocol():
    data = load("natural-sprites-discrete:channels=1")
    batch = make_stream("pairs:protocol=uni", data, 200, 0)(0)
    own, _, index = data.pair_images(200, np.random.default_rng(0))
    assert batch.images.shape == own.shape
    assert (batch.factors == data.space.factors(batch.index)).all()
    assert len(index) == 200
