"""Training objectives by name; a new one is one decorated dataclass."""

from unbraid.objectives.autoencoder import AE, AutoencoderObjective, VAEObjective
from unbraid.objectives.base import Inputs, Objective, Problem, Terms, get, make, names, options_of, register
from unbraid.objectives.vae import VAE, BetaVAE

__all__ = [
    "AE",
    "VAE",
    "AutoencoderObjective",
    "BetaVAE",
    "Inputs",
    "Objective",
    "Problem",
    "Terms",
    "VAEObjective",
    "get",
    "make",
    "names",
    "options_of",
    "register",
]
