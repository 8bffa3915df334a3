"""A site is a set of files by path, made when asked for; it is either written into a folder or served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from unbraid.data import ImageDataset
from unbraid.errors import UsageError
from unbraid.files import make_folders, write_bytes, writing
from unbraid.report.explorer.contents import Contents, look_at
from unbraid.report.explorer.networks import check_exporter
from unbraid.report.explorer.packing import ASSETS, asset, data_script, packed_script, page
from unbraid.training import Run, WrongWeights, open_run

__all__ = ["RunSite", "Site", "run_files", "run_site", "write_site"]


class Site(Protocol):
    """Files by their path, such as ``assets/explorer.js``."""

    def paths(self) -> Iterator[str]:
        """Every file of the folder that :func:`write_site` writes."""
        ...

    def get(self, path: str) -> bytes | None:
        """A file's content; ``None`` if there is no such file. A server asks from several threads at once."""
        ...


class RunSite:
    """The explorer of one run."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._files = run_files(contents, "assets/")

    def paths(self) -> Iterator[str]:
        yield from self._files
        yield from (f"assets/{name}" for name in ASSETS)

    def get(self, path: str) -> bytes | None:
        folder, _, name = path.rpartition("/")
        if folder == "assets":
            return asset(name) if name in ASSETS else None
        return self._files.get(path or "index.html")


def run_site(
    path: str | Path, *, data: ImageDataset | None = None, images: int = 64, sample: int = 4000, seed: int = 0
) -> RunSite:
    """The explorer of a run folder, on another data set than its own if one is given."""
    check_exporter()
    try:
        run = open_run(path, device="cpu")
        _ = run.model
    except WrongWeights:
        raise
    except UsageError:
        pass  # the page says what is missing
    else:
        if data is not None:
            run.check_data(data)

    def load_data(run: Run) -> ImageDataset:
        return run.data() if data is None else data

    return RunSite(look_at(Path(path), load_data, images=images, sample=sample, seed=seed))


def run_files(contents: Contents, assets: str) -> dict[str, bytes]:
    """The files of a run's page."""
    files = {
        "index.html": page(f"{contents.title} · unbraid", "run", assets),
        "run.js": data_script("run", contents.record()),
    }
    for name in ("decoder", "encoder", "images", "starts"):
        if (content := getattr(contents, name)) is not None:
            files[f"{name}.js"] = packed_script(name, content)
    return files


def write_site(site: Site, folder: str | Path, progress: Callable[[str], None] = lambda _: None) -> int:
    """Write a site into a folder that any file server can show; returns its size in bytes."""
    out = Path(folder)
    size = 0
    for path in site.paths():
        content = site.get(path)
        if content is None:
            raise UsageError(f"{path} went away while the folder was written; has the run been deleted?")
        with writing(out / path):
            make_folders((out / path).parent)
            write_bytes(out / path, content)
        progress(path)
        size += len(content)
    return size
