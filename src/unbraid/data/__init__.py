"""Factor spaces, data sets and streams of batches."""

# These only put their data sets into the catalogue.
import unbraid.data.arm3d
import unbraid.data.cars3d
import unbraid.data.celeba
import unbraid.data.digits8
import unbraid.data.kitti_masks
import unbraid.data.mnist
import unbraid.data.mpi3d
import unbraid.data.natural_sprites
import unbraid.data.pedestrians
import unbraid.data.rooms3d
import unbraid.data.shapes3d
import unbraid.data.smallnorb
import unbraid.data.usps  # noqa: F401
from unbraid.data.blobs import Blobs
from unbraid.data.dataset import Card, FactorDataset, ImageDataset, LabelledDataset, Subset, Wrapper
from unbraid.data.dsprites_file import compare_dsprites
from unbraid.data.folder import from_folder
from unbraid.data.hadamard import HadamardImages
from unbraid.data.laplace import GeneralizedLaplace, latent_pairs
from unbraid.data.mini import IdentityFactors, MiniSprites
from unbraid.data.own import from_arrays, from_npz
from unbraid.data.pairs import PairStream, SequenceStream
from unbraid.data.perturbed import Perturbation, Perturbed, PixelNoise, fold, read_perturbation, unit_factors
from unbraid.data.registry import Entry, entry, load, names, parse, register
from unbraid.data.space import FactorSpace, SubSpace
from unbraid.data.sprites import Sprites
from unbraid.data.store import ImageStore, render_store, store_file
from unbraid.data.stream import (
    Batch,
    IndependentStream,
    Stream,
    counter_rng,
    make_stream,
    register_stream,
    stream_names,
)
from unbraid.data.synthetic import SyntheticLinear, SyntheticNonlinear, linear_map
from unbraid.data.tracks import TrackDataset, Tracks, ranks
from unbraid.data.transitions import protocol
from unbraid.data.two_batches import FewLabelsStream, TwoBatchStream
from unbraid.data.variants import colored, noisy, scream

__all__ = [
    "Batch",
    "Blobs",
    "Card",
    "Entry",
    "FactorDataset",
    "FactorSpace",
    "FewLabelsStream",
    "GeneralizedLaplace",
    "HadamardImages",
    "IdentityFactors",
    "ImageDataset",
    "ImageStore",
    "IndependentStream",
    "LabelledDataset",
    "MiniSprites",
    "PairStream",
    "Perturbation",
    "Perturbed",
    "PixelNoise",
    "SequenceStream",
    "Sprites",
    "Stream",
    "SubSpace",
    "Subset",
    "SyntheticLinear",
    "SyntheticNonlinear",
    "TrackDataset",
    "Tracks",
    "TwoBatchStream",
    "Wrapper",
    "colored",
    "compare_dsprites",
    "counter_rng",
    "entry",
    "fold",
    "from_arrays",
    "from_folder",
    "from_npz",
    "latent_pairs",
    "linear_map",
    "load",
    "make_stream",
    "names",
    "noisy",
    "parse",
    "protocol",
    "ranks",
    "read_perturbation",
    "register",
    "register_stream",
    "render_store",
    "scream",
    "store_file",
    "stream_names",
    "unit_factors",
]
