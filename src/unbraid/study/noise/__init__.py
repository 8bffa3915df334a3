"""Studies of noise training: their tables beside the published ones, and the published conclusions judged."""

from unbraid.study.noise.findings import Finding, judge_noise
from unbraid.study.noise.page import noise_sections
from unbraid.study.noise.tables import Trained, beside_published, measures_noise
from unbraid.study.noise.views import plot_changes, plot_distances, plot_sigmas

__all__ = [
    "Finding",
    "Trained",
    "beside_published",
    "judge_noise",
    "measures_noise",
    "noise_sections",
    "plot_changes",
    "plot_distances",
    "plot_sigmas",
]
