"""Trained runs that can be opened by name, ``open_run("zoo:NAME")``: a catalogue, checked archives, and packing."""

from unbraid.training.zoo.archive import fetch_run, unpack
from unbraid.training.zoo.catalogue import PREFIX, Entry, entries, entry
from unbraid.training.zoo.packing import pack_run

__all__ = ["PREFIX", "Entry", "entries", "entry", "fetch_run", "pack_run", "unpack"]
