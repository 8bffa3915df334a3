"""Archives of runs: fetched, checked, and unpacked as a whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from unbraid.data.files import fetch, home, verify
from unbraid.errors import UsageError
from unbraid.files import claim, make_folders, write_bytes
from unbraid.paths import check_path
from unbraid.progress import Progress
from unbraid.reading import open_zip, take
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO
from unbraid.training.zoo.catalogue import Entry, entry

__all__ = ["MEMBERS", "check_free", "fetch_run", "unpack"]

MEMBERS = (INFO, CHECKPOINT, HISTORY, EVALUATIONS)
"""All that an archive may hold: JSON, tensors and tables, by their plain names. None of them can hold code."""
_LARGEST = 1 << 30


def fetch_run(name: str, out: Path | None = None, *, quiet: bool = True) -> Path:
    """The folder of a run of the zoo, checked and unpacked when it is first asked for.

    It lies under the data root (``UNBRAID_DATA``), or where ``out`` says.
    """
    found = entry(name)
    folder = home("zoo") / f"{found.name}-{found.sha256[:12]}" if out is None else check_path(out, "out")
    if out is None and (folder / INFO).exists():
        return folder
    # What several processes share under the data root: the folder of the run, and the archive while it is downloaded.
    shared = out is None or found.url is not None
    lock = claim(home("zoo") / f".{found.name}-{found.sha256[:12]}.lock", wait=True) if shared else nullcontext()
    with lock:
        if out is None and (folder / INFO).exists():
            return folder  # another process was faster
        check_free(folder)
        with _archive(found, quiet=quiet) as archive:
            unpack(archive, folder)
    return folder


def check_free(folder: Path) -> None:
    """Refuse a folder in which something lies."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; choose another folder (--out)")


@contextmanager
def _archive(found: Entry, *, quiet: bool) -> Iterator[Path]:
    """The checked archive of a run; one that had to be downloaded is removed afterwards."""
    if found.file is not None:
        if not found.file.is_file():
            raise UsageError(f"the archive of {found.name!r} is not where its catalogue says: {found.file}")
        verify(found.file, sha256=found.sha256, size=found.size)
        yield found.file
        return
    assert found.url is not None
    path = home("zoo") / f"{found.name}-{found.sha256[:12]}.zip"
    with Progress(path.name, unit="bytes", kind="none" if quiet else "auto") as display:

        def tell(done: int, total: int | None) -> None:
            display.update(done, total=total)

        fetch(found.url, path, sha256=found.sha256, size=found.size, progress=tell)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a run's archive into a folder that is not there yet, or empty; it gets its name only when it is whole.

    Refused are archives that hold anything but the files of a run: no other names, no folders, no paths out of it.
    """
    # A folder that is there may be the current one, which must stay the same one: it is filled, not replaced.
    empty = folder.is_dir()
    part = (folder if empty else folder.parent) / f".{folder.name}.{secrets.token_hex(8)}.part"
    try:
        with open_zip(archive, "get it anew") as file:
            infos = file.infolist()
            names = [info.filename for info in infos]
            for info in infos:
                if info.filename not in MEMBERS or names.count(info.filename) > 1:
                    raise UsageError(
                        f"{archive} holds {info.filename!r}, expected only {', '.join(MEMBERS)}, each once; "
                        "nothing was unpacked"
                    )
                if info.file_size > _LARGEST:
                    raise UsageError(f"{archive}: {info.filename} would have {info.file_size:,} bytes; it is no run's")
            if missing := {INFO, CHECKPOINT} - set(names):
                raise UsageError(f"{archive} is no run: it has no {min(missing)}")
            make_folders(part)
            for info in infos:
                with file.open(info) as member:
                    write_bytes(part / info.filename, take(member, info.file_size))
        if empty:
            for name in sorted(names, key=INFO.__eq__):  # its record comes last: before that it is no run
                (part / name).rename(folder / name)
        else:
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
