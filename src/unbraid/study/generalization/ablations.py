"""Ablations of Schott et al. (2022, appendix) as benchmarks: do other trainings help?

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

AUGMENTATION = """\
# Augmentations that leave places where they are; published: the mean stays, seeds differ less on some data. 100 runs.
name = "ablation-augmentation"
data = ["dsprites-90", "rooms3d", "arm3d", "celeb-flow"]
splits = ["extrapolation"]
seeds = 5
steps = 1500

[[objectives.regressor]]
net = "cnn"
learning_rate = 1e-3
[[objectives.regressor]]
net = "cnn"
learning_rate = 1e-3
augment = ["random-erasing"]
[[objectives.regressor]]
net = "cnn"
learning_rate = 1e-3
augment = ["gaussian-noise:sigma=0.1"]
[[objectives.regressor]]
net = "cnn"
learning_rate = 1e-3
augment = ["shear:degrees=5"]
[[objectives.regressor]]
net = "cnn"
learning_rate = 1e-3
augment = ["blur"]

[measures.generalization]
"""

ABLATIONS: dict[str, str] = {"ablation-training": TRAINING, "ablation-augmentation": AUGMENTATION}
"""Benchmark files by name."""
