"""Cutting encodings at their jumps, against sets whose plateaus are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.errors import UsageError
from unbraid.selection.reduction import CannotReduce, cut_latent, reduce_dataset


def plateaus(count, size, spacing, noise, seed=0):
    """Which plateau each image lies on, and its encoding."""
    level = np.random.default_rng(seed).permutation(np.repeat(np.arange(count), size))
    return level, spacing * level + noise * np.random.default_rng(seed + 1).standard_normal(len(level))


@pytest.mark.parametrize(
    ("count", "size", "spacing", "noise", "peaks"),
    # The outer fifteenths are not looked at: of 31 jumps between 32 plateaus 2 + 2 lie there.
    [(32, 300, 0.11, 0.01, 27), (6, 1000, 0.68, 0.1, 5), (3, 2000, 1.7, 0.2, 2)],
)
def test_a_latent_is_cut_at_the_jumps_between_plateaus(count, size, spacing, noise, peaks):
    level, values = plateaus(count, size, spacing, noise, seed=2)
    found = reduce_dataset(values[:, None])
    assert len(found.peaks[0]) == peaks
    most = np.bincount(level[found.indices]).max()
    assert len(found.indices) == pytest.approx(size, abs=2)
    # Noise of 0.1 reaches half-way to the neighbour, 3.4 deviations away, once in 1,500 images.
    assert most >= len(found.indices) - (2 if spacing / noise < 8 else 0)


def test_the_published_slicing_takes_one_image_of_the_neighbour():
    level, values = plateaus(32, 300, 0.11, 0.01)
    found = reduce_dataset(values[:, None], compat=True)
    assert len(found.indices) == 300
    assert sorted(np.unique(level[found.indices], return_counts=True)[1]) == [1, 299]


def two_latents():
    grid = np.indices((16, 16, 12)).reshape(3, -1).T
    noise = 0.01 * np.random.default_rng(0).standard_normal((len(grid), 2))
    return grid, 0.2 * grid[:, :2] + noise


def test_two_latents_leave_the_images_that_share_both_plateaus():
    grid, values = two_latents()
    seen = set()
    for rank in (0, 1, 2):
        found = reduce_dataset(values, rank=rank)
        # A plateau holds 16 * 12 = 192 images, 5 x 5 pairs of plateaus meet in 12 images each.
        assert all(len(interval) == 192 for cut in found.cuts for interval in cut.intervals[:5])
        assert found.sizes.tolist() == [12] * 25
        x, y, rest = grid[found.indices].T
        assert len(set(x)) == len(set(y)) == 1
        assert sorted(rest) == list(range(12))
        seen.add((x[0], y[0]))
    assert len(seen) == 3


def test_every_way_to_combine_plateaus_is_found_by_intersecting_index_sets():
    _, values = two_latents()
    values = values + 0.3 * np.random.default_rng(5).standard_normal(values.shape)
    found = reduce_dataset(values, smallest=1)
    sets = [[set(cut.order[i.start : i.stop]) for i in cut.intervals[:5]] for cut in found.cuts]
    common = [len(a & b) for a in sets[0] for b in sets[1]]
    assert sorted(found.sizes) == sorted(size for size in common if size)


def test_sizes_are_ranked_by_their_distance_from_the_median_or_by_size():
    # Cells of 2 x 2 plateaus with 100, 200, 300, 400 images: the median is 250.
    cell = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [100, 200, 300, 400], axis=0)
    values = cell + 1e-4 * np.linspace(0, 1, 1000)[:, None]
    assert reduce_dataset(values).sizes.tolist() == [200, 300, 100, 400]
    assert reduce_dataset(values, prefer="largest").sizes.tolist() == [400, 300, 200, 100]


def test_one_peak_cuts_a_latent_in_halves_the_flatter_first():
    values = np.concatenate([np.linspace(0, 0.5, 500), np.linspace(2, 2.1, 500)])[:, None]
    assert reduce_dataset(values).indices.tolist() == list(range(500, 1000))
    assert reduce_dataset(values, rank=1).indices.tolist() == list(range(500))
    with pytest.raises(CannotReduce, match="rank 2"):
        reduce_dataset(values, rank=2)


def test_outer_intervals_count_only_with_few_peaks_and_other_latents():
    _, four = plateaus(4, 300, 1.0, 0.01)
    _, six = plateaus(6, 300, 1.0, 0.01)
    assert len(cut_latent(four).intervals) == 2
    assert len(cut_latent(four, several=True).intervals) == 4
    assert len(cut_latent(six, several=True).intervals) == 4  # 5 peaks: only what lies between them


def test_quality_is_the_lower_wall_over_the_mean_derivative_inside():
    level = np.repeat(np.arange(4), 100)
    values = np.array([0.0, 1.0, 1.5, 3.0])[level] + np.tile(np.linspace(0, 0.1, 100), 4)
    found = {interval.start: interval for interval in cut_latent(values).intervals}
    # Inside, 99 steps of 0.1 / 99. Walls: 1 - 0.1, 0.5 - 0.1, 1.5 - 0.1.
    assert found[100].quality == pytest.approx(0.4 / (0.1 / 99))
    assert found[200].quality == pytest.approx(0.4 / (0.1 / 99))
    wrong = {interval.start: interval for interval in cut_latent(values, compat=True).intervals}
    assert wrong[99].quality == pytest.approx(0.4 / ((0.9 + 0.1) / 100))


def test_trimming_takes_the_same_share_off_both_ends():
    values = np.repeat([0.0, 1.0, 2.0, 3.0], 100)[:, None] + 0.01 * np.tile(np.arange(100), 4)[:, None] / 100
    assert reduce_dataset(values, trim=0.1).indices.tolist() == list(range(110, 190))


def test_encodings_without_jumps_or_with_too_few_common_images_stop_the_reduction():
    with pytest.raises(CannotReduce, match="no peak"):
        reduce_dataset(np.zeros((100, 1)))
    with pytest.raises(CannotReduce, match="no peak"):
        reduce_dataset(np.zeros((1, 2)))
    _, values = two_latents()
    with pytest.raises(CannotReduce, match="no combination"):
        reduce_dataset(values, smallest=13)
    with pytest.raises(CannotReduce, match="rank 25"):
        reduce_dataset(values, rank=25)
    with pytest.raises(UsageError, match="NaN"):
        reduce_dataset([[np.nan]])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 400), latents=st.integers(1, 3), compat=st.booleans())
def test_a_reduction_is_a_subset_or_a_documented_stop(seed, n, latents, compat):
    rng = np.random.default_rng(seed)
    values = rng.integers(4, size=(n, latents)) + rng.uniform(0, 0.3, (n, latents))
    try:
        found = reduce_dataset(values, rank=seed % 3, compat=compat).indices
    except CannotReduce:
        return
    assert len(found) > 0
    assert found.min() >= 0
    assert found.max() < n
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("change", [lambda v: -v, lambda v: v + 7.5, lambda v: 13 * v, lambda v: v * [1, -2]])
def test_sign_shift_and_positive_scale_of_a_latent_do_not_matter(change):
    rng = np.random.default_rng(3)
    values = np.stack([plateaus(8, 400, 1.0, 0.05, seed)[1] for seed in (0, 10)], axis=1)
    values += 0.01 * rng.standard_normal(values.shape)
    for rank in (0, 1, 2):
        same = reduce_dataset(values, rank=rank), reduce_dataset(change(values), rank=rank)
        assert same[0].indices.tolist() == same[1].indices.tolist()


def test_pure_noise_has_peaks_too():
    # Why "no peaks" is no dependable sign that nothing is left: the floor of the UDR has to stop a leaf-run.
    noise = np.random.default_rng(0).standard_normal(10_000)
    assert len(cut_latent(noise).peaks) > 0
