"""Trained runs that can be opened by name, ``open_run("zoo:NAME")``: a catalogue, checked archives, and packing.

:func:`read_release` makes runs of weights that others released.
"""

from unbraid.training.zoo.archive import fetch_run, unpack
from unbraid.training.zoo.catalogue import PREFIX, Entry, entries, entry
from unbraid.training.zoo.packing import pack_run
from unbraid.training.zoo.released import read_release

__all__ = ["PREFIX", "Entry", "entries", "entry", "fetch_run", "pack_run", "read_release", "unpack"]
