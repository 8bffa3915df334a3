"""Downloads that resume, are verified, and appear under their final name only when whole."""

import errno
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from unbraid.data.files.catalogue import RemoteFile, source
from unbraid.data.files.partfile import PartFile
from unbraid.data.files.root import find_file, roots
from unbraid.errors import UsageError
from unbraid.files import named_if_full, open_append, write_text
from unbraid.progress import Progress
from unbraid.reading import open_gzip, read_text

__all__ = ["DownloadError", "fetch", "get", "verify"]

Told = Callable[[int, int | None], None]
"""Told the bytes that are on disk so far and the total, where the server says it."""

_BLOCK = 1 << 18
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_NETWORK = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


class DownloadError(UsageError):
    """A file that could not be fetched or is not what it should be."""


class _DroppedError(Exception):
    """The connection ended before the file did; another try may go on from there."""


def fetch(
    url: str,
    path: str | Path,
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    unpacked: bool = False,
    progress: Told | None = None,
    tries: int = 4,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Download ``url`` to ``path``.

    Bytes gather in ``path.part``; a later call goes on from there if the server still has the same file. A dropped
    connection is tried again up to ``tries`` times in a row without progress, after ``wait``, ``2 wait``, ... seconds.
    The checksum (of the decompressed bytes with ``unpacked``) and the size are checked before the file gets its name;
    if they are wrong, nothing is left behind.
    """
    path = Path(path)
    part = PartFile(path, url)
    with _writable(path), part.locked():
        resumed = part.done > 0
        while True:
            _gather(part, size, progress, tries, wait, timeout)
            try:
                verify(part.path, sha256=sha256, md5=md5, size=size, unpacked=unpacked, name=f"{path} from {url}")
                break
            except DownloadError:
                part.discard()
                if not resumed:
                    raise
                resumed = False  # the old half may have been another file's: once more from the start
        part.finish()
    return path


def verify(
    path: Path,
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    unpacked: bool = False,
    name: str | None = None,
) -> None:
    """Raise unless the file has this size and checksum."""
    name = name or str(path)
    found = path.stat().st_size
    if size is not None and found != size:
        raise DownloadError(f"{name} is damaged: expected {size:,} bytes, got {found:,}")
    for kind, expected in (("sha256", sha256), ("md5", md5)):
        if expected is None:
            continue
        actual = _digest(path, kind, unpacked, name)
        if actual != expected.lower():
            raise DownloadError(f"{name} is damaged: expected {kind} {expected}, got {actual}")


def get(name: str, root: str | Path | None = None, *, quiet: bool = False) -> list[Path]:
    """Download the files of a published data set that are not there yet; returns where they all lie.

    A file without a known checksum gets one on its first download, kept beside it as ``FILE.sha256``.
    """
    item = source(name)
    paths = []
    for file in item.files:
        target = (Path(root) if root else roots()[0]) / file.path
        present = target if target.exists() else (find_file(file.path) if root is None else None)
        if present and present.is_file():
            verify(present, sha256=_expected(file, present), md5=file.md5, unpacked=file.unpacked)
        paths.append(present or _first_that_works(name, file, target, quiet))
    return paths


def _expected(file: RemoteFile, path: Path) -> str | None:
    recorded = path.with_name(f"{path.name}.sha256")
    if file.sha256 or not recorded.exists():
        return file.sha256
    return read_text(recorded, limit=1 << 10, remedy="delete it").split()[0]


def _shown_by(display: Progress) -> Told:
    return lambda done, total: display.update(done, total=total)


def _first_that_works(name: str, file: RemoteFile, target: Path, quiet: bool) -> Path:
    item = source(name)
    failures = []
    for url in file.urls:
        try:
            with Progress(target.name, unit="bytes", kind="none" if quiet else "auto") as display:
                fetch(
                    url,
                    target,
                    sha256=file.sha256,
                    md5=file.md5,
                    size=file.size,
                    unpacked=file.unpacked,
                    progress=_shown_by(display),
                )
        except DownloadError as error:
            failures.append(str(error))
            continue
        if file.sha256 is None:
            digest = _digest(target, "sha256", file.unpacked, str(target))
            write_text(target.with_name(f"{target.name}.sha256"), f"{digest}  {target.name}\n")
        return target
    reasons = "".join(f"\n  {failure}" for failure in failures) or "\n  it cannot be fetched by a program"
    raise DownloadError(
        f"could not download {target.name} of data set {name!r}:{reasons}\n"
        f"  get it from: {item.homepage}{f' ({item.note})' if item.note else ''}\n"
        f"  put it at:   {target}"
    )


def _gather(
    part: PartFile, expected: int | None, progress: Told | None, tries: int, wait: float, timeout: float
) -> None:
    """Append to the part until it is whole."""
    failures = 0
    while True:
        before = part.done
        try:
            _request(part, expected, progress, timeout)
            return
        except _DroppedError as error:
            failures = 1 if part.done > before else failures + 1
            if failures >= tries:
                kept = f"; {part.done:,} bytes are kept in {part.path}, the same command goes on from there"
                raise DownloadError(
                    f"could not download {part.url}: {error}, {tries} times in a row{kept if part.done else ''}"
                ) from error
            time.sleep(wait * 2 ** (failures - 1))


def _request(part: PartFile, expected: int | None, progress: Told | None, timeout: float) -> None:
    headers = {"Accept-Encoding": "identity", "User-Agent": "unbraid"}
    start = part.done
    if start:
        headers["Range"] = f"bytes={start}-"
        if part.validator:
            headers["If-Range"] = part.validator
    try:
        with urllib.request.urlopen(urllib.request.Request(part.url, headers=headers), timeout=timeout) as response:
            _receive(part, response, start, expected, progress)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return
            part.discard()
            raise _DroppedError("the file has changed on the server") from error
        if error.code in _PASSING:
            raise _DroppedError(f"the server answers {error.code} {error.reason}") from error
        raise DownloadError(f"could not download {part.url}: the server answers {error.code} {error.reason}") from error
    except _NETWORK as error:
        raise _DroppedError(str(getattr(error, "reason", "") or error or type(error).__name__)) from error


def _receive(
    part: PartFile, response: http.client.HTTPResponse, start: int, expected: int | None, progress: Told | None
) -> None:
    total = _total(response, start)
    if start and (response.status != 206 or (part.total is not None and total != part.total)):
        # The server ignores ranges, or holds another file by now.
        part.discard()
        if response.status == 206:
            raise _DroppedError("the file has changed on the server")
        start = 0
    etag = response.headers.get("ETag", "")
    part.note(etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified"), total)
    if expected is not None and total is not None and total != expected:
        part.discard()
        raise DownloadError(f"{part.url} is not the expected file: it has {total:,} bytes, expected {expected:,}")
    _check_room(part, total, start)
    with named_if_full(part.path), open_append(part.path) as file:
        done = start
        while block := _read(response):
            file.write(block)
            done += len(block)
            if progress:
                progress(done, total)
    if total is not None and done < total:
        raise _DroppedError(f"the connection ended after {done:,} of {total:,} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_BLOCK)
    except OSError as error:  # kept apart from errors of the disk, which are OSErrors too
        raise _DroppedError(str(error)) from error


def _total(response: http.client.HTTPResponse, start: int) -> int | None:
    """The length of the whole file, if the server says it."""
    content_range = response.headers.get("Content-Range", "")
    if response.status == 206:
        span, _, whole = content_range.removeprefix("bytes ").partition("/")
        if not span.startswith(f"{start}-"):
            raise _DroppedError(f"the server sent the range {content_range!r} instead of the one asked for")
        return int(whole) if whole.isdigit() else None
    length = response.headers.get("Content-Length")
    return int(length) if length else None


def _check_room(part: PartFile, total: int | None, start: int) -> None:
    free = shutil.disk_usage(part.path.parent).free
    if total is not None and total - start > free:
        raise DownloadError(
            f"no room for {part.final}: {(total - start) / 1e6:,.0f} MB are to come, {free / 1e6:,.0f} MB are free; "
            "free some space or set UNBRAID_DATA to a folder on a larger disk"
        )


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, _NETWORK):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "free some space and try again" if full else "set UNBRAID_DATA to a folder you can write to"
        raise DownloadError(f"cannot write {path} ({error.strerror}); {hint}") from error


def _digest(path: Path, kind: str, unpacked: bool, name: str) -> str:
    if not unpacked:
        with path.open("rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()
    digest = hashlib.new(kind)
    try:
        with open_gzip(path) as opened:
            while block := opened.read(_BLOCK):
                digest.update(block)
    except UsageError as error:
        raise DownloadError(f"{name} is damaged: it does not decompress ({error})") from error
    return digest.hexdigest()
