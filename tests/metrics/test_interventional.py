"""BetaVAE and FactorVAE scores."""

import numpy as np
import pytest
from metric_toys import FactorPixels, identity

from unbraid.errors import UsageError
from unbraid.metrics import beta_vae, factor_vae
from unbraid.metrics._interventions import draw_groups, draw_pairs

SIZES = (3, 6, 10, 8, 4)
SMALL = {"train": 2_000, "test": 1_000}


@pytest.fixture(scope="module")
def data() -> FactorPixels:
    return FactorPixels(SIZES)


def without_first(images: np.ndarray) -> np.ndarray:
    codes = identity(images)
    codes[:, 0] = 0
    return codes


def test_pairs_agree_in_the_shared_factor_only(data):
    pairs = draw_pairs(data.space, 300, 16, np.random.default_rng(0))
    same = (data.space.factors(pairs.index[..., 0].ravel()) == data.space.factors(pairs.index[..., 1].ravel())).reshape(
        300, 16, 5
    )
    assert same[np.arange(300), :, pairs.shared].all()
    for k, size in enumerate(SIZES):
        others = same[pairs.shared != k][..., k]
        assert others.mean() == pytest.approx(1 / size, abs=0.02)
    assert set(pairs.shared) == set(range(5))


def test_groups_agree_in_the_shared_factor_only(data):
    groups = draw_groups(data.space, 300, 16, 10, np.random.default_rng(0))
    factors = data.space.factors(groups.index.ravel()).reshape(300, 16, 5)
    still = (factors == factors[:, :1]).all(axis=1)
    np.testing.assert_array_equal(still.argmax(axis=1), groups.shared)
    assert still.sum() <= 300 + 3  # three values agree sixteen times once in 3^15
    values = factors[groups.shared == 2][:, 0, 2]
    assert len(set(values)) == 10


def test_factor_vae_of_the_identity_code_is_one(data):
    score = factor_vae(identity, data, **SMALL)
    assert float(score) == 1
    assert score.ceiling == 1
    np.testing.assert_array_equal(score.parts["factor_of_code"], range(5))


def test_factor_vae_loses_an_omitted_factor(data):
    # Four of five factors are told; the fifth is a guess that cannot beat its own vote: about 0.8.
    score = factor_vae(without_first, data, **SMALL)
    assert float(score) == pytest.approx(0.80, abs=0.03)
    assert score.parts["active"].sum() == 4


def test_factor_vae_of_constant_codes_is_zero(data):
    assert float(factor_vae(lambda images: np.ones((len(images), 3)), data, train=50, test=50)) == 0


def test_factor_vae_is_lenient_with_rotations(data):
    # Six random rotations of standardised factors: 0.84 on average, though no code is a factor any more.
    spread = np.sqrt((np.array(SIZES) ** 2 - 1) / 12)
    turns = [np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0] for seed in range(6)]
    scores = [
        float(factor_vae(lambda images, turn=turn: images.reshape(-1, 5) / spread @ turn, data, train=600, test=300))
        for turn in turns
    ]
    assert np.mean(scores) == pytest.approx(0.85, abs=0.06)


def test_factor_vae_drops_small_codes_unless_the_threshold_is_relative(data):
    tiny = lambda images: 1e-3 * identity(images)  # noqa: E731
    assert float(factor_vae(tiny, data, train=200, test=100)) == 0
    assert float(factor_vae(tiny, data, train=200, test=100, relative=True)) == 1


def test_beta_vae_of_the_identity_code_is_one(data):
    score = beta_vae(identity, data, **SMALL)
    assert float(score) > 0.99
    assert score.ceiling > 0.99


def test_beta_vae_hardly_notices_an_omitted_factor(data):
    # Its known weakness: when no code is still, the omitted factor must be the shared one.
    assert float(beta_vae(without_first, data, **SMALL)) >= 0.95


def test_beta_vae_of_constant_codes_is_chance(data):
    score = beta_vae(lambda images: np.ones((len(images), 3)), data, **SMALL)
    assert float(score) == pytest.approx(1 / 5, abs=0.05)


def test_beta_vae_depends_on_scale_unless_rescaled(data):
    tiny = lambda images: 1e-4 * identity(images)  # noqa: E731
    small = {"train": 300, "test": 200}
    assert float(beta_vae(tiny, data, **small)) < 0.9
    assert float(beta_vae(tiny, data, **small, rescale=True)) > 0.99


def test_scores_repeat_by_seed():
    noisy = FactorPixels(SIZES, noisy=True)
    for score in (beta_vae, factor_vae):
        first, again, other = (float(score(identity, noisy, train=60, test=40, batch=4, seed=s)) for s in (1, 1, 2))
        assert first == again
        assert first != other


def test_bad_encoders_and_data_are_named(data):
    with pytest.raises(UsageError, match=r"encode must return \[\d+, d\]"):
        beta_vae(lambda images: images, data, train=4, test=4, batch=2)
    with pytest.raises(UsageError, match="NaN"):
        factor_vae(lambda images: np.full((len(images), 2), np.nan), data, train=4, test=4, batch=2)
    with pytest.raises(UsageError, match=r"factor 'f1' has a single value.*data.subset\(f1=0\)"):
        beta_vae(identity, FactorPixels((3, 1)))
    with pytest.raises(UsageError, match="at least"):
        factor_vae(identity, data, batch=1)
    with pytest.raises(UsageError, match="function from images"):
        beta_vae(None, data)
    with pytest.raises(UsageError, match="open_run"):
        beta_vae("runs/first", data)
