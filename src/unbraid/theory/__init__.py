"""Theory that runs: why VAEs align with principal directions, and why nothing has to align without a bias."""

from unbraid.theory.alignment import Alignment, PrincipalComponents, pca_alignment, principal_components
from unbraid.theory.beta_range import BetaRange, BetaStage, beta_range, linear_betas
from unbraid.theory.bijection import Bijection, bijection
from unbraid.theory.compositional import compositional_contrast
from unbraid.theory.entangle import EntangledRun, entangle
from unbraid.theory.fitted import Fitted, fit
from unbraid.theory.identifiability import Found, fit_toy, matched_correlation
from unbraid.theory.image_experiments import IMAGES, agreement, agreement_trials, image_trials, judge
from unbraid.theory.impossibility import Check, DependenceWarning, binned_sources, check, sample_marginals
from unbraid.theory.inspection import Inspection, inspect_run, self_consistency
from unbraid.theory.jacobian import decoder_jacobian, decoder_of
from unbraid.theory.linear_model import LinearModel, LinearOptimum, linear_vae_optimum
from unbraid.theory.loss_split import LossSplit, split_reconstruction
from unbraid.theory.manipulation import (
    Alignments,
    noise_advantage,
    pick_alignments,
    save_manipulation,
    train_restarts,
)
from unbraid.theory.manipulation_experiments import MANIPULATED, manipulation_trials, strength_trials
from unbraid.theory.manipulation_verdicts import ManipulationClaim, judge_manipulation
from unbraid.theory.marginals import Cdf, Empirical, Marginal, Normal, Uniform, empirical, marginals_of
from unbraid.theory.mechanisms import linear_elbo_gap, mechanism_contrast
from unbraid.theory.orthogonal import check_mixing, hadamard, householder, mixing_matrix, random_rotation
from unbraid.theory.orthogonality import (
    Orthogonality,
    distance_to_orthogonality,
    largest_distance,
    nearest_signed_permutation,
    random_distance,
)
from unbraid.theory.pca_experiments import pca_trials
from unbraid.theory.perturbation import (
    Codec,
    Manipulation,
    PerturbationNet,
    codec_of,
    noise_directions,
    train_perturbation,
)
from unbraid.theory.polar import Layout, best_and_worst, polar_score
from unbraid.theory.polarised import Polarisation, polarisation, polarisation_hook, polarised_share
from unbraid.theory.presets import PRESETS, Preset, preset
from unbraid.theory.sparse_experiments import dimensionality, identifiability, posterior_collapse
from unbraid.theory.symmetry import rotation_energy, symmetry_check
from unbraid.theory.theorem1 import (
    WORKED_EXAMPLE,
    best_noise_loss,
    best_variances,
    minimise_noise_loss,
    orthogonal_noise_loss,
    theorem1_bound,
)
from unbraid.theory.theorem2 import theorem2_bound, theorem2_objective
from unbraid.theory.toys import Toy, ar_toy, linear_mixing, nonlinear_mixing, pair_toy, smooth_leaky, whitened
from unbraid.theory.trials import Trial, read_trials, run_trials

__all__ = [
    "IMAGES",
    "MANIPULATED",
    "PRESETS",
    "WORKED_EXAMPLE",
    "Alignment",
    "Alignments",
    "BetaRange",
    "BetaStage",
    "Bijection",
    "Cdf",
    "Check",
    "Codec",
    "DependenceWarning",
    "Empirical",
    "EntangledRun",
    "Fitted",
    "Found",
    "Inspection",
    "Layout",
    "LinearModel",
    "LinearOptimum",
    "LossSplit",
    "Manipulation",
    "ManipulationClaim",
    "Marginal",
    "Normal",
    "Orthogonality",
    "PerturbationNet",
    "Polarisation",
    "Preset",
    "PrincipalComponents",
    "Toy",
    "Trial",
    "Uniform",
    "agreement",
    "agreement_trials",
    "ar_toy",
    "best_and_worst",
    "best_noise_loss",
    "best_variances",
    "beta_range",
    "bijection",
    "binned_sources",
    "check",
    "check_mixing",
    "codec_of",
    "compositional_contrast",
    "decoder_jacobian",
    "decoder_of",
    "dimensionality",
    "distance_to_orthogonality",
    "empirical",
    "entangle",
    "fit",
    "fit_toy",
    "hadamard",
    "householder",
    "identifiability",
    "image_trials",
    "inspect_run",
    "judge",
    "judge_manipulation",
    "largest_distance",
    "linear_betas",
    "linear_elbo_gap",
    "linear_mixing",
    "linear_vae_optimum",
    "manipulation_trials",
    "marginals_of",
    "matched_correlation",
    "mechanism_contrast",
    "minimise_noise_loss",
    "mixing_matrix",
    "nearest_signed_permutation",
    "noise_advantage",
    "noise_directions",
    "nonlinear_mixing",
    "orthogonal_noise_loss",
    "pair_toy",
    "pca_alignment",
    "pca_trials",
    "pick_alignments",
    "polar_score",
    "polarisation",
    "polarisation_hook",
    "polarised_share",
    "posterior_collapse",
    "preset",
    "principal_components",
    "random_distance",
    "random_rotation",
    "read_trials",
    "rotation_energy",
    "run_trials",
    "sample_marginals",
    "save_manipulation",
    "self_consistency",
    "smooth_leaky",
    "split_reconstruction",
    "strength_trials",
    "symmetry_check",
    "theorem1_bound",
    "theorem2_bound",
    "theorem2_objective",
    "train_perturbation",
    "train_restarts",
    "whitened",
]
