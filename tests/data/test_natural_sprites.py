"""Natural Sprites: the renderer, the tracks and both versions of the data set."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unbraid.data import counter_rng, load
from unbraid.data.motion.natural_statistics import fit_increments
from unbraid.data.motion.window_tracks import reflect, window_tracks
from unbraid.data.render.spriteworld import ANGLES, SHAPES, outline, render_polygons
from unbraid.errors import UsageError


@pytest.mark.parametrize("shape", SHAPES)
def test_outlines_have_unit_area_about_their_centroid(shape):
    x, y = outline(shape).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    assert cross.sum() / 2 == pytest.approx(1)
    assert ((x + np.roll(x, -1)) * cross).sum() == pytest.approx(0, abs=1e-12)
    assert ((y + np.roll(y, -1)) * cross).sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("scale", "fat"), [(0.15, 1.07), (0.3, 1.04)])
@pytest.mark.parametrize("shape", range(4))
def test_sprites_are_a_little_fat(shape, scale, fat):
    # The border of the polygon is filled too, on a canvas five times as fine.
    rng = np.random.default_rng(shape)
    x, y = rng.uniform(0.35, 0.65, (2, 100))
    pixels = render_polygons(x, y, np.full(100, scale), rng.choice(ANGLES, 100), np.full(100, shape), channels=1)
    ratio = pixels.sum(axis=(1, 2, 3)) / 255 / (64 * scale) ** 2
    assert (ratio >= 0.995).all()
    assert (ratio <= fat).all()


@pytest.mark.parametrize("shape", range(4))
def test_sprites_look_as_pillow_draws_them(shape):
    rng = np.random.default_rng(shape)
    for _ in range(10):
        x, y, scale, angle = rng.uniform(-0.1, 1.1), rng.uniform(-0.1, 1.1), rng.uniform(0.1, 0.8), rng.choice(ANGLES)
        turn = np.radians(angle)
        vertices = scale * outline(SHAPES[shape]) @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
        canvas = Image.new("L", (320, 320))
        ImageDraw.Draw(canvas).polygon([tuple(v) for v in 320 * np.add(vertices, [x, y])], fill=255)
        # The canvas has y upwards, the picture downwards.
        expected = np.asarray(canvas, dtype=float).reshape(64, 5, 64, 5).mean(axis=(1, 3))[::-1]
        drawn = render_polygons(*np.array([[x], [y], [scale], [angle]]), np.array([shape]), channels=1)[0, ..., 0]
        assert np.abs(drawn - expected).max() < 60
        assert np.abs(drawn - expected).mean() < 0.5


def test_up_is_up():
    drawn = render_polygons(*np.array([[0.2], [0.9], [0.1], [0.0]]), np.array([0]))[0]
    rows, columns = np.nonzero(drawn[..., 0])
    assert rows.mean() < 12
    assert columns.mean() < 20
    assert drawn.shape == (64, 64, 3)


# Klindt et al. (2021), Table of natural statistics: shape, deviation and kurtosis of the steps on YouTube-VOS.
TARGETS = {"x": (0.515, 2.68, 39.98), "y": (0.548, 2.47, 35.59), "area": (0.444, 116, 76.49)}


def test_invented_tracks_move_like_objects_in_video():
    tracks = window_tracks()
    assert len(tracks.starts) == pytest.approx(234_652, rel=0.03)
    steps = tracks.increments()
    for k, (name, (alpha, deviation, kurtosis)) in enumerate(TARGETS.items()):
        fit = fit_increments(steps[:, k], name)
        assert fit.general.alpha == pytest.approx(alpha, abs=0.08)
        assert fit.deviation == pytest.approx(deviation, rel=0.15)
        # Heavier than the fitted law has them, as measured.
        assert fit.kurtosis == pytest.approx(kurtosis, rel=0.15)
        assert fit.kurtosis > 1.3 * fit.general.kurtosis
        likely = fit.log_likelihood
        assert likely["general"] > likely["laplace"] > likely["normal"]
    assert (tracks.values[:, 2] == np.rint(tracks.values[:, 2])).all()
    assert np.quantile(tracks.values[:, 2], 0.95) > 2400


def test_reflection_keeps_the_range():
    values = reflect(np.linspace(-500, 500, 1001), 3.0, 17.0)
    assert (values.min(), values.max()) == (3.0, 17.0)
    assert reflect(np.array([5.0]), 3.0, 17.0) == 5.0


@pytest.fixture(scope="module")
def natural():
    return load("natural-sprites")


def test_the_smallest_and_largest_areas_are_dropped(natural):
    assert len(natural.tracks.starts) == pytest.approx(207_794, rel=0.03)
    assert len(np.unique(natural.tracks.values[:, 2])) >= 2375


def test_permutation_keeps_every_factor_s_steps_and_removes_their_dependence(natural):
    permuted = load("natural-sprites:permuted=1")
    before, after = natural.tracks.increments(), permuted.tracks.increments()
    assert np.allclose(np.sort(before, axis=0), np.sort(after, axis=0))
    assert np.corrcoef(np.abs(before[:, [0, 2]]).T)[0, 1] > 0.2
    assert abs(np.corrcoef(np.abs(after[:, [0, 2]]).T)[0, 1]) < 0.02
    assert permuted.name == "natural-sprites-permuted"


def test_shape_and_angle_stay_within_a_pair(natural):
    first, second = natural.draw_pairs(500, counter_rng(0, 0))
    before, after = natural.factors(first), natural.factors(second)
    assert (before[:, 3:] == after[:, 3:]).all()
    assert (before[:, :3] != after[:, :3]).any(axis=1).mean() > 0.95
    assert len(np.unique(before[:, 3])) == 40
    assert set(before[:, 4]) == {0, 1, 2, 3}
    chains = natural.factors(natural.draw_chains(50, 6, counter_rng(0, 1)).ravel()).reshape(50, 6, 5)
    assert (chains[:, :, 3:] == chains[:, :1, 3:]).all()


def test_factors_are_those_of_the_image(natural):
    # Where the whole sprite shows, its centre of brightness is (x, y) and its brightness the squared scale.
    factors, images = natural.sample(800, counter_rng(0, 0))
    reach = 1.2 * factors[:, 2]
    inside = (np.minimum(factors[:, :2], 1 - factors[:, :2]).min(axis=1) > reach) & (factors[:, 2] > 0.1)
    weights = images[inside, ..., 0] / 255.0
    total = weights.sum(axis=(1, 2))
    across = (weights.sum(axis=1) @ (np.arange(64) + 0.5)) / total / 64
    up = 1 - (weights.sum(axis=2) @ (np.arange(64) + 0.5)) / total / 64
    assert inside.sum() > 30
    assert np.abs(across - factors[inside, 0]).max() < 0.01
    assert np.abs(up - factors[inside, 1]).max() < 0.01
    assert np.sqrt(total) / 64 == pytest.approx(factors[inside, 2], rel=0.06)


def test_the_discrete_version_is_a_grid_with_natural_pairs():
    data = load("natural-sprites-discrete")
    assert data.space.sizes == (32, 32, 6, 40, 4)
    first, second, index = data.pair_images(50, counter_rng(0, 0))
    assert (data.images(index) == first).all()
    assert (first != second).any()
    chains = data.draw_chains(20_000, 2, counter_rng(0, 0))
    rows = data.space.factors(chains.ravel())
    assert [len(np.unique(column)) for column in rows.T] == [32, 32, 6, 40, 4]
    steps = np.diff(rows.reshape(-1, 2, 5), axis=1)[:, 0]
    assert not steps[:, 3:].any()
    # Neighbouring frames mostly share a bin: a width is 2 pixels and the median step about half of one.
    assert 0.2 < (steps[:, 0] != 0).mean() < 0.8


def test_a_table_of_one_s_own_takes_the_place_of_the_tracks(tmp_path):
    rows = ["track,frame,x,y,area"]
    rng = np.random.default_rng(0)
    rows += [f"{t},{f},{20 + f},{30 - f / 2},{rng.integers(100, 900)}" for t in range(30) for f in range(10)]
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    data = load("natural-sprites", source=str(tmp_path / "mine.csv"), size=32, channels=1)
    assert data.shape == (32, 32, 1)
    assert np.unique(data.tracks.increments()[:, :2], axis=0).tolist() == [[1.0, -0.5]]
    assert data.card.stands_in_for == ""
    with pytest.raises(UsageError, match="channels be 1 or 3"):
        load("natural-sprites:channels=2")


def test_ranges_of_measured_factors_are_those_of_all_positions():
    data = load("natural-sprites:size=32,channels=1")
    # Every frame has all 160 looks, so that 160 frames with all looks and all frames with one look hold all values.
    frames = data.factors(np.arange(0, len(data), 160))
    looks = data.factors(np.arange(160))
    low, high = zip(*data.factor_ranges, strict=True)
    assert low == (*frames[:, :3].min(0), *looks[:, 3:].min(0))
    assert high == (*frames[:, :3].max(0), *looks[:, 3:].max(0))
