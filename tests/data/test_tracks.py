"""Tracks, the tables they come from, and what is computed of them."""

import numpy as np
import pytest

from unbraid.data import GeneralizedLaplace, Tracks
from unbraid.data.files.measurement_table import read_measurements
from unbraid.data.motion.measured import PackedMasks, measure
from unbraid.data.motion.natural_statistics import dependence, fit_transitions
from unbraid.errors import UsageError


def counting(lengths: list[int]) -> Tracks:
    """Frames numbered 0, 1, 2, ... in each track."""
    return Tracks(np.concatenate([np.arange(n) for n in lengths])[:, None].astype(float), ("t",), np.array(lengths))


def test_gaps_are_uniform_up_to_the_end_of_the_track():
    tracks = counting([100_000])
    first, second = tracks.draw_pairs(20_000, np.random.default_rng(0), max_gap=5)
    # Mean of 1..5 is 3; the deviation of a mean of 20,000 is 0.01.
    assert (second - first).mean() == pytest.approx(3.0, abs=0.05)
    assert set(np.unique(second - first)) == {1, 2, 3, 4, 5}


def test_pairs_stay_on_their_track_and_never_start_at_its_end():
    tracks = counting([2, 3, 7, 2])
    first, second = tracks.draw_pairs(5000, np.random.default_rng(0), max_gap=4)
    assert (tracks.last[first] == tracks.last[second]).all()
    assert (second > first).all()
    counts = np.bincount(first, minlength=14)
    assert (counts[[1, 4, 11, 13]] == 0).all()
    # Uniform over the ten frames that are no last ones.
    assert np.delete(counts, [1, 4, 11, 13]) == pytest.approx(500, abs=110)


def test_chains_follow_each_other():
    tracks = counting([2, 3, 7])
    chains = tracks.draw_chains(200, 3, np.random.default_rng(0))
    assert (np.diff(chains, axis=1) == 1).all()
    assert (tracks.last[chains[:, 0]] == tracks.last[chains[:, 2]]).all()
    with pytest.raises(UsageError, match="the longest has 7"):
        tracks.draw_chains(1, 8, np.random.default_rng(0))


def test_links_join_frames_and_drop_the_lonely():
    tracks, kept = Tracks.linked(np.arange(6.0)[:, None], ("t",), np.array([True, False, False, True, True]))
    assert kept.tolist() == [0, 1, 3, 4, 5]
    assert tracks.lengths.tolist() == [2, 3]


def test_dropping_a_pair_splits_its_track():
    values = np.array([1, 2, 3, 99, 4, 5, 6], float)[:, None]
    kept = Tracks(values, ("area",), np.array([7])).within("area", 0.1)
    # Quantiles drop the pairs with 99 and the least firsts and seconds (1, 2).
    assert 99 not in kept.values
    assert len(kept.lengths) == 2


@pytest.mark.parametrize("lengths", [[1, 4], [2, 2]])
def test_lengths_must_fit(lengths):
    with pytest.raises(UsageError, match="lengths must be 2 or more"):
        Tracks(np.zeros((5, 1)), ("x",), np.array(lengths))


def test_masks_are_measured():
    rng = np.random.default_rng(0)
    masks = rng.random((20, 64, 64)) < 0.2
    packed = np.packbits(masks.reshape(20, -1), axis=1)
    rows, columns = np.mgrid[:64, :64]
    expected = [[(columns * m).sum() / m.sum(), (rows * m).sum() / m.sum(), m.sum()] for m in masks]
    assert measure(packed) == pytest.approx(np.array(expected))
    assert (PackedMasks(packed).images(np.array([3]))[0, ..., 0] == 255 * masks[3]).all()


