"""The ablation of Schott et al. (2022, appendix) as a benchmark: does longer, deeper or more regular training help?

Those on other data are in the other benchmarks: dSprites with a quarter of its orientations, MPI3D rendered and real.
"""

__all__ = ["ABLATIONS"]

TRAINING = """\
# Three lengths, five weight decays, six or nine layers; published: none beats the usual ones. 90 runs.
name = "ablation-training"
data = ["arm3d"]
splits = ["extrapolation"]
seeds = 3
steps = [750, 1500, 3000]

[[objectives.regressor]]
net = ["cnn", "cnn:depth=9"]
learning_rate = 1e-3
weight_decay = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]

[measures.generalization]
"""

ABLATIONS: dict[str, str] = {"ablation-training": TRAINING}
"""Benchmark files by name."""
