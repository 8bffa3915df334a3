"""Factors that go together, as a law on any grid."""

import numpy as np
import pytest

from unbraid.data import (
    Correlated,
    FewLabelsStream,
    IdentityFactors,
    PairStream,
    correlated,
    counter_rng,
    load,
    named_pairs,
)
from unbraid.errors import UsageError


def grid(*sizes: int) -> IdentityFactors:
    return IdentityFactors(sizes)


def names(data) -> tuple[str, ...]:
    return data.space.names


def pair(sizes, sigma, **options):
    data = grid(*sizes)
    return Correlated(data, [names(data)[:2]], sigma=sigma, **options)


def test_three_by_three_in_closed_form():
    # Cells: 3 of distance 0, 4 of 1/2, 2 of 1; exp(-d^2 / (2 * .25)) = 1, e^-.5, e^-2.
    data = pair((3, 3, 4), 0.5)
    law = data.pair_law(*names(data)[:2])
    total = 3 + 4 * np.exp(-0.5) + 2 * np.exp(-2)
    assert total == pytest.approx(5.696793, abs=1e-6)
    assert law.table[0, 0] == pytest.approx(1 / total)
    np.testing.assert_allclose(law.marginals[0], [0.305763, 0.388475, 0.305763], atol=1e-6)
    assert law.correlation == pytest.approx(0.496401, abs=1e-6)
    np.testing.assert_allclose(data.marginal(names(data)[2]), 1 / 4)


@pytest.mark.parametrize(
    ("sizes", "sigma", "correlation", "information", "first"),
    [
        ((10, 10), 0.1, 0.9507, 1.0841, 0.771),
        ((10, 10), 0.2, 0.8100, 0.5036, 0.710),
        ((10, 10), 0.4, 0.4575, 0.1150, 0.771),
        ((3, 6), 0.1, 0.9777, 1.0737, 0.972),
        ((3, 6), 0.4, 0.5672, 0.1865, 0.868),
        ((32, 32), 0.04, 0.9908, 1.8699, 0.681),
        ((32, 32), 0.1, 0.9419, 1.0163, 0.611),
        ((32, 32), 0.4, 0.4158, 0.0933, 0.738),
    ],
)
def test_correlation_information_and_marginal_of_the_published_settings(sizes, sigma, correlation, information, first):
    data = pair(sizes, sigma)
    law = data.pair_law(*names(data)[:2])
    assert law.correlation == pytest.approx(correlation, abs=6e-5)
    assert law.information == pytest.approx(information, abs=6e-5)
    assert law.marginals[0][0] * sizes[0] == pytest.approx(first, abs=6e-4)


def test_draws_follow_the_law_and_the_rest_is_uniform():
    from scipy.stats import chi2

    data = pair((4, 5, 3), 0.3)
    n = 100_000
    factors = data.factors(data.sample_index(n, np.random.default_rng(0)))
    counts = np.zeros((4, 5, 3))
    np.add.at(counts, tuple(factors.T), 1)
    expected = n * data.pair_law(*names(data)[:2]).table[..., None] / 3
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(0.999, counts.size - 1)


def test_an_infinite_sigma_is_no_correlation_and_inverse_turns_the_sign():
    data = pair((4, 6), float("inf"))
    np.testing.assert_allclose(data.pair_law(*names(data)).table, 1 / 24)
    up, down = (pair((5, 5), 0.2, inverse=inverse) for inverse in (False, True))
    assert down.pair_law(*names(down)).correlation == pytest.approx(-up.pair_law(*names(up)).correlation)


def test_factors_that_hang_together_by_others_are_drawn_together():
    data = grid(3, 3, 3, 2)
    a, b, c, d = names(data)
    chain = Correlated(data, [(a, b), (b, c)], sigma=0.3)
    drawn = chain.factors(chain.sample_index(50_000, np.random.default_rng(0)))
    table = np.zeros((3, 3))
    np.add.at(table, (drawn[:, 0], drawn[:, 2]), 1 / 50_000)
    np.testing.assert_allclose(table, chain.pair_law(a, c).table, atol=0.01)
    assert chain.pair_law(c, a).table == pytest.approx(chain.pair_law(a, c).table.T)
    assert chain.pair_law(a, d).correlation == pytest.approx(0)


