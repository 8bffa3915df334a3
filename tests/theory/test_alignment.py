"""Alignment with principal components, against scikit-learn and constructed decoders."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from unbraid.errors import UsageError
from unbraid.theory import pca_alignment, principal_components, random_rotation


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((500, 3)) * [3, 2, 1] @ random_rotation(6, 1)[:3] + 0.5


@pytest.mark.parametrize("rows", [500, 5])
def test_components_are_those_of_scikit_learn(points, rows):
    ours, theirs = principal_components(points[:rows], 3), PCA(3).fit(points[:rows])
    assert np.allclose(ours.variances, theirs.explained_variance_)
    assert np.allclose(np.abs(np.sum(ours.directions * theirs.components_.T, axis=0)), 1)
    assert np.allclose(ours.mean, theirs.mean_)


def test_principal_directions_in_any_order_sign_and_length_are_aligned(points):
    directions = principal_components(points, 3).directions
    order, signs = [2, 0, 1], np.array([-4.0, 0.1, 1.0])
    columns = directions[:, order] * signs
    found = pca_alignment(
        columns, points, codes=(points @ directions)[:, order] * signs, posterior_variances=[0.9, 0.1, 0.4]
    )
    assert found.matched.tolist() == order
    assert np.allclose(found.cosines, 1)
    assert np.allclose(found.angles, 0, atol=1e-5)
    assert np.allclose(found.correlations, 1)
    assert found.order == pytest.approx(1)


def test_the_same_subspace_with_other_axes_is_told_apart(points):
    # An autoencoder's case: turned by 30 degrees inside the plane, cosines are cos 30, subspace angles 0.
    directions = principal_components(points, 2).directions
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    found = pca_alignment(directions @ [[c, -s], [s, c]], points)
    assert np.allclose(found.cosines, c)
    assert np.allclose(found.angles, 0, atol=1e-5)


def test_another_subspace_has_an_angle(points):
    three = principal_components(points, 3).directions
    tilted = three[:, :2].copy()
    tilted[:, 1] = np.cos(0.2) * three[:, 1] + np.sin(0.2) * three[:, 2]
    assert pca_alignment(tilted, points).angles.max() == pytest.approx(np.degrees(0.2), abs=1e-4)


def test_the_order_is_reversed_when_precision_is(points):
    directions = principal_components(points, 3).directions
    assert pca_alignment(directions, points, posterior_variances=[0.9, 0.5, 0.1]).order == pytest.approx(-1)


def test_a_zero_column_is_refused(points):
    with pytest.raises(UsageError, match="column 1 is zero"):
        pca_alignment(np.eye(6)[:, :2] * [1, 0], points)
