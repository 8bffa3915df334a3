"""The sub-commands ``unbraid data list``, ``show`` and ``get``."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from unbraid.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from unbraid import data

__all__ = ["data_get", "data_list", "data_show"]


def data_list(json: bool = False) -> None:
    """List the data sets: factors, number and size of images, whether they are on disk, licence.

    `here` means ready to use; `rendered at first use` needs no file; the rest is downloaded by `unbraid data get NAME`.
    Your own data needs no entry: give the path of an npz file or of a folder of images wherever a name is asked for.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import data

    entries = [data.entry(name) for name in data.names()]
    if json:
        print(jsonlib.dumps([_summary(entry) for entry in entries], indent=2))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("name", "left"), ("images", "right"), ("size", "left")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for heading in ("on disk", "factors", "licence"):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        images = f"{entry.images:,}" if entry.images else ""
        table.add_row(entry.name, images, entry.size, _state(entry), _factors(entry.space), entry.card.licence)
    _console().print(table)


def data_show(
    name: Positional[str],
    *,
    out: Path | None = None,
    split: str | None = None,
    split_seed: int = 0,
    compare: Path | None = None,
    corruptions: bool = False,
    json: bool = False,
) -> None:
    """Show one data set: its card, its factors, and a contact sheet as a PNG.

    Examples: `unbraid data show sprites32`, `unbraid data show sprites32:shape=2,scale=5`, `unbraid data show my.npz`,
    `unbraid data show dsprites --split composition`, `unbraid data show mnist --corruptions`.

    Args:
        name: A name from `unbraid data list`, or the path of an npz file or of a folder of images.
        out: Where to write the picture; `NAME.png` in this folder unless given (`NAME-SPLIT.png` of a split,
            `NAME-corruptions.png` of corruptions).
        split: Show a split instead: random, composition, interpolation, extrapolation, or a JSON file of values. The
            picture tells which cells of each two factors are trained on.
        split_seed: Decides a random split.
        compare: For dsprites: the official npz. Says how many of its images differ from the rendered ones.
        corruptions: Show one image under every corruption in every severity instead (`unbraid list corruptions`).
        json: Print JSON instead of tables.
    """
    from unbraid import data
    from unbraid.data import is_path

    if corruptions and (split is not None or compare is not None):
        raise UsageError("--corruptions shows images; give it without --split and --compare")
    if corruptions:
        _show_corruptions(name, out, json)
        return

    if compare is not None:
        _compare(name, compare, json)
        return
    if split is not None:
        _show_split(name, split, split_seed, out, json)
        return
    plain, options = data.parse(name)
    entry = data.entry(plain) if plain in data.names() or not is_path(plain) else None
    if entry is not None and not (entry.on_disk or entry.made or options):
        # Without its files there is nothing to draw, but everything else is known.
        if json:
            print(jsonlib.dumps(_summary(entry) | {"card": asdict(entry.card), "sheet": None}, indent=2))
        else:
            _print_card(entry.name, entry.card, entry.images, entry.size, _factor_list(entry.space))
            print(f"\nnot on disk: unbraid data get {entry.name}", file=sys.stderr)
        return
    from unbraid.report import contact_sheet

    dataset = data.load(name)
    sheet = contact_sheet(dataset, out or Path(f"{dataset.name}.png")) if dataset.has_pictures else None
    factors = _factor_rows(dataset.factor_names, dataset.factor_sizes, dataset.factor_kinds)
    size = "x".join(map(str, dataset.shape))
    if json:
        summary = {"name": dataset.name, "images": len(dataset), "size": size, "factors": factors}
        print(
            jsonlib.dumps(
                summary | {"card": asdict(dataset.card), "sheet": None if sheet is None else str(sheet)}, indent=2
            )
        )
        return
    _print_card(dataset.name, dataset.card, len(dataset), size, factors)
    if dataset.has_labels:
        print(f"\nclasses: {', '.join(dataset.classes)}")
    if sheet is not None:
        print(f"\ncontact sheet: {sheet}")


def data_get(name: Positional[str], *, root: Path | None = None, json: bool = False) -> None:
    """Download the files of a published data set, or render one that is made here.

    A download that was cut off goes on where it was when the same command is given again. Every file is verified and
    appears under its name only when it is whole.

    Args:
        name: A name from `unbraid data list`.
        root: Put the files under this folder instead of the first one in UNBRAID_DATA (default: ~/.cache/unbraid).
        json: Print the files as JSON.
    """
    from unbraid import data
    from unbraid.data.files import SOURCES

    entry = data.entry(name)
    if entry.name in SOURCES:
        from unbraid.data.files import get

        paths = [str(path) for path in get(entry.name, root, quiet=json)]
    elif root is not None:
        raise UsageError(f"{entry.name!r} is made here; set UNBRAID_DATA to choose the folder instead of root")
    else:
        data.load(entry.name)
        paths = []
    if json:
        print(jsonlib.dumps({"name": entry.name, "files": paths}, indent=2))
    elif paths:
        print("\n".join(paths))
    else:
        print(f"{entry.name} is ready; it needs no download")


