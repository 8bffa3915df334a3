"""Sources seen through a random network: what cannot be asked for."""

import pytest

from unbraid.data import load
from unbraid.errors import UsageError


@pytest.mark.parametrize("name", ["mixed-pairs:pairs=10,layers=1", "mixed-segments:points=10,layers=1"])
def test_seeds_and_draws_below_zero_are_refused(name):
    for option in ("seed", "draw"):
        with pytest.raises(UsageError, match=f"{option} must be at least 0, got -1"):
            load(f"{name},{option}=-1")


@pytest.mark.parametrize("scale", ["0", "-1", "10.5", "1e6", "inf", "nan"])
def test_scales_that_leave_the_cube_nearly_always_are_refused(scale):
    with pytest.raises(UsageError, match="scale must lie above 0 and be at most 10"):
        load("mixed-pairs:pairs=10,layers=1", scale=float(scale))


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_the_widest_scale_still_gives_points_inside_the_cube(law):
    data = load("mixed-pairs:pairs=200,layers=1,scale=10", law=law)
    sources = data.factors(range(len(data)))
    assert sources.min() >= 0
    assert sources.max() <= 1
