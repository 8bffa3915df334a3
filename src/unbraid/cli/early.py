"""What is checked before torch is imported, which takes seconds: a wrong name is answered at once."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unbraid.errors import UsageError, unknown_name
from unbraid.paths import quoted

if TYPE_CHECKING:
    from unbraid.study import Study

__all__ = [
    "RECURSIONS",
    "check_data",
    "check_folder",
    "check_net",
    "check_nets",
    "check_options_of",
    "check_score",
]

Kind = Literal["run", "study", "benchmark", "population", "matrix"]

_FILES: dict[Kind, tuple[str, ...]] = {
    "run": ("run.json", "checkpoint.safetensors", "history.csv"),
    "study": ("study.json",),
    "benchmark": ("study.json",),
    "population": ("evolution.json", "recursion.json", "seed-*"),
    "matrix": ("matrix.json",),
}
"""What such a folder has, one of them at least: what is damaged is told by those who read it."""
_START = {
    "run": "unbraid train beta-vae --data blobs16 --out",
    "study": "unbraid study run smoke --out",
    "benchmark": "unbraid generalize run smoke --out",
    "population": "unbraid evolve run --preset smoke --out",
    "matrix": "unbraid transfer run smoke --out",
}

RECURSIONS = {"smoke": "beta-tcvae", "small": "beta-tcvae", "rooms": "beta-tcvae", "paper": "beta-tcvae-sampled"}
"""The objective of each preset of a population."""


def check_folder(path: Path, *kinds: Kind) -> None:
    """Refuse a folder that is not there, with the nearest name beside it, or that is none of these."""
    if str(path).startswith("zoo:"):
        name = str(path).removeprefix("zoo:")
        raise UsageError(f"{path} must be put into a folder first: unbraid zoo get {quoted(name)} --out runs/{name}")
    if not path.is_dir():
        beside = sorted(found.name for found in path.parent.iterdir() if found.is_dir()) if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.5)
        guess = f"; did you mean {path.parent / near[0]}?" if near else "."
        what = f"{path} is a file, no folder" if path.is_file() else f"there is no folder {path}"
        raise UsageError(f"{what}{guess} Give the folder that was --out when it was made")
    if any(next(path.glob(name), None) for kind in kinds for name in _FILES[kind]):
        return
    runs = sorted(str(found.parent) for found in path.glob("*/run.json")) if "run" in kinds else []
    try_ = f"Runs inside it: {', '.join(runs[:8])}" if runs else f"Start one: {_START[kinds[0]]} {quoted(path)}"
    lacks = ", ".join(_FILES[kind][0] for kind in kinds)
    raise UsageError(f"{path} holds no {' and no '.join(kinds)} (no {lacks}). {try_}")


def check_data(name: str | None) -> None:
    """Refuse an unknown data set."""
    from unbraid import data

    if name is not None:
        plain, _ = data.parse(name)
        if plain in data.names() or not data.is_path(plain):
            data.entry(plain)


def check_score(name: str) -> None:
    """Refuse an unknown score to select by."""
    from unbraid.selection import find_score

    find_score(name)


def check_net(objective: object) -> None:
    """Refuse an unknown network of an objective.

    Networks are torch modules, so their names are read off the sources; own ones come with torch, and are known then.
    """
    from unbraid.objectives import FiRevNetObjective, PredictorObjective
    from unbraid.options import parse_name

    given = getattr(objective, "net", None)
    if not isinstance(given, str) or "torch" in sys.modules:
        return
    kind, folder, more = "network", "nets", []
    if isinstance(objective, PredictorObjective):
        kind, folder = "predictor", "nets/predictors"
    elif isinstance(objective, FiRevNetObjective):
        kind, folder, more = "bijection", "nets/bijections", ["auto"]
    known, name = [*_registered(folder), *more], parse_name(given)[0]
    if name.replace("_", "-").lower() not in known:
        hint = "An own one must be imported first (on the command line: --plugin FILE.py)"
        raise unknown_name(kind, name, known, hint)


def check_options_of(objective: str, options: Iterable[str]) -> None:
    """Refuse options, written NAME=VALUE, that an objective does not have or cannot take, and unknown networks."""
    from unbraid import objectives
    from unbraid.options import parse_value

    pairs = [word.partition("=") for word in options]
    given = {name.replace("-", "_"): parse_value(value) for name, equals, value in pairs if equals and value}
    check_net(objectives.make(objective, given))


def check_nets(study: Study) -> None:
    """Refuse an unknown network of an objective of a study."""
    from unbraid import objectives

    for name, net in dict.fromkeys((spec.objective, spec.net) for spec in study):
        try:
            check_net(objectives.make(name, {} if net is None else {"net": net}))
        except UsageError as error:
            raise UsageError(f"{study.source}: objectives.{name}.net: {error}") from error


def _registered(folder: str) -> list[str]:
    """The names that the modules of a folder of this package register."""
    return [
        str(decorator.args[0].value)
        for file in sorted((Path(__file__).parent.parent / folder).glob("*.py"))
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        for decorator in getattr(node, "decorator_list", ())
        if isinstance(decorator, ast.Call)
        and getattr(decorator.func, "id", "") == "register"
        and isinstance(decorator.args[0], ast.Constant)
    ]
