"""Training objectives by name; a new one is one decorated dataclass."""

from unbraid.objectives import augment, penalties
from unbraid.objectives.ada_vae import AdaGVAE, AdaMLVAE, AdaObjective, shared_latents
from unbraid.objectives.annealed_vae import AnnealedVAE
from unbraid.objectives.autoencoder import AE, AutoencoderObjective, VAEObjective
from unbraid.objectives.base import (
    ABILITIES,
    Codes,
    Inputs,
    Objective,
    Problem,
    Terms,
    default_options,
    get,
    make,
    names,
    options_of,
    register,
)
from unbraid.objectives.beta_tcvae import BetaTCVAE, batch_total_correlation, total_correlation_offset
from unbraid.objectives.beta_tcvae_sampled import (
    BetaTCVAESampled,
    decomposed_kl,
    stratified_log_weights,
    weighted_log_weights,
)
from unbraid.objectives.checks import check_not_negative, check_positive
from unbraid.objectives.cl_ica import CLICA, contrastive_loss, dissimilarity
from unbraid.objectives.classifier import Classifier
from unbraid.objectives.dip_vae import DIPVAEI, DIPVAEII, DIPObjective, batch_covariance
from unbraid.objectives.factor_vae import FactorVAE, discriminator_terms, log_ratio, permute_dims
from unbraid.objectives.few_labels import (
    S2DIPVAEI,
    S2DIPVAEII,
    FewLabels,
    S2BetaTCVAE,
    S2BetaVAE,
    S2FactorVAE,
    S2Supervised,
)
from unbraid.objectives.firevnet import FiRevNetObjective
from unbraid.objectives.full_covariance import FullBetaVAE
from unbraid.objectives.hfs_vae import HFSTCVAE, HFSVAE
from unbraid.objectives.ice import ICE, label_entropy, reverse_gradient
from unbraid.objectives.ivae import IVAE, conditional_kl
from unbraid.objectives.known_change import GVAE, MLVAE, KnownChangeObjective
from unbraid.objectives.label_losses import label_loss, label_reader
from unbraid.objectives.learned_noise import matching_eps, train_generator
from unbraid.objectives.linear_vae import LinearVAE
from unbraid.objectives.mine_vae import S2MineVAE, label_information
from unbraid.objectives.pairs import PairObjective, PairVAEObjective, halves, stacked
from unbraid.objectives.pcl import PCL, derangement
from unbraid.objectives.pm_vae import PMVAE
from unbraid.objectives.predictor import PredictorObjective
from unbraid.objectives.quantised import FSQ, QLAE, QuantisedObjective
from unbraid.objectives.reasoning import Reasoning
from unbraid.objectives.regressor import Regressor
from unbraid.objectives.renderer import RendererObjective
from unbraid.objectives.sharing import SharingObjective
from unbraid.objectives.slow_flow import SlowFlow
from unbraid.objectives.slow_vae import GaussianSlowVAE, SlowVAE, transition_terms
from unbraid.objectives.supervised import Supervised
from unbraid.objectives.tasks import Task
from unbraid.objectives.titles import about, formula, title
from unbraid.objectives.transition_prior import (
    absolute_moment,
    cross_entropy,
    gaussian_entropy,
    gaussian_kl,
    log_normaliser,
)
from unbraid.objectives.tripod import Tripod
from unbraid.objectives.vae import VAE, BetaVAE
from unbraid.objectives.ws_gan import WSGAN
from unbraid.registry import import_modules

__all__ = [
    "ABILITIES",
    "AE",
    "CLICA",
    "DIPVAEI",
    "DIPVAEII",
    "FSQ",
    "GVAE",
    "HFSTCVAE",
    "HFSVAE",
    "ICE",
    "IVAE",
    "MLVAE",
    "PCL",
    "PMVAE",
    "QLAE",
    "S2DIPVAEI",
    "S2DIPVAEII",
    "VAE",
    "WSGAN",
    "AdaGVAE",
    "AdaMLVAE",
    "AdaObjective",
    "AnnealedVAE",
    "AutoencoderObjective",
    "BetaTCVAE",
    "BetaTCVAESampled",
    "BetaVAE",
    "Classifier",
    "Codes",
    "DIPObjective",
    "FactorVAE",
    "FewLabels",
    "FiRevNetObjective",
    "FullBetaVAE",
    "GaussianSlowVAE",
    "Inputs",
    "KnownChangeObjective",
    "LinearVAE",
    "Objective",
    "PairObjective",
    "PairVAEObjective",
    "PredictorObjective",
    "Problem",
    "QuantisedObjective",
    "Reasoning",
    "Regressor",
    "RendererObjective",
    "S2BetaTCVAE",
    "S2BetaVAE",
    "S2FactorVAE",
    "S2MineVAE",
    "S2Supervised",
    "SharingObjective",
    "SlowFlow",
    "SlowVAE",
    "Supervised",
    "Task",
    "Terms",
    "Tripod",
    "VAEObjective",
    "about",
    "absolute_moment",
    "augment",
    "batch_covariance",
    "batch_total_correlation",
    "check_not_negative",
    "check_positive",
    "conditional_kl",
    "contrastive_loss",
    "cross_entropy",
    "decomposed_kl",
    "default_options",
    "derangement",
    "discriminator_terms",
    "dissimilarity",
    "formula",
    "gaussian_entropy",
    "gaussian_kl",
    "get",
    "halves",
    "label_entropy",
    "label_information",
    "label_loss",
    "label_reader",
    "log_normaliser",
    "log_ratio",
    "make",
    "matching_eps",
    "names",
    "options_of",
    "penalties",
    "permute_dims",
    "register",
    "reverse_gradient",
    "shared_latents",
    "stacked",
    "stratified_log_weights",
    "title",
    "total_correlation_offset",
    "train_generator",
    "transition_terms",
    "weighted_log_weights",
]

import_modules(__name__)  # also what was dropped into the folder