def test_partners_have_the_law_given_what_they_share():
    # One of two factors is redrawn uniformly (it may come out as it was or not): given the other, its law is p.
    data = pair((4, 4), 0.3)
    stream = PairStream(data, 4000, 0, protocol="uni", changes=1)
    batch = stream(0)
    assert batch.changed is not None
    assert (batch.changed.sum(axis=1) == 1).all()
    second = np.where(batch.changed, -1, batch.factors)
    assert (second >= 0).sum() == 4000
    partners = batch.partners.reshape(4000, -1)
    np.testing.assert_array_equal((partners != batch.images.reshape(4000, -1)), batch.changed)
    law = data.pair_law(*names(data)).table
    # Among pairs that change the second factor and begin at the cell (0, 0): p(. | first = 0) without value 0.
    rows = batch.changed[:, 1] & (batch.factors == 0).all(axis=1)
    found = np.bincount(partners[rows, 1].astype(int), minlength=4) / rows.sum()
    expected = np.where(np.arange(4) == 0, 0, law[0]) / law[0, 1:].sum()
    np.testing.assert_allclose(found, expected, atol=0.06)


def test_published_names_and_a_confounder():
    data = load("mini-sprites")
    one = load("mini-sprites:correlate=x+y,sigma=0.4")
    assert one.pairs == (("x", "y"),)
    assert one.space == data.space
    assert (one.images([5]) == data.images([5])).all()
    assert one.recipe.options["correlate"] == "x+y"
    sprites = load("sprites16:correlate=d1")
    assert sprites.pairs == (("shape", "x"), ("scale", "y"))
    confounder = correlated(load("sprites16", orientation=0), "shape+*")
    assert (len(confounder.pairs), confounder.sigma) == (3, 0.2)
    assert "s3" in named_pairs(load("sprites16").space)
    assert "correlation" in one.card.traps[0]


def test_small_sigma_is_a_split_rather_than_a_correlation():
    # 10 x 10, sigma .1: 42 % of the cells hold less than a thousandth of their even share.
    data = pair((10, 10), 0.1)
    law = data.pair_law(*names(data)).table
    assert (law < 0.001 / 100).mean() == pytest.approx(0.42, abs=0.005)
    # 3 x 6, .04: the middle of three lies between the two nearest of six, and keeps an eighth of its share.
    shapes = pair((3, 6), 0.04)
    assert 3 * shapes.marginal(names(shapes)[0])[1] == pytest.approx(0.126, abs=5e-4)


def test_what_cannot_be_is_refused():
    data = load("mini-sprites")
    with pytest.raises(UsageError, match="did you mean 'x'"):
        Correlated(data, [("xx", "y")])
    with pytest.raises(UsageError, match="sigma must be above 0"):
        Correlated(data, [("x", "y")], sigma=0)
    with pytest.raises(UsageError, match="with itself"):
        Correlated(data, [("x", "x")])
    with pytest.raises(UsageError, match="correlate"):
        load("mini-sprites:correlate=nonsense")
    with pytest.raises(UsageError, match="whole grid"):
        load("mini-sprites:correlate=x+y,part=::2")
    with pytest.raises(UsageError, match="cannot be fixed as well"):
        load("mini-sprites:correlate=x+y,x=0")
    with pytest.raises(UsageError, match="full grid"):
        correlated(load("digits8"), "x+y")
    smaller = load("mini-sprites:correlate=x+y,shape=0")
    assert smaller.pair_law("x", "y").correlation > 0.5
    assert not smaller.uniform


def test_batches_are_a_function_of_seed_and_step():
    data = load("mini-sprites:correlate=x+y")
    draws = [data.sample_index(8, counter_rng(0, 3)).tolist() for _ in range(2)]
    assert draws[0] == draws[1]


def test_labelled_images_go_together_as_all_others_do():
    data = pair((10, 10, 3), 0.1)
    stream = FewLabelsStream(data, 8, 0, labels=290)
    factors = data.factors(stream.labelled)
    # The closed form says .95; of 290 draws the standard error is (1 - r^2) / sqrt(n), .006.
    assert np.corrcoef(factors[:, 0], factors[:, 1])[0, 1] == pytest.approx(0.9507, abs=0.03)
    assert len(FewLabelsStream(grid(10, 10, 3), 8, 0, labels=290).labelled) == 290
