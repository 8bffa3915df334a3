"""The published settings at reduced size: spheres, and the toy on which independence cross-entropy shows."""

import pytest
from sphere_toys import points, trained

from unbraid.invariance import (
    decision_plane,
    is_invariance_adversarial,
    metamers,
    on_sphere_metamer,
    sphere_oracle,
    toy_experiment,
    train_nuisance,
)

pytestmark = pytest.mark.slow


def test_spheres_at_the_published_setting():
    net = trained(steps=470, rate=1e-4, width=128, d=100)
    (x, labels), (train_x, train_y) = points(4000, seed=1, d=100), points(20_000, d=100)
    assert (net.logits(x).argmax(1) == labels).double().mean() >= 0.999
    assert net.check(x).inverse_error < 1e-4
    left = train_nuisance(net, train_x, train_y, x, labels, width=1000, depth=3, steps=300)
    assert left.test_error <= 0.01
    assert metamers(net, x, labels=labels).residual.max() < 1e-4
    inner, outer = x[labels == 0][:500], x[labels == 1][:500]
    found = on_sphere_metamer(net, inner, outer, 10.0)
    assert found.found.double().mean() >= 0.99
    assert found.error[found.found].max() < 1e-3
    assert is_invariance_adversarial(net.logits, sphere_oracle(), inner, found.x)[found.found].all()
    random = decision_plane(net, inner[0], outer[1], size=3).stats["semantic"]
    assert random.outer_called_inner <= 0.02
    for row in range(3):
        stats = decision_plane(net, inner[row], found.x[row], size=3, nuisance=left).stats
        assert stats["semantic"].outer_called_inner >= 0.1
        assert stats["nuisance"].outer_called_inner <= 0.05


def test_independence_cross_entropy_makes_metamers_keep_their_class(tmp_path):
    found = {one.way: one for one in toy_experiment(tmp_path, seeds=1, progress="none")}
    assert found["CE"].nuisance_accuracy >= 0.95
    assert found["iCE"].logit_accuracy >= 0.98
    assert found["iCE"].nuisance_accuracy <= 0.75
    assert found["iCE"].metamer_agreement >= 0.97
    assert found["iCE"].metamer_agreement > found["CE"].metamer_agreement
    # Without the likelihood the nuisances know as little, and metamers do not keep their class.
    assert found["iCE without likelihood"].metamer_agreement < found["iCE"].metamer_agreement
