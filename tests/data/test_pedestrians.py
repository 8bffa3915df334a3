"""The stand-in for KITTI Masks, and what is done to pairs of masks."""

import numpy as np
import pytest

from unbraid.data import Tracks, counter_rng, load, make_stream
from unbraid.data.motion.measured import measure
from unbraid.data.motion.natural_statistics import fit_transitions
from unbraid.data.motion.walkers import walk_scenes
from unbraid.data.render.jitter import jitter_pairs
from unbraid.data.render.silhouettes import Poses, render_silhouettes
from unbraid.data.sets.pedestrians import SMALLEST
from unbraid.errors import UsageError


@pytest.fixture(scope="module")
def walkers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("root")))
        yield load("pedestrians:walkers=250,max_gap=5")


# Klindt et al. (2021), Table of natural statistics: shape and deviation of the steps on KITTI Masks.
TARGETS = {"x": (0.587, 1.04), "y": (0.694, 0.886), "area": (0.455, 23.9)}


def test_steps_have_the_shapes_of_real_pedestrians_at_every_gap(walkers):
    fits = fit_transitions(walkers.tracks, (1, 40))
    for fit in fits[:3]:
        alpha, deviation = TARGETS[fit.factor]
        assert fit.general.alpha == pytest.approx(alpha, abs=0.08)
        assert fit.deviation == pytest.approx(deviation, rel=0.35)
    for fit in fits:
        assert fit.general.alpha < 1
        assert fit.log_likelihood["general"] > fit.log_likelihood["laplace"] > fit.log_likelihood["normal"]


def test_tracks_are_as_long_as_real_ones(walkers):
    lengths = walkers.tracks.lengths
    assert lengths.min() >= 2
    assert lengths.max() <= 710
    assert lengths.mean() == pytest.approx(39.9, rel=0.15)
    assert (walkers.frame_rate.min() >= 14, walkers.frame_rate.max() <= 30) == (True, True)


def test_factors_are_measured_from_the_mask(walkers):
    index = walkers.sample_index(200, np.random.default_rng(0))
    masks = walkers.images(index)[..., 0] == 255
    rows, columns = np.mgrid[:64, :64]
    area = masks.sum(axis=(1, 2))
    expected = np.stack([(masks * columns).sum(axis=(1, 2)) / area, (masks * rows).sum(axis=(1, 2)) / area, area], 1)
    assert walkers.factors(index) == pytest.approx(expected)
    assert area.min() >= 30
    assert set(np.unique(walkers.images(index))) == {0, 255}


def test_silhouettes_scale_shift_and_are_cut_by_the_window():
    def area(x, height):
        pose = Poses(*(np.array([value]) for value in (x, 32.0, height, 1.0, 0.8, 1.0, 1.0)))
        return int(np.unpackbits(render_silhouettes(pose)).sum())

    assert area(32.0, 52.0) / area(32.0, 26.0) == pytest.approx(4, rel=0.15)
    assert area(20.0, 40.0) == area(44.0, 40.0)
    assert 0.3 < area(0.0, 40.0) / area(32.0, 40.0) < 0.7
    assert area(-30.0, 40.0) == 0


def test_pairs_are_jittered_for_training_alone(walkers):
    batch = make_stream("pairs", walkers, 32, 0)(3)
    assert (batch.images == make_stream("pairs", walkers, 32, 0)(3).images).all()
    assert (batch.images != walkers.images(batch.index)).any()
    assert set(np.unique(batch.images)) <= {0, 255}
    walkers.augment = False
    batch = make_stream("pairs", walkers, 32, 0)(3)
    walkers.augment = True
    assert (batch.images == walkers.images(batch.index)).all()


def test_jitter_leaves_the_shift_of_a_rigid_pair_unchanged():
    rng = np.random.default_rng(0)
    first = np.zeros((200, 64, 64, 1), np.uint8)
    second = first.copy()
    first[:, 20:36, 24:32] = 255
    second[:, 23:39, 28:36] = 255  # 4 to the right, 3 down
    moved = jitter_pairs(first, second, rng)
    rows, columns = np.mgrid[:64, :64]
    centres = [
        np.stack([(m[..., 0] * g).sum(axis=(1, 2)) / m[..., 0].sum(axis=(1, 2)) for g in (columns, rows)], axis=1)
        for m in (part / 255.0 for part in moved)
    ]
    shift = centres[1] - centres[0]
    assert np.abs(shift - [4, 3]).max() < 1
    # Shifts are uniform on -5..5 each way: their deviation is sqrt(10).
    assert (centres[0] - [27.5, 27.5]).std(axis=0) == pytest.approx(np.sqrt(10), rel=0.15)
    assert np.abs(centres[0] - [27.5, 27.5]).max() < 6


def test_sequences_follow_a_walker_frame_by_frame(walkers):
    frames = make_stream("sequences:length=5", walkers, 40, 0).frames(0)
    assert frames.shape == (10, 5, 64, 64, 1)
    chain = walkers.draw_chains(10, 5, counter_rng(0, 0))
    assert (np.diff(chain, axis=1) == 1).all()


@pytest.mark.parametrize("options", ["max_gap=0", "walkers=0"])
def test_wrong_options_are_named(options):
    with pytest.raises(UsageError, match="must be at least 1"):
        load(f"pedestrians:walkers=3,{options}")


def test_tails_of_all_walkers_are_as_heavy_as_those_of_real_pedestrians():
    # Excess kurtosis of neighbouring frames in the same table. Fourth moments of 81,000 steps are what the largest few
    # make them, so a quarter of tolerance; without slips of the outline x has 15.
    scene = walk_scenes(780)
    values = measure(render_silhouettes(scene.poses))
    seen = values[:, 2] >= SMALLEST
    tracks, _ = Tracks.linked(values, ("x", "y", "area"), scene.links & seen[:-1] & seen[1:])
    found = {fit.factor: fit for fit in fit_transitions(tracks)}
    for name, kurtosis in (("x", 38.50), ("y", 65.39), ("area", 68.92)):
        alpha, deviation = TARGETS[name]
        assert found[name].kurtosis == pytest.approx(kurtosis, rel=0.25)
        assert found[name].general.alpha == pytest.approx(alpha, abs=0.03)
        assert found[name].deviation == pytest.approx(deviation, rel=0.1)
    assert len(tracks.lengths) == pytest.approx(2120, rel=0.06)
    assert len(tracks) == pytest.approx(84_626, rel=0.03)