def test_long_tables_are_read_in_any_order(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "note,frame,track,area,y,x\n-,1,a,50,2.5,1.5\n-,0,a,40,2,1\n-,7,b,9,0,0\n-,9,b,9,1,1\n-,10,b,9,2,1\n"
    )
    tracks = read_measurements(path)
    # Frames 7 and 9 of b are not neighbours; 7 is alone.
    assert tracks.names == ("x", "y", "area")
    assert tracks.lengths.tolist() == [2, 2]
    assert tracks.values.tolist() == [[1, 2, 40], [1.5, 2.5, 50], [1, 1, 9], [1, 2, 9]]


def test_wide_tables_have_a_list_of_windows_per_time_step(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(
        'id,category,t0,t1,t2\n1,dog,"[(1.0, 2.0, 30), None, (5, 6, 7)]","[(1.5, 2.5, 31), None, (5, 6.5, 8)]",\n'
        '2,cat,"[None, None, None]","[(nan, nan, 0), (9, 8, 70), None]","[None, (9, 9, 71), None]"\n'
    )
    tracks = read_measurements(path)
    assert tracks.lengths.tolist() == [2, 2, 2]
    assert tracks.values[0].tolist() == [2.0, 1.0, 30]  # cells hold (y, x, area)
    assert tracks.values[-1].tolist() == [9, 9, 71]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("track,frame,x,y,area\na,0,1,2,three\n", "line 2: expected numbers"),
        ("id,what,t0\n1,dog,__import__('os').system('true')\n", "line 2(.|\n)*needs the header"),
        ('1,dog,"[(1, 2)]"\n', "is no .y, x, area."),
        ("track,frame,x,y,area\n", "fewer than two"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_measurements(path)


def test_sums_of_steps_turn_normal_unless_every_track_has_its_pace():
    # Independent generalized Laplace steps of shape 0.587: over 1..40 frames the fitted shape passes 1. With one
    # log-normal scale per track it stays below, as on real tracks.
    rng = np.random.default_rng(0)
    lengths = np.full(60, 800)
    plain = GeneralizedLaplace(0.587, 1).sample((60, 800, 1), rng)
    paced = rng.laplace(size=(60, 800, 1)) * np.exp(0.7 * rng.standard_normal((60, 1, 1)))
    shapes = []
    for steps in (plain, paced):
        tracks = Tracks(steps.cumsum(axis=1).reshape(-1, 1), ("x",), lengths)
        shapes.append([fit.general.alpha for fit in fit_transitions(tracks, (1, 40), pairs=20_000)])
    assert shapes[0][0] == pytest.approx(0.587, abs=0.03)
    assert shapes[0][1] > 1.1
    assert shapes[1][0] == pytest.approx(0.585, abs=0.1)
    assert shapes[1][1] < 0.8


def test_laws_are_told_apart_by_their_likelihood():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((20_000, 1))
    tracks = Tracks(np.stack([np.zeros_like(normal), normal], axis=1).reshape(-1, 1), ("x",), np.full(20_000, 2))
    (fit,) = fit_transitions(tracks)
    assert fit.general.alpha == pytest.approx(2, abs=0.1)
    assert fit.log_likelihood["normal"] > fit.log_likelihood["laplace"]
    # The entropy of a standard normal is 1.4189 nats.
    assert fit.log_likelihood["normal"] / fit.pairs == pytest.approx(-1.4189, abs=0.02)
    assert fit.kurtosis == pytest.approx(0, abs=0.1)


def test_information_of_normal_pairs_is_half_the_log_of_one_minus_r_squared():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200_000))
    found = dependence(np.stack([a, 0.6 * a + 0.8 * b, b[::-1]], axis=1), ("a", "b", "c"))
    # -log(1 - 0.36) / 2 = 0.2231 nats, a little less in 16 bins; nothing between independent columns.
    assert found.information[0, 1] == pytest.approx(0.2231, abs=0.015)
    assert found.information[0, 2] == pytest.approx(0, abs=0.001)
    assert found.correlation[0, 1] == pytest.approx(0.6, abs=0.01)
