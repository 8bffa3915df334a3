"""One-to-one networks: blocks ``forward(x) -> (z, log_det)`` with an exact ``inverse``, and classifiers made of them.

Jacobsen, Behrmann, Zemel, Bethge (2019), Excessive invariance causes adversarial vulnerability, ICLR. A file dropped
into this folder is found.
"""

from unbraid.nets.bijections.actnorm import ActNorm
from unbraid.nets.bijections.architectures import conv, fc, imagenet
from unbraid.nets.bijections.bijection import Bijection, Chain, SameEverywhere
from unbraid.nets.bijections.couplings import AdditiveCoupling, AffineCoupling, SwapCoupling
from unbraid.nets.bijections.dct import DCT, dct_matrix
from unbraid.nets.bijections.firevnet import Checked, FiRevNet
from unbraid.nets.bijections.logit_norm import LogitNorm
from unbraid.nets.bijections.mixing import InvertibleConv, Permutation
from unbraid.nets.bijections.model import BijectiveModel, Grid, build_model
from unbraid.nets.bijections.prior import LN2, DiagonalNormal, bits_per_dimension
from unbraid.nets.bijections.registry import build_bijection, get, names, register, unit_of
from unbraid.nets.bijections.residual import conv_residual, fc_residual
from unbraid.nets.bijections.shapes import FactorOut, ReadOut, Squeeze
from unbraid.registry import import_modules

__all__ = [
    "DCT",
    "LN2",
    "ActNorm",
    "AdditiveCoupling",
    "AffineCoupling",
    "Bijection",
    "BijectiveModel",
    "Chain",
    "Checked",
    "DiagonalNormal",
    "FactorOut",
    "FiRevNet",
    "Grid",
    "InvertibleConv",
    "LogitNorm",
    "Permutation",
    "ReadOut",
    "SameEverywhere",
    "Squeeze",
    "SwapCoupling",
    "bits_per_dimension",
    "build_bijection",
    "build_model",
    "conv",
    "conv_residual",
    "dct_matrix",
    "fc",
    "fc_residual",
    "get",
    "imagenet",
    "names",
    "register",
    "unit_of",
]

import_modules(__name__)
