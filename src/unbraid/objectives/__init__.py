"""Training objectives by name; a new one is one decorated dataclass."""

from unbraid.objectives.annealed_vae import AnnealedVAE
from unbraid.objectives.autoencoder import AE, AutoencoderObjective, VAEObjective
from unbraid.objectives.base import (
    Inputs,
    Objective,
    Problem,
    Terms,
    check_not_negative,
    check_positive,
    get,
    make,
    names,
    options_of,
    register,
)
from unbraid.objectives.beta_tcvae import BetaTCVAE, batch_total_correlation, total_correlation_offset
from unbraid.objectives.dip_vae import DIPVAEI, DIPVAEII, DIPObjective, batch_covariance
from unbraid.objectives.factor_vae import FactorVAE, discriminator_terms, log_ratio, permute_dims
from unbraid.objectives.few_labels import FewLabels, S2BetaTCVAE, S2BetaVAE, label_loss
from unbraid.objectives.vae import VAE, BetaVAE

__all__ = [
    "AE",
    "DIPVAEI",
    "DIPVAEII",
    "VAE",
    "AnnealedVAE",
    "AutoencoderObjective",
    "BetaTCVAE",
    "BetaVAE",
    "DIPObjective",
    "FactorVAE",
    "FewLabels",
    "Inputs",
    "Objective",
    "Problem",
    "S2BetaTCVAE",
    "S2BetaVAE",
    "Terms",
    "VAEObjective",
    "batch_covariance",
    "batch_total_correlation",
    "check_not_negative",
    "check_positive",
    "discriminator_terms",
    "get",
    "label_loss",
    "log_ratio",
    "make",
    "names",
    "options_of",
    "permute_dims",
    "register",
    "total_correlation_offset",
]
