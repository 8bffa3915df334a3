"""Why nothing is taken over: how the nearest of other studies differs from a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unbraid.claims.elsewhere import records_under, studies_under
from unbraid.claims.group import FIRST_SEED, TABLE
from unbraid.claims.recipes import asked_of_runs, difference, told
from unbraid.claims.reuse import RECIPES, RECIPES_FORM, hashes_of, recipes_of
from unbraid.errors import UsageError
from unbraid.study import Study

__all__ = ["refusal"]

_FIRST = ("data", "data.name", "steps", "batch_size", "net", "net.name")
"""What is told before other differences."""
_COLUMNS = {"objective": "objective", "data": "data", "net": "net", "steps": "steps", "batch_size": "batch_size"}
"""What tables say of their runs, as far as recipes of studies have it."""


@dataclass(frozen=True)
class _Near:
    place: Path
    differences: Mapping[str, tuple[Any, Any]]
    seeds: Sequence[int]
    far: int = 0
    """In how many of the columns of tables it differs, which all of them have."""
    lacks: str = ""
    """What would be needed to take it over, even by the same recipe."""

    def overlaps(self, study: Study) -> bool:
        return bool(set(self.seeds) & set(study.seeds))

    def why(self, study: Study) -> str:
        """What speaks against taking it over; empty if nothing does."""
        words = [told(dict(sorted(self.differences.items(), key=lambda item: item[0] not in _FIRST)))]
        if not self.overlaps(study):
            known = f", which rules were made knowing (verdicts use {FIRST_SEED} and later)"
            seeds = f"seeds {_range(study.seeds)} here, {_range(self.seeds)} there"
            words.append(seeds + known * (max(self.seeds) < FIRST_SEED))
        return "; ".join(filter(None, [*words, self.lacks]))


def refusal(study: Study, places: Sequence[Path]) -> str:
    """How the nearest study or table under these folders differs; empty if nothing does."""
    found = [*_studies(study, places), *_tables(study, places)]
    if not found:
        named = ", ".join(dict.fromkeys(spec.objective for spec in study))
        return f"nothing to take over: no study under {', '.join(map(str, places))} trains {named}"
    near = min(found, key=lambda one: (bool(one.why(study)), one.far, not one.overlaps(study), len(one.differences)))
    why = near.why(study)
    return f"nothing to take over from {near.place}, the nearest: {why}" if why else ""


def _studies(study: Study, places: Sequence[Path]) -> Iterator[_Near]:
    mine = list(recipes_of(_one_seed(study, study.seeds[0])).values())
    for other in studies_under(places):
        try:
            theirs = list(recipes_of(_one_seed(other.study, study.seeds[0])).values())
        except UsageError:
            continue  # of options or data sets that are not known here
        found = _nearest(mine, theirs)
        if found is None:
            continue
        if not _runs(other.path):
            found |= difference(_asked(study), _asked(other.study))
        far = _nearest(_all_words(study), _all_words(other.study))
        lacks = _lacks(other.path, study, other.study.seeds, found)
        yield _Near(other.path, found, other.study.seeds, len(far or ()), lacks)


def _tables(study: Study, places: Sequence[Path]) -> Iterator[_Near]:
    """Tables without a study beside them: their columns say a part of the recipe."""
    import polars as pl

    mine = _all_words(study)
    for path in (path for place in places for path in sorted(Path(place).glob(f"**/{TABLE}"))):
        if path.with_name("study.json").exists():
            continue
        table = pl.read_parquet(path)
        if not {*_COLUMNS.values(), "seed"} <= set(table.columns):
            continue
        theirs = table.select(_COLUMNS.values()).unique(maintain_order=True).to_dicts()
        found = _nearest(mine, theirs)
        if found is not None:
            seeds = tuple(table["seed"].drop_nulls().unique().sort().to_list())
            yield _Near(path.parent, found, seeds, len(found), _lacks(path.parent, study, seeds, found))


def _runs(place: Path) -> bool:
    return any((place / "runs").glob("*/run.json"))


def _lacks(place: Path, study: Study, seeds: Sequence[int], differences: Mapping[str, Any]) -> str:
    """What else speaks against a folder: that it does not tell its recipes, or others where nothing else differs."""
    if not (place / RECIPES).exists():
        return "" if _runs(place) else f"without its runs its table needs a {RECIPES}"
    kept = dict(records_under([place], RECIPES, RECIPES_FORM)).get(place / RECIPES, {"runs": {}})
    mine = set(hashes_of(replace(study, seeds=tuple(seeds))).values())
    return "" if differences or mine & set(kept["runs"].values()) else f"its {RECIPES} has other recipes"


def _nearest(mine: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The fewest differences of any two trainings by the same objective; ``None`` if there are none."""
    each = [difference(a, b) for a in mine for b in theirs if a["objective"] == b["objective"]]
    return min(each, key=len, default=None)


def _all_words(study: Study) -> list[dict[str, Any]]:
    """What a table says of the settings of a study."""
    one = _one_seed(study, study.seeds[0])
    return [{column: getattr(spec, name) for name, column in _COLUMNS.items()} for spec in one]


def _one_seed(study: Study, seed: int) -> Study:
    return replace(study, seeds=(seed,))


def _asked(study: Study) -> dict[str, Any]:
    return {f"{one['measure']} {n}": one for n, one in enumerate(asked_of_runs(study.measures))}


def _range(seeds: Sequence[int]) -> str:
    return f"{seeds[0]}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
