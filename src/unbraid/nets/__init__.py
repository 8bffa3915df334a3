"""Networks: encoders, decoders, what their outputs mean. Plain modules without training logic."""

from unbraid.nets.conv import ConvDecoder, ConvEncoder, conv
from unbraid.nets.discriminator import discriminator
from unbraid.nets.initialise import glorot, kaiming
from unbraid.nets.likelihood import Bernoulli, GaussianPixels, Likelihood, likelihood, likelihoods
from unbraid.nets.mlp import fc, linear, mlp
from unbraid.nets.posterior import Gaussian
from unbraid.nets.registry import Shape, build, names, register
from unbraid.nets.slow import slow
from unbraid.nets.stride2 import fast_kernels

__all__ = [
    "Bernoulli",
    "ConvDecoder",
    "ConvEncoder",
    "Gaussian",
    "GaussianPixels",
    "Likelihood",
    "Shape",
    "build",
    "conv",
    "discriminator",
    "fast_kernels",
    "fc",
    "glorot",
    "kaiming",
    "likelihood",
    "likelihoods",
    "linear",
    "mlp",
    "names",
    "register",
    "slow",
]
