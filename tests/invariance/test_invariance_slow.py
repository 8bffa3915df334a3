"""The published settings at reduced size: spheres, and the toy on which independence cross-entropy shows."""

import math

import numpy as np
import pytest
import torch
from sphere_toys import points, trained

import unbraid
from unbraid.invariance import (
    as_bijective,
    decision_plane,
    is_invariance_adversarial,
    metamer_report,
    metamers,
    on_sphere_metamer,
    outputs_of,
    redundant_gaussians,
    redundant_oracle,
    sphere_oracle,
    train_nuisance,
)
from unbraid.objectives import ICE, FiRevNetObjective

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


def toy(n, seed):
    data = redundant_gaussians(n, seed=seed)
    return torch.tensor(data.images(np.arange(n))), torch.tensor(data.labels())


def test_independence_cross_entropy_makes_metamers_keep_their_class(tmp_path):
    # 0.1 nats summed over the nuisances are 0.1 d ln 2 bits per dimension, d = 6.
    net = "fc:width=32,zero=true"
    objectives = {
        "ce": FiRevNetObjective(net=net, optimizer="adam"),
        "ice": ICE(net=net, optimizer="adam", w_mle=0.1 * 6 * math.log(2), nuisance_width=64),
    }
    data = redundant_gaussians(200_000, seed=0)
    (train_x, train_y), (x, labels) = toy(20_000, 100), toy(10_000, 200)
    found = {}
    for name, objective in objectives.items():
        run = unbraid.train(
            objective, data, out=tmp_path / name, steps=3000, batch_size=256, progress="none", precision="fp32"
        )
        flow = as_bijective(run)
        accuracy = (flow.split(outputs_of(flow, x))[0].argmax(1) == labels).double().mean()
        left = train_nuisance(run, train_x, train_y, x, labels, width=64, depth=2, steps=3000, batch_size=256)
        agreement = metamer_report(metamers(run, x, labels=labels), x, redundant_oracle).agreement
        found[name] = (float(accuracy), 1 - left.test_error, agreement)
    assert found["ce"][1] >= 0.95
    assert found["ice"][0] >= 0.98
    assert found["ice"][1] <= 0.75
    assert found["ice"][2] >= 0.97
    assert found["ice"][2] > found["ce"][2]
