"""Theory that runs: the impossibility of unsupervised disentanglement as a bijection one can apply to anything."""

from unbraid.theory.bijection import Bijection, bijection
from unbraid.theory.entangle import EntangledRun, entangle
from unbraid.theory.impossibility import Check, DependenceWarning, binned_sources, check, sample_marginals
from unbraid.theory.marginals import Cdf, Empirical, Marginal, Normal, Uniform, empirical, marginals_of
from unbraid.theory.orthogonal import check_mixing, hadamard, householder, mixing_matrix, random_rotation

__all__ = [
    "Bijection",
    "Cdf",
    "Check",
    "DependenceWarning",
    "Empirical",
    "EntangledRun",
    "Marginal",
    "Normal",
    "Uniform",
    "bijection",
    "binned_sources",
    "check",
    "check_mixing",
    "empirical",
    "entangle",
    "hadamard",
    "householder",
    "marginals_of",
    "mixing_matrix",
    "random_rotation",
    "sample_marginals",
]
