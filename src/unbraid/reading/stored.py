"""Tables of Parquet files, data sets of HDF5 files and pictures, of a size that is bearable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.reading.opening import AGAIN, open_file, read_bytes, understood
from unbraid.reading.text import check_form, parse_json

if TYPE_CHECKING:
    import h5py
    import numpy as np
    import polars
    import pyarrow.parquet
    from PIL.Image import Image

__all__ = ["open_hdf5", "open_image", "read_columns", "read_table"]

PIXELS = 1 << 27
"""Most pixels of a picture."""
CELLS = 1 << 27
"""Most cells of a table."""


def read_table(path: Path, *, remedy: str = AGAIN) -> polars.DataFrame:
    """The table of a Parquet file; empty cells are null."""
    content = read_bytes(path, remedy=remedy)
    with understood(path, remedy):
        import polars

        table = polars.from_arrow(_open_parquet(content, path, remedy).read(use_threads=False))
        assert isinstance(table, polars.DataFrame)
        return table


def _open_parquet(content: bytes, path: Path, remedy: str) -> pyarrow.parquet.ParquetFile:
    import pyarrow
    import pyarrow.parquet

    # Without threads: a process that was forked from one that read such a file has lost them.
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
    rows, columns = file.metadata.num_rows, file.metadata.num_columns
    if rows < 0 or rows * columns > CELLS:  # a few bytes can stand for any number of equal cells
        raise UsageError(f"{path} promises {rows:,} rows of {columns}, at most {CELLS:,} cells are read; {remedy}")
    return file


def read_columns(path: Path, *, remedy: str = AGAIN) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The columns of a Parquet file, and what else :func:`unbraid.files.save_columns` wrote into it, if anything.

    Columns of numbers and words are read, none of them with empty cells.
    """
    content = read_bytes(path, remedy=remedy)
    with understood(path, remedy):
        file = _open_parquet(content, path, remedy)
        said = (file.schema_arrow.metadata or {}).get(b"unbraid")
        about = {} if said is None else parse_json(said, path, remedy=remedy)
        check_form(about, {}, path, remedy=remedy)
        table = file.read(use_threads=False)
        found = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count:
                raise UsageError(f"{path} has {column.null_count:,} empty cells in column {name!r}; {remedy}")
            array = column.to_numpy()
            found[name] = array.astype(str) if array.dtype == object else array
        return found, about


@contextlib.contextmanager
def open_hdf5(path: Path, names: Sequence[str], remedy: str = AGAIN) -> Iterator[list[h5py.Dataset]]:
    """The data sets of these names in an HDF5 file; a group in the place of one is refused."""
    import h5py

    with open_file(path, remedy):
        pass
    with understood(path, remedy), h5py.File(path, "r") as file:
        for name in names:
            if not isinstance(file.get(name), h5py.Dataset):
                kind = "no" if name not in file else f"a {type(file.get(name)).__name__.lower()} in the place of the"
                raise UsageError(f"{path} has {kind} data set {name!r}; {remedy}")
        yield [file[name] for name in names]


@contextlib.contextmanager
def open_image(path: Path, remedy: str = "mend or remove it") -> Iterator[Image]:
    """A picture whose header is read and whose size is bearable; it is decoded when it is used."""
    import warnings

    from PIL import Image

    with open_file(path, remedy) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bound below is ours
        try:
            with Image.open(file) as picture:
                if prod(picture.size) > PIXELS:
                    wide, high = picture.size
                    raise UsageError(f"{path} has {wide} x {high} pixels, at most {PIXELS:,} are read; {remedy}")
                yield picture
        except Image.DecompressionBombError as error:
            raise UsageError(f"{path} has too many pixels ({error}); {remedy}") from error
