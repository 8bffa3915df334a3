"""Files from outside, read in one place: their kind, size and encoding are checked, and errors name file and remedy.

Nothing here waits for a pipe, unpacks more than was asked for, or lets a damaged file end in anything but a
:class:`~unbraid.errors.UsageError`.
"""

from unbraid.reading.arrays import read_arrays, read_header, read_member, read_npy
from unbraid.reading.opening import open_file, open_gzip, open_tar, open_zip, read_bytes, take, understood
from unbraid.reading.stored import open_hdf5, open_image, read_columns, read_table
from unbraid.reading.text import (
    TEXT,
    check_form,
    parse_csv,
    parse_json,
    parse_object,
    parse_toml,
    read_csv,
    read_json,
    read_text,
)

__all__ = [
    "TEXT",
    "check_form",
    "open_file",
    "open_gzip",
    "open_hdf5",
    "open_image",
    "open_tar",
    "open_zip",
    "parse_csv",
    "parse_json",
    "parse_object",
    "parse_toml",
    "read_arrays",
    "read_bytes",
    "read_columns",
    "read_csv",
    "read_header",
    "read_json",
    "read_member",
    "read_npy",
    "read_table",
    "read_text",
    "take",
    "understood",
]
