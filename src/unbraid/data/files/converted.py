"""Published files turned once into an image store that can be read batch by batch."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from unbraid.data.dataset import Shape
from unbraid.data.files.store import ImageStore, Render, render_store

__all__ = ["converted", "fingerprint"]

_EDGE = 1 << 20


def converted(
    name: str, sources: Sequence[Path], *, count: int, shape: Shape, render: Render, version: int = 1, chunk: int = 4096
) -> ImageStore:
    """The store made from these files; other files under the same names give another store.

    ``render`` may rely on being asked for all positions from first to last, ``chunk`` at a time.
    """
    label = f"{name}/converted-{fingerprint(sources)}"
    return render_store(label, count=count, shape=shape, render=render, version=version, chunk=chunk)


def fingerprint(sources: Iterable[Path]) -> str:
    """Twelve hex digits from names, sizes and both ends of the files: cheap, and different for different data."""
    digest = hashlib.sha256()
    for path in sources:
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_EDGE))
            file.seek(max(0, size - _EDGE))
            digest.update(file.read(_EDGE))
    return digest.hexdigest()[:12]
