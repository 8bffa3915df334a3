"""Which files of a folder are sound images of one size: all that is wrong is found before anything is said."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.paths import readable
from unbraid.progress import Progress
from unbraid.reading import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["SYNTAX", "Decoded", "sound_files"]

SYNTAX = "on the command line: --data FOLDER:size=64,skip_bad=true"
SHOWN = 5
"""Names that a message lists before it only counts."""


class Decoded:
    """Pictures that were decoded to look at them and wait to be used, as many as fit into so many bytes."""

    def __init__(self, room: int = 1 << 28) -> None:
        self._room = room
        self._pictures: dict[Path, Image] = {}

    def keep(self, file: Path, picture: "Image") -> None:
        """Remember a picture unless there is no room left."""
        taken = 4 * picture.width * picture.height + 2_000  # at most, and what holds them
        if taken <= self._room:
            self._room -= taken
            self._pictures[file] = picture.copy()

    def take(self, file: Path) -> "Image | None":
        """Hand out a picture that was kept, and forget it."""
        return self._pictures.pop(file, None)


def sound_files(
    name: str, files: Sequence[Path], decoded: Decoded, *, sized: bool, skip_bad: bool
) -> tuple[list[Path], str]:
    """The files that can be read, and what was left out, in words; with ``skip_bad``, otherwise bad ones are refused.

    Unless the caller says a size (``sized``), those that have not the commonest one are bad, too. ``decoded`` keeps
    what was read.
    """
    bad: dict[Path, str] = {}
    sizes: dict[Path, tuple[int, int]] = {}
    with Progress(f"looking at {name}", len(files), unit="images", brief=True) as progress:
        for file in files:
            found = _size(file, decoded)
            if isinstance(found, str):
                bad[file] = found
            else:
                sizes[file] = found
            progress.advance(1)
    counts = Counter(sizes.values()).most_common()
    odd = [] if sized or len(counts) < 2 else [file for file, size in sizes.items() if size != counts[0][0]]
    wrong = _in_words(bad, odd, counts, len(files))
    left = [file for file in files if file not in bad and file not in set(odd)]
    if wrong and not skip_bad:
        ways = ["mend or remove them"]
        ways += ["bring all to one size by size=64 (any number)"] if odd else []
        ways += ["leave bad ones out by skip_bad=True"] if left else []
        raise UsageError(f"{name}: {'; '.join(wrong)}. Try: {', or '.join(ways)} ({SYNTAX})")
    if not left:
        raise UsageError(f"{name}: no image is left. {'; '.join(wrong)}")
    return left, "; ".join(wrong)


def _size(file: Path, decoded: Decoded) -> tuple[int, int] | str:
    """The size of an image that decodes, or why it does not."""
    try:
        with open_image(file) as image:
            image.load()
            decoded.keep(file, image)
            return image.size
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