def _show_split(name: str, kind: str, seed: int, out: Path | None, json: bool) -> None:
    from unbraid.data import load, split
    from unbraid.report import draw_split

    found = split(load(name), kind, seed)
    picture = draw_split(found, out or Path(f"{found.data.name}-{found.kind}.png"))
    about = found.to_json()
    if json:
        print(jsonlib.dumps({"name": found.data.name, **about, "picture": str(picture)}, indent=2))
        return
    print(f"{found.data.name}: split {found.kind}{' with the published values' * found.published}, hash {found.hash}")
    print(f"train {about['train']:,}, test {about['test']:,} ({about['train'] / len(found.data):.1%} to train on)")
    print(f"seed {found.seed}" if found.rule is None else found.rule.words())
    if found.unseen:
        counts = ", ".join(f"{count:,} with {k}" for k, count in enumerate(about["unseen_factors"]) if count)
        print(f"test images by number of factors with values never trained on: {counts}")
    print(f"picture: {picture}")


def _show_corruptions(name: str, out: Path | None, json: bool) -> None:
    from unbraid.data import load
    from unbraid.report import corruption_sheet

    dataset = load(name)
    sheet = corruption_sheet(dataset, out or Path(f"{dataset.name}-corruptions.png"))
    print(jsonlib.dumps({"name": dataset.name, "sheet": str(sheet)}) if json else f"contact sheet: {sheet}")


def _compare(name: str, file: Path, json: bool) -> None:
    from unbraid.data import compare_dsprites, entry

    if entry(name).name != "dsprites":
        raise UsageError(f"--compare is for dsprites, got {name!r}")
    if not file.exists():
        raise UsageError(f"--compare {file}: no such file")
    result = compare_dsprites(file)
    if json:
        print(jsonlib.dumps(result, indent=2))
        return
    images, wrong, pixels = result["images"], result["differing_images"], result["differing_pixels"]
    print(f"{images:,} images compared with {file}: {wrong:,} differ, in {pixels:,} pixels altogether")
    if wrong:
        print(f"first differing images: {', '.join(map(str, result['first']))}")


def _state(entry: data.Entry) -> str:
    if entry.on_disk:
        return "here"
    return "rendered at first use" if entry.made else "no"


def _factors(space: data.FactorSpace | None) -> str:
    if space is None:
        return "-"
    return ", ".join(f"{name} {size}" for name, size in zip(space.names, space.sizes, strict=True))


def _factor_list(space: data.FactorSpace | None) -> list[dict[str, Any]]:
    if space is None:
        return []
    return _factor_rows(space.names, space.sizes, space.kinds)


def _factor_rows(names: Sequence[str], sizes: Sequence[int] | None, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """What is told of each factor; a measured one has no number of values."""
    counts: Sequence[int | None] = sizes or [None] * len(names)
    rows = zip(names, counts, kinds, strict=True)
    return [{"name": name, "size": size, "kind": kind} for name, size, kind in rows]


def _summary(entry: data.Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.card.title,
        "images": entry.images,
        "size": entry.size,
        "factors": _factor_list(entry.space),
        "on_disk": entry.on_disk,
        "made_here": entry.made or not entry.files,
        "licence": entry.card.licence,
    }


def _print_card(name: str, card: data.Card, images: int | None, size: str, factors: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = _console()
    console.print(Text.assemble((card.title, "bold"), f"  ({name})" if name != card.title else ""))
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    count = f"{images:,} of " if images else ""
    rows = [("images", f"{count}{size}"), ("source", card.source), ("licence", card.licence)]
    rows += [("cite", card.citation)] * bool(card.citation)
    rows += [("stands in for", card.stands_in_for)] * bool(card.stands_in_for)
    rows += [("know that", trap) for trap in card.traps]
    for key, value in rows:
        facts.add_row(key, Text(value))
    console.print(facts)
    if factors:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("factor", "values", "kind"):
            table.add_column(heading, justify="right" if heading == "values" else "left")
        for row in factors:
            table.add_row(row["name"], str(row["size"] or "measured"), row["kind"])
        console.print()
        console.print(table)


def _console() -> Console:
    """A console that does not cut lines to 80 columns when its output goes to a file or a pipe."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)
