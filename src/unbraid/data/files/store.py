"""Images on disk: one memory-mapped file and a small JSON beside it that says the file is whole.

A store is ``images-v1.npy`` (uint8, plain NumPy format, never pickled) plus ``images-v1.json``. The JSON appears last,
so a store without one is unfinished. Binary images take one bit per pixel.
"""

import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unbraid.data.dataset import Shape
from unbraid.data.files.root import home, roots
from unbraid.data.space import check_index
from unbraid.errors import UsageError
from unbraid.files import open_lock
from unbraid.progress import Progress
from unbraid.reading import open_file, read_header, read_json, understood

__all__ = ["ImageStore", "Render", "render_store", "store_file"]

Render = Callable[[np.ndarray], np.ndarray]
"""From consecutive positions int64 ``[n]`` to images uint8 ``[n, h, w, c]``."""


@dataclass(frozen=True)
class _Sidecar:
    count: int
    shape: Shape
    packed: bool
    version: int
    sha256: str
    library: str

    @property
    def row(self) -> tuple[int, ...]:
        """The array shape of one image in the file."""
        return (-(-prod(self.shape) // 8),) if self.packed else self.shape


_FORM = {"count": int, "shape": [int], "packed": bool, "version": int, "sha256": str, "library": str}


class ImageStore:
    """Images of one shape by position, read from disk as they are asked for.

    The pages that were read stay in memory only as long as the system has room for them.
    """

    def __init__(self, path: Path, sidecar: _Sidecar, data: np.ndarray) -> None:
        self.path, self._sidecar, self._data = path, sidecar, data
        self.shape, self.packed, self.version = sidecar.shape, sidecar.packed, sidecar.version

    @classmethod
    def open(cls, path: str | Path) -> "ImageStore":
        """Open the store whose data file is ``path``; its size is checked, its checksum only by :meth:`verify`."""
        path = Path(path)
        sidecar = _read_sidecar(path)
        remedy = "delete it to have it made anew"
        with open_file(path, remedy) as file:
            shape, fortran, dtype = read_header(file, f"the image store {path}", path.stat().st_size, remedy)
            if fortran or 0 in shape:
                raise UsageError(f"the image store {path} is damaged; {remedy}")
            data = np.memmap(path, dtype, "r", file.tell(), shape)
        expected = (sidecar.count, *sidecar.row)
        if data.shape != expected or data.dtype != np.uint8 or not data.flags.c_contiguous:
            raise UsageError(
                f"the image store {path} holds {data.dtype} {data.shape} where its JSON promises uint8 {expected}; "
                "delete it to have it made anew"
            )
        # A plain array over the same memory map: indexing a np.memmap is several times slower.
        return cls(path, sidecar, np.asarray(data))

    def __len__(self) -> int:
        return self._sidecar.count

    def __repr__(self) -> str:
        return f"<ImageStore {len(self):,} images {'x'.join(map(str, self.shape))} in {str(self.path)!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return ImageStore.open, (self.path,)

    def images(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """The images at these positions, uint8 ``[n, h, w, c]``; black and white ones are 0 and 255."""
        positions = check_index(index, len(self))
        if positions.ndim != 1:
            raise UsageError(f"index must be one-dimensional, got shape {positions.shape}")
        rows = self._data[positions]
        if not self.packed:
            return rows
        pixels = np.unpackbits(rows, axis=1, count=prod(self.shape))
        np.negative(pixels, out=pixels)  # 1 becomes 255 modulo 256
        return pixels.reshape(len(positions), *self.shape)

    def packed_rows(self) -> np.ndarray:
        """All images of a black and white store as they lie on disk, eight pixels to the byte: uint8 ``[n, bytes]``."""
        if not self.packed:
            raise UsageError(f"{self} does not hold black and white images")
        return self._data

    def array(self) -> np.ndarray:
        """All images of a store of bytes as they lie on disk: uint8 ``[n, h, w, c]``."""
        if self.packed:
            raise UsageError(f"{self} holds bits, not bytes")
        return self._data

    def verify(self) -> None:
        """Read the whole file and raise unless its SHA-256 is the recorded one."""
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self._sidecar.sha256:
            raise UsageError(
                f"the image store {self.path} is damaged: SHA-256 is {found}, recorded was {self._sidecar.sha256}; "
                "delete it to have it made anew"
            )


def store_file(name: str, version: int = 1) -> str:
    """The path under a data root that exists exactly when the store of this name is whole."""
    return f"{name}/images-v{version}.json"


def render_store(
    name: str,
    *,
    count: int,
    shape: Shape,
    render: Render,
    binary: bool = False,
    version: int = 1,
    chunk: int = 4096,
) -> ImageStore:
    """The store of this name from a data root, rendered into the first root when no whole one is found.

    ``render`` is called for ``chunk`` consecutive positions at a time. With ``binary``, whatever is not zero is white,
    and ``render`` may also return rows that are packed already (``np.packbits`` of each flattened image). Raise
    ``version`` whenever the pixels change. Several processes may ask at once: one renders, the others wait.
    """
    wanted = _Sidecar(count, shape, binary, version, sha256="", library=_library())
    found = _find(name, wanted)
    if found:
        return found
    folder = home(name)
    with _lock(folder / f".images-v{version}.lock", name):
        # Another process may have finished it while this one waited.
        found = _find(name, wanted, complain=False)
        if found:
            return found
        path = folder / f"images-v{version}.npy"
        _render_to(path, name, wanted, render, chunk)
    return ImageStore.open(path)


def _library() -> str:
    return f"unbraid {metadata.version('unbraid')}"


def _read_sidecar(path: Path) -> _Sidecar:
    file = path.with_suffix(".json")
    if not file.exists():
        raise UsageError(f"no whole image store at {path}: {file.name} is missing beside it")
    with understood(file, "delete it to have it made anew"):
        raw = read_json(file, _FORM, remedy="delete it to have it made anew")
        return _Sidecar(**{**raw, "shape": tuple(raw["shape"])})


def _find(name: str, wanted: _Sidecar, complain: bool = True) -> ImageStore | None:
    for root in roots():
        sidecar = root / store_file(name, wanted.version)
        if not sidecar.exists():
            continue
        try:
            store = ImageStore.open(sidecar.with_suffix(".npy"))
        except UsageError as error:
            if complain:
                print(f"{error}. Making it anew under {roots()[0]}.", file=sys.stderr)
            continue
        if (len(store), store.shape, store.packed) == (wanted.count, wanted.shape, wanted.packed):
            return store
        if complain:
            print(f"{store} is not what {name!r} needs. Making it anew under {roots()[0]}.", file=sys.stderr)
    return None


@contextmanager
def _lock(path: Path, name: str) -> Iterator[None]:
    """Hold an advisory lock that the system releases when the process ends, however it ends."""
    try:
        file = open_lock(path)
    except OSError as error:
        raise UsageError(
            f"cannot write {name!r} into {path.parent} ({error.strerror}); "
            "set UNBRAID_DATA to a folder you can write to"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that is making {name!r} in {path.parent}", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _render_to(path: Path, name: str, wanted: _Sidecar, render: Render, chunk: int) -> None:
    needed = wanted.count * prod(wanted.row)
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise _no_room(path, name, needed, f"only {free / 1e6:,.0f} MB are free")
    # The lock makes this the only writer, so one fixed name will do and a killed process leaves at most one such file.
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            sha256 = _write(file, name, wanted, render, chunk)
        # An old JSON must not vouch for the new data for even a moment.
        path.with_suffix(".json").unlink(missing_ok=True)
        part.replace(path)
        with part.open("xb") as file:
            file.write(json.dumps(asdict(wanted) | {"sha256": sha256}, indent=2).encode() + b"\n")
            _flush(file)
        part.replace(path.with_suffix(".json"))
        _flush_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _no_room(path, name, needed, str(error.strerror)) from error
        raise
    finally:
        part.unlink(missing_ok=True)


def _write(file: BinaryIO, name: str, wanted: _Sidecar, render: Render, chunk: int) -> str:
    header = io.BytesIO()
    layout = {"descr": "|u1", "fortran_order": False, "shape": (wanted.count, *wanted.row)}
    np.lib.format.write_array_header_1_0(header, layout)
    file.write(header.getvalue())
    digest = hashlib.sha256(header.getvalue())
    with Progress(f"making {name}", wanted.count, unit="images", brief=True) as progress:
        for start in range(0, wanted.count, chunk):
            index = np.arange(start, min(start + chunk, wanted.count), dtype=np.int64)
            rows = _rows(render(index), len(index), wanted, name)
            file.write(rows.data)
            digest.update(rows.data)
            progress.advance(len(index))
    _flush(file)
    return digest.hexdigest()


def _rows(images: np.ndarray, count: int, wanted: _Sidecar, name: str) -> np.ndarray:
    """What ``render`` returned, checked and as it goes to the file."""
    accepted = {(count, *wanted.shape), (count, *wanted.row)}
    if images.shape not in accepted or images.dtype != np.uint8:
        raise UsageError(
            f"render of {name!r} must return uint8 {(count, *wanted.shape)}, got {images.dtype} {images.shape}"
        )
    if wanted.packed and images.shape[1:] == wanted.shape:
        images = np.packbits(images.reshape(count, -1), axis=1)
    return np.ascontiguousarray(images)


def _no_room(path: Path, name: str, needed: int, why: str) -> UsageError:
    return UsageError(
        f"{name!r} needs {needed / 1e6:,.0f} MB in {path.parent}: {why}; "
        "free some space or set UNBRAID_DATA to a folder on a larger disk"
    )


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
