"""Factors that go together in training: are they braided, and do a few labels mend it?"""

from __future__ import annotations

__all__ = ["CORRELATED_PRESETS"]

CORRELATED = """\
# Ten to twenty minutes of one core: rooms whose floor and wall have hues that go together (Träuble et al., 2021), and
# rooms in which they do not, the same models on both.
name = "correlated"
data = ["rooms3d-32", "rooms3d-32:correlate=s1"]    # sigma 0.1: a correlation of 0.95
seeds = 5
steps = 6000
net = "light"

[objectives.beta-vae]
beta = [4]

[options]
learning_rate = 1e-3
reference_size = 64            # the reconstruction weighs as at 64x64

[measures.correlated-pair]
pair = "floor_hue+wall_hue"    # asked of both
[measures.disentanglement]
metrics = ["mig", "dci"]
representations = ["mean"]
"""

CORRELATED_PRESETS = {"correlated": CORRELATED}
"""Study files by name."""
