"""A change of the data by a formula turns the axes of a linear VAE, and leaves an autoencoder as it is: minutes."""

import numpy as np
import pytest

from unbraid.data import FactorSpace, SyntheticLinear
from unbraid.metrics import mig
from unbraid.objectives import AE, LinearVAE
from unbraid.theory import fit

pytestmark = pytest.mark.slow


class Vectors(SyntheticLinear):
    """Two factors along orthogonal directions of lengths 1.2 and 1 in 50 dimensions, and a change of at most 0.1."""

    space = FactorSpace(("first", "second"), (64, 64), ("ordinal", "ordinal"))

    def __init__(self, change, seed=0):
        rng = np.random.default_rng(seed)
        signs = rng.choice([-1.0, 1.0], size=50)
        basis = np.linalg.qr(np.column_stack([signs, rng.standard_normal((50, 2))]))[0][:, 1:]
        factors = self.space.factors(np.arange(len(self.space))) / 63 - 0.5
        vectors = factors @ (basis * [1.2, 1.0]).T
        moved = {
            "original": 0,
            "manipulated": 0.1 * factors.sum(axis=1, keepdims=True) * signs,
            "noise": rng.uniform(-0.1, 0.1, size=vectors.shape),
        }[change]
        self.largest, self.mean = np.abs(moved).max(), np.abs(moved).mean()
        self._hold(vectors + moved)


def judged(found):
    """MIG with 20 bins of each factor, and the direction of the most precise latent among the factors in degrees."""
    bins = 20 * found.factors // 64
    latent = found.codes[:, 0 if found.seen is None else found.seen.order[0]]
    weights = np.linalg.lstsq(found.factors - found.factors.mean(axis=0), latent - latent.mean(), rcond=None)[0]
    angle = np.degrees(np.arctan2(weights[1], weights[0]))
    return float(mig(found.codes, bins)), (angle + 90) % 180 - 90


def test_a_formula_turns_the_axes_of_a_linear_vae_and_noise_does_not():
    scores = {}
    for change in ("original", "manipulated", "noise"):
        data = Vectors(change)
        objective = LinearVAE(beta=0.03 * data.scale**2, learning_rate=3e-2)
        runs = [fit(objective, data, steps=9000, polish=3000, batch_size=512, seed=seed) for seed in range(3)]
        assert all(found.orthogonality.mean < 0.1 for found in runs)  # orthogonal all the same
        scores[change] = np.array([judged(found) for found in runs])
        if change == "manipulated":
            assert data.largest <= 0.1
            assert data.mean <= 0.04
    assert scores["original"][:, 0].min() >= 0.75
    assert scores["manipulated"][:, 0].max() <= 0.25
    assert scores["noise"][:, 0].min() >= 0.4
    # The added variance 0.1^2 * 50 = 0.5 along (1, 1) against 1.44 and 1: half of atan2(1, 0.44) = 33.1 degrees.
    assert np.abs(scores["manipulated"][:, 1] - 33.1).max() < 2
    assert np.abs(scores["original"][:, 1]).max() < 3
    assert np.abs(scores["noise"][:, 1]).max() < 3


def test_an_autoencoder_does_not_care():
    scores = {}
    for change in ("original", "manipulated"):
        objective = AE(net="linear", latents=2, likelihood="gaussian", learning_rate=1e-2)
        runs = [fit(objective, Vectors(change), steps=4500, polish=1500, seed=seed) for seed in range(6)]
        scores[change] = np.array([judged(found)[0] for found in runs])
    original, manipulated = scores["original"], scores["manipulated"]
    assert abs(original.mean() - manipulated.mean()) < max(original.std(), manipulated.std())
    assert max(original.mean(), manipulated.mean()) < 0.5
