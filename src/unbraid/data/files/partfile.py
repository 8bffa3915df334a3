"""The unfinished half of a download, and the notes that make going on with it safe."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unbraid.errors import UsageError
from unbraid.files import make_folders, open_append, write_json
from unbraid.reading import read_json

__all__ = ["PartFile"]


class PartFile:
    """``NAME.part`` beside the file it will become.

    ``NAME.part.json`` notes where the bytes came from: the address, the length of the whole, and the server's validator
    (ETag or date), by which a later request asks for the rest of the same file or all of another.
    """

    def __init__(self, final: Path, url: str) -> None:
        self.final, self.url = final, url
        self.path = final.with_name(f"{final.name}.part")
        self.validator: str | None = None
        self.total: int | None = None
        self._notes = final.with_name(f"{final.name}.part.json")

    @property
    def done(self) -> int:
        """Bytes so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes off; what an earlier call left is taken up if it belongs to the same address."""
        make_folders(self.path.parent)
        with open_append(self.path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(f"another process is downloading {self.final} just now") from error
            self._recall()
            try:
                yield
            finally:
                if self.path.exists() and self.done == 0:
                    self.path.unlink()
                    self._notes.unlink(missing_ok=True)

    def _recall(self) -> None:
        try:
            notes = read_json(self._notes)
            url, self.validator, self.total = notes["url"], notes["validator"], notes["total"]
        except (OSError, ValueError, TypeError, KeyError):
            url = None
        if url != self.url:
            self.discard()

    def note(self, validator: str | None, total: int | None) -> None:
        """Remember which file the bytes belong to."""
        self.validator, self.total = validator, total
        write_json(self._notes, {"url": self.url, "validator": validator, "total": total})

    def discard(self) -> None:
        """Forget what came so far; the locked file itself stays while the download is under way."""
        if self.done:
            os.truncate(self.path, 0)
        self._notes.unlink(missing_ok=True)
        self.validator = self.total = None

    def finish(self) -> None:
        """Give the file its name once it is safely on disk."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(self.final)
        self._notes.unlink(missing_ok=True)
        descriptor = os.open(self.final.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
