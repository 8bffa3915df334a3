"""Networks: encoders, decoders, what their outputs mean. Plain modules without training logic."""

from unbraid.nets import bijections, predictors
from unbraid.nets.additive import Additive, additive, block_sizes, check_additive, shuffled_blocks
from unbraid.nets.autoencoder import Autoencoder
from unbraid.nets.broadcast import broadcast
from unbraid.nets.burgess import burgess
from unbraid.nets.class_vaes import ClassVAEs
from unbraid.nets.comparison import PairClassifier, PairComparison
from unbraid.nets.conditional import ConditionalEncoder, VariancePrior, conditional_encoder
from unbraid.nets.conv import ConvDecoder, ConvEncoder, conv
from unbraid.nets.conv_bn import conv_bn
from unbraid.nets.discriminator import discriminator
from unbraid.nets.explain import (
    Decodings,
    Explained,
    Search,
    descend,
    explain,
    half_squares,
    misfit,
)
from unbraid.nets.flow import Coupling, Flow, FlowCodes, FlowModel, InvertibleLinear, coupling_flow
from unbraid.nets.full_gaussian import FullGaussian, full_heads
from unbraid.nets.initialise import glorot, kaiming, seeded
from unbraid.nets.label_readers import LabelPlaces, LabelScale
from unbraid.nets.layers import Convs
from unbraid.nets.light import light
from unbraid.nets.likelihood import Bernoulli, GaussianPixels, Likelihood, likelihood, likelihoods, register_likelihood
from unbraid.nets.mine import PairStatistics, information_bound
from unbraid.nets.mlp import fc, linear, mlp
from unbraid.nets.modes import frozen, judged
from unbraid.nets.noise import NoiseGenerator
from unbraid.nets.noise_history import NoiseGame, NoiseHistory, NoiseRestart
from unbraid.nets.output_space import Box, InSpace, Sphere, output_space
from unbraid.nets.posterior import Gaussian
from unbraid.nets.predictors import Predictor, build_predictor
from unbraid.nets.projection import clip_l2_ball, clip_linf, project_l2
from unbraid.nets.quantise import Codebooks, CodeNorm, distinct_values, on_grid, straight_through
from unbraid.nets.reasoner import Reasoner
from unbraid.nets.registry import Shape, build, get, names, register
from unbraid.nets.released_abs import load_released_abs
from unbraid.nets.released_vae import read_released_vae
from unbraid.nets.rendering import Renderer, nearest_sum
from unbraid.nets.slow import slow
from unbraid.nets.stacked import Stacked, can_stack
from unbraid.nets.stride2 import fast_kernels
from unbraid.nets.total_correlation import pairwise_total_correlation
from unbraid.nets.weak_gan import WeakGAN
from unbraid.nets.wren import WReN
from unbraid.problem import Problem
from unbraid.registry import import_modules

__all__ = [
    "Additive",
    "Autoencoder",
    "Bernoulli",
    "Box",
    "ClassVAEs",
    "CodeNorm",
    "Codebooks",
    "ConditionalEncoder",
    "ConvDecoder",
    "ConvEncoder",
    "Convs",
    "Coupling",
    "Decodings",
    "Explained",
    "Flow",
    "FlowCodes",
    "FlowModel",
    "FullGaussian",
    "Gaussian",
    "GaussianPixels",
    "InSpace",
    "InvertibleLinear",
    "LabelPlaces",
    "LabelScale",
    "Likelihood",
    "NoiseGame",
    "NoiseGenerator",
    "NoiseHistory",
    "NoiseRestart",
    "PairClassifier",
    "PairComparison",
    "PairStatistics",
    "Predictor",
    "Problem",
    "Reasoner",
    "Renderer",
    "Search",
    "Shape",
    "Sphere",
    "Stacked",
    "VariancePrior",
    "WReN",
    "WeakGAN",
    "additive",
    "bijections",
    "block_sizes",
    "broadcast",
    "build",
    "build_predictor",
    "burgess",
    "can_stack",
    "check_additive",
    "clip_l2_ball",
    "clip_linf",
    "conditional_encoder",
    "conv",
    "conv_bn",
    "coupling_flow",
    "descend",
    "discriminator",
    "distinct_values",
    "explain",
    "fast_kernels",
    "fc",
    "frozen",
    "full_heads",
    "get",
    "glorot",
    "half_squares",
    "information_bound",
    "judged",
    "kaiming",
    "light",
    "likelihood",
    "likelihoods",
    "linear",
    "load_released_abs",
    "misfit",
    "mlp",
    "names",
    "nearest_sum",
    "on_grid",
    "output_space",
    "pairwise_total_correlation",
    "predictors",
    "project_l2",
    "read_released_vae",
    "register",
    "register_likelihood",
    "seeded",
    "shuffled_blocks",
    "slow",
    "straight_through",
]

import_modules(__name__)  # also what was dropped into the folder
