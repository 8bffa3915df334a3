"""Which files of a folder are sound images of one size: all that is wrong is found before anything is said."""

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.data.files.root import find_file, home
from unbraid.errors import UsageError
from unbraid.files import write_json
from unbraid.paths import readable
from unbraid.progress import Progress
from unbraid.reading import open_image, read_json

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["SYNTAX", "Decoded", "Look", "sound_files"]

SYNTAX = "on the command line: --data FOLDER:size=64,skip_bad=true"
SHOWN = 5
"""Names that a message lists before it only counts."""
ROOM = 1 << 28
"""Bytes of pictures that are kept from the survey until they are read."""
Look = tuple[int, int, str]
"""Width, height and mode of an image."""


class Decoded:
    """Pictures that were decoded to look at them and wait to be used, as many as fit into so many bytes."""

    def __init__(self, room: int | None = None) -> None:
        self._room = ROOM if room is None else room
        self._pictures: dict[Path, Image] = {}
        self.full = False
        """Whether a picture found no room, and will be decoded twice."""

    def keep(self, file: Path, picture: "Image") -> None:
        """Remember a picture unless there is no room left."""
        taken = 4 * picture.width * picture.height + 2_000  # at most, and what holds them
        if taken <= self._room:
            self._room -= taken
            self._pictures[file] = picture.copy()
        else:
            self.full = True

    def take(self, file: Path) -> "Image | None":
        """Hand out a picture that was kept, and forget it."""
        return self._pictures.pop(file, None)


def sound_files(
    name: str, files: Sequence[Path], decoded: Decoded, *, sized: bool, skip_bad: bool
) -> tuple[dict[Path, Look], str]:
    """The files that can be read, and what was left out, in words; with ``skip_bad``, otherwise bad ones are refused.

    Unless the caller says a size (``sized``), those that have not the commonest one are bad, too. ``decoded`` keeps
    what was read. Of a large folder what was found is remembered under the data root, until a file of it changes.
    """
    looks = _survey(name, files, decoded)
    bad = {file: look for file, look in looks.items() if isinstance(look, str)}
    sound = {file: look for file, look in looks.items() if not isinstance(look, str)}
    counts = Counter(look[:2] for look in sound.values()).most_common()
    odd = [] if sized or len(counts) < 2 else [file for file, look in sound.items() if look[:2] != counts[0][0]]
    wrong = _in_words(bad, odd, counts, len(files))
    left = {file: look for file, look in sound.items() if file not in set(odd)}
    if wrong and not skip_bad:
        ways = ["mend or remove them"]
        ways += ["bring all to one size by size=64 (any number)"] if odd else []
        ways += ["leave bad ones out by skip_bad=True"] if left else []
        raise UsageError(f"{name}: {'; '.join(wrong)}. Try: {', or '.join(ways)} ({SYNTAX})")
    if not left:
        raise UsageError(f"{name}: no image is left. {'; '.join(wrong)}")
    return left, "; ".join(wrong)


def _survey(name: str, files: Sequence[Path], decoded: Decoded) -> dict[Path, Look | str]:
    """What every file is, or why it is no image."""
    record = f"own/{name}-{_digest(files)}.survey.json"
    if (known := find_file(record)) is not None:
        with contextlib.suppress(UsageError):  # a damaged record is made anew
            return _read(known, files)
    looks = {}
    with Progress(f"looking at {name}", len(files), unit="images", brief=True) as progress:
        for file in files:
            looks[file] = _look(file, decoded)
            progress.advance(1)
    if decoded.full:
        with contextlib.suppress(UsageError, OSError):  # where nothing can be kept, the next opening looks again
            write_json(home("own") / Path(record).name, {"files": [_entry(look) for look in looks.values()]})
    return looks


def _digest(files: Sequence[Path]) -> str:
    """A name for the files as they are: it changes with any of them, and with the library that decodes them."""
    import PIL

    digest = hashlib.sha256(PIL.__version__.encode())
    for file in files:
        digest.update(os.fsencode(file.parent.name) + b"/" + os.fsencode(file.name) + b"\0")
        with contextlib.suppress(OSError):  # a link to nothing
            status = file.stat()
            digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def _read(path: Path, files: Sequence[Path]) -> dict[Path, Look | str]:
    entry = {"width": int, "height": int, "mode": str, "bad": str | None}
    stored = read_json(path, {"files": [entry]})["files"]
    if len(stored) != len(files):
        raise UsageError(f"{path} is of {len(stored)} files, there are {len(files)}")
    looks = (one["bad"] or (one["width"], one["height"], one["mode"]) for one in stored)
    return dict(zip(files, looks, strict=True))


def _entry(look: Look | str) -> dict[str, int | str | None]:
    width, height, mode = (0, 0, "") if isinstance(look, str) else look
    return {"width": width, "height": height, "mode": mode, "bad": look if isinstance(look, str) else None}


def _look(file: Path, decoded: Decoded) -> Look | str:
    """What an image that decodes is, or why it does not."""
    try:
        with open_image(file) as image:
            image.load()
            decoded.keep(file, image)
            return (*image.size, image.mode)
    except UsageError as error:
        return readable(str(error).replace(str(file), file.name))


def _in_words(
    bad: dict[Path, str], odd: Sequence[Path], counts: Sequence[tuple[tuple[int, int], int]], total: int
) -> list[str]:
    wrong = []
    if bad:
        shown = [f"{readable(file.name)} ({why})" for file, why in list(bad.items())[:SHOWN]]
        wrong.append(f"{len(bad):,} of {total:,} files cannot be read: {_listed(shown, len(bad))}")
    if odd:
        kinds = [f"{count:,} of {width}x{height}" for (width, height), count in counts[:SHOWN]]
        shown = [readable(file.name) for file in odd[:SHOWN]]
        wrong.append(
            f"images differ in size ({_listed(kinds, len(counts))}): {len(odd):,} have not the commonest, "
            f"{_listed(shown, len(odd))}"
        )
    return wrong


def _listed(shown: Sequence[str], total: int) -> str:
    return ", ".join(shown) + (f" and {total - len(shown):,} more" if total > len(shown) else "")
