"""Formats, downloads and what is kept on disk. Names are imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.data.files.catalogue import SOURCES as SOURCES
    from unbraid.data.files.download import fetch as fetch
    from unbraid.data.files.download import get as get
    from unbraid.data.files.download import verify as verify
    from unbraid.data.files.measurement_table import read_measurements as read_measurements
    from unbraid.data.files.npz import array_names as array_names
    from unbraid.data.files.npz import read_array as read_array
    from unbraid.data.files.root import home as home
    from unbraid.data.files.root import roots as roots

_HOMES = {
    "SOURCES": "catalogue",
    "array_names": "npz",
    "fetch": "download",
    "get": "download",
    "home": "root",
    "read_array": "npz",
    "read_measurements": "measurement_table",
    "roots": "root",
    "verify": "download",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
