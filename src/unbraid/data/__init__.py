"""Factor spaces, data sets and streams of batches."""

from unbraid.data.by_class import ByClassStream
from unbraid.data.correlated import Correlated, PairLaw, correlated, named_pairs
from unbraid.data.dataset import Card, Dataset, FactorDataset, ImageDataset, LabelledDataset, Recipe
from unbraid.data.files.dsprites_file import compare_dsprites
from unbraid.data.files.folder import from_folder
from unbraid.data.files.store import ImageStore, render_store, store_file
from unbraid.data.hashing import hash_bits
from unbraid.data.matrices import ANSWERS, CONTEXT, Matrices, Rules, accepted_share, quantised_sizes, solve, votes
from unbraid.data.matrix_stream import Cells, MatrixStream
from unbraid.data.motion.laplace import GeneralizedLaplace, latent_pairs
from unbraid.data.motion.pairs import PairStream, SequenceStream
from unbraid.data.motion.tracks import TrackDataset, Tracks, ranks
from unbraid.data.motion.transitions import protocol
from unbraid.data.own import from_arrays, from_npz, is_path, save
from unbraid.data.part import Indices, Part
from unbraid.data.purpose import GamePurpose, Purpose
from unbraid.data.registry import Entry, entry, load, names, parse, register
from unbraid.data.sets.blobs import Blobs
from unbraid.data.sets.hadamard import HadamardImages
from unbraid.data.sets.mini import IdentityFactors, MiniSprites
from unbraid.data.sets.perturbed import Perturbation, Perturbed, PixelNoise, fold, read_perturbation, unit_factors
from unbraid.data.sets.spheres import Spheres
from unbraid.data.sets.sprites import Sprites
from unbraid.data.sets.synthetic import SyntheticLinear, SyntheticNonlinear, linear_map
from unbraid.data.sets.variants import colored, noisy, scream
from unbraid.data.space import FactorSpace, SubSpace
from unbraid.data.splits.side import Side, SplitPart
from unbraid.data.splits.split import Split, grid_hash, split
from unbraid.data.splits.value_sets import KINDS as SPLITS
from unbraid.data.stream import (
    Batch,
    IndependentStream,
    Stream,
    counter_rng,
    get_stream,
    make_stream,
    register_stream,
    stream_names,
)
from unbraid.data.two_batches import FewLabelsStream, TwoBatchStream
from unbraid.data.vectors import Vectors, as_floats, from_vectors
from unbraid.data.weak_pairs import WeakPairStream
from unbraid.data.wrapper import Subset, Wrapper
from unbraid.data.wrappers import register_wrapper
from unbraid.registry import import_modules

import_modules("unbraid.data.sets")

__all__ = [
    "ANSWERS",
    "CONTEXT",
    "SPLITS",
    "Batch",
    "Blobs",
    "ByClassStream",
    "Card",
    "Cells",
    "Correlated",
    "Dataset",
    "Entry",
    "FactorDataset",
    "FactorSpace",
    "FewLabelsStream",
    "GamePurpose",
    "GeneralizedLaplace",
    "HadamardImages",
    "IdentityFactors",
    "ImageDataset",
    "ImageStore",
    "IndependentStream",
    "Indices",
    "LabelledDataset",
    "Matrices",
    "MatrixStream",
    "MiniSprites",
    "PairLaw",
    "PairStream",
    "Part",
    "Perturbation",
    "Perturbed",
    "PixelNoise",
    "Purpose",
    "Recipe",
    "Rules",
    "SequenceStream",
    "Side",
    "Spheres",
    "Split",
    "SplitPart",
    "Sprites",
    "Stream",
    "SubSpace",
    "Subset",
    "SyntheticLinear",
    "SyntheticNonlinear",
    "TrackDataset",
    "Tracks",
    "TwoBatchStream",
    "Vectors",
    "WeakPairStream",
    "Wrapper",
    "accepted_share",
    "as_floats",
    "colored",
    "compare_dsprites",
    "correlated",
    "counter_rng",
    "entry",
    "fold",
    "from_arrays",
    "from_folder",
    "from_npz",
    "from_vectors",
    "get_stream",
    "grid_hash",
    "hash_bits",
    "is_path",
    "latent_pairs",
    "linear_map",
    "load",
    "make_stream",
    "named_pairs",
    "names",
    "noisy",
    "parse",
    "protocol",
    "quantised_sizes",
    "ranks",
    "read_perturbation",
    "register",
    "register_stream",
    "register_wrapper",
    "render_store",
    "save",
    "scream",
    "solve",
    "split",
    "store_file",
    "stream_names",
    "unit_factors",
    "votes",
]
