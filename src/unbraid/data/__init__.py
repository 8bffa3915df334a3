"""Factor spaces, data sets and streams of batches."""

from unbraid.data.dataset import Card, FactorDataset, ImageDataset, LabelledDataset, Subset, Wrapper
from unbraid.data.registry import Entry, entry, load, names, parse, register
from unbraid.data.space import FactorSpace, SubSpace
from unbraid.data.stream import (
    Batch,
    IndependentStream,
    Stream,
    counter_rng,
    make_stream,
    register_stream,
    stream_names,
)

__all__ = [
    "Batch",
    "Card",
    "Entry",
    "FactorDataset",
    "FactorSpace",
    "ImageDataset",
    "IndependentStream",
    "LabelledDataset",
    "Stream",
    "SubSpace",
    "Subset",
    "Wrapper",
    "counter_rng",
    "entry",
    "load",
    "make_stream",
    "names",
    "parse",
    "register",
    "register_stream",
    "stream_names",
]
