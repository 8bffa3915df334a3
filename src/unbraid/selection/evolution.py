"""What a population left behind: a folder with its history, its lineage and its best member."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError
from unbraid.files import write_json
from unbraid.options import check_options
from unbraid.paths import user_path
from unbraid.reading import check_form, read_json, understood
from unbraid.selection.exploit import best_first
from unbraid.selection.hyperparameters import Hyperparameters, Range
from unbraid.selection.population import Member, Population, Replacement, Result, converged, founders, grown, select
from unbraid.selection.population import survivors as surviving

if TYPE_CHECKING:
    import polars

__all__ = ["RECORD", "Best", "Evolution", "Generation", "open_evolution"]

RECORD = "evolution.json"

_RESULT = {
    "member": int,
    "score": float,
    "per_model": [float],
    "runs": [str],
    "hyperparameters": dict,
    "start": list | None,
    "diverged?": bool,
    "error?": str | None,
    "steps": int,
    "retries?": int,
}
_REPLACEMENT = {"loser": int, "winner": int, "old": dict, "new": dict, "loser_score": float, "winner_score": float}
_FORM = {
    "population": dict,
    "seed": int,
    "data": {"fingerprint": str},
    "seconds": float,
    "generations": [{"results": [_RESULT], "survivors": [int], "replacements": list | None}],
}


@dataclass(frozen=True)
class Generation:
    """One generation: how every member did, who went on, and what selection did then (unless it was the last)."""

    results: tuple[Result, ...]
    survivors: tuple[int, ...]
    replacements: tuple[Replacement, ...] | None = None

    @property
    def best(self) -> Result:
        return self.results[best_first([result.score for result in self.results])[0]]


@dataclass(frozen=True)
class Best:
    """The best member of all generations so far."""

    generation: int
    result: Result
    runs: tuple[Path, ...]
    """Run folders of its models."""

    @property
    def score(self) -> float:
        return self.result.score

    @property
    def hyperparameters(self) -> Hyperparameters:
        return self.result.hyperparameters

    @property
    def run(self) -> Path:
        """The run folder of its best model."""
        scores = self.result.per_model
        return self.runs[best_first(scores)[0] if scores else 0]


@dataclass
class Evolution:
    """A population's folder. What is here survives ``kill -9``; :func:`unbraid.selection.evolve` goes on with it."""

    folder: Path
    population: Population
    seed: int
    data: dict[str, Any]
    """Which images it was trained on."""
    generations: list[Generation] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    """Time spent, over all attempts."""

    @property
    def best_scores(self) -> list[float]:
        """The best score of each generation."""
        return [generation.best.score for generation in self.generations]

    @property
    def converged(self) -> bool:
        population = self.population
        return population.patience is not None and converged(
            self.best_scores, population.threshold, population.patience
        )

    @property
    def finished(self) -> bool:
        return self.converged or len(self.generations) >= self.population.generations

    @property
    def best(self) -> Best:
        """The member with the highest score of all generations; of equals the earliest."""
        found = [
            (generation, result)
            for generation, record in enumerate(self.generations)
            for result in record.results
            if result.runs
        ]
        if not found:
            raise UsageError(f"{self.folder}: no member was trained successfully; see its {RECORD}")
        generation, result = found[best_first([result.score for _, result in found])[0]]
        place = self.member_folder(generation, result.member)
        return Best(generation, result, tuple(place / run for run in result.runs))

    def member_folder(self, generation: int, member: int) -> Path:
        return self.folder / "generations" / f"{generation:03d}" / f"member-{member:02d}"

    def members(self) -> list[Member]:
        """The population as it stands after the last recorded generation (after selection, if that was done)."""
        members = founders(self.population, self.seed)
        for number, generation in enumerate(self.generations):
            by_id = {result.member: result for result in generation.results}
            members = [grown(member, by_id[member.id], number) for member in members]
            members = [member for member in members if member.id in generation.survivors]
            taken = {event.loser: event for event in generation.replacements or ()}
            known = {member.id: member for member in members}
            members = [
                dataclasses.replace(known[taken[m.id].winner], id=m.id, hyperparameters=taken[m.id].new)
                if m.id in taken
                else m
                for m in members
            ]
        return members

    def history(self) -> polars.DataFrame:
        """One row per generation and member: score, hyperparameters, where its weights came from."""
        import polars

        return polars.DataFrame(
            [
                {
                    "generation": number,
                    "member": result.member,
                    "score": result.score,
                    **result.hyperparameters,
                    "steps": result.steps,
                    "from_generation": result.start[0] if result.start else None,
                    "from_member": result.start[1] if result.start else None,
                    "retries": result.retries,
                    "error": result.error,
                }
                for number, generation in enumerate(self.generations)
                for result in generation.results
            ],
            infer_schema_length=None,
        )

    def lineage(self) -> polars.DataFrame:
        """One row per replacement: after which generation, loser, winner, both scores, old and new hyperparameters."""
        import polars

        return polars.DataFrame(
            [
                {
                    "generation": number,
                    "loser": event.loser,
                    "winner": event.winner,
                    "loser_score": event.loser_score,
                    "winner_score": event.winner_score,
                    **{f"old_{name}": value for name, value in event.old.items()},
                    **{f"new_{name}": value for name, value in event.new.items()},
                }
                for number, generation in enumerate(self.generations)
                for event in generation.replacements or ()
            ],
            infer_schema_length=None,
        )

    def ancestry(self, generation: int, member: int) -> list[tuple[int, Result]]:
        """The generations behind a member's weights, oldest first: its hyperparameter schedule."""
        line: list[tuple[int, Result]] = []
        place: tuple[int, int] | None = (generation, member)
        while place is not None:
            number, owner = place
            result = next(r for r in self.generations[number].results if r.member == owner)
            line.append((number, result))
            place = result.start
        return line[::-1]

    def record(self, results: Sequence[Result]) -> None:
        """Add a generation, on the disk too."""
        number = len(self.generations)
        self.generations.append(Generation(tuple(results), tuple(surviving(self.population, results, number))))
        self.save()

    def select(self) -> list[Member]:
        """The members of the next generation; selection is done once and then remembered."""
        members = self.members()
        if self.generations and self.generations[-1].replacements is None:
            members, events = select(self.population, members, len(self.generations) - 1, self.seed)
            self.generations[-1] = dataclasses.replace(self.generations[-1], replacements=tuple(events))
            self.save()
        return members

    def save(self) -> None:
        write_json(
            self.folder / RECORD,
            {
                "format": 1,
                "population": dataclasses.asdict(self.population),
                "seed": self.seed,
                "data": self.data,
                "seconds": round(self.seconds, 1),
                "generations": [dataclasses.asdict(generation) for generation in self.generations],
            },
        )


def open_evolution(folder: str | Path) -> Evolution:
    """Open the folder of a population."""
    path = user_path(folder, "folder")
    if not (path / RECORD).exists():
        raise UsageError(f"{path} holds no population: it has no {RECORD}")
    remedy = "put back a copy, or give the population a new folder"
    with understood(path / RECORD, remedy):
        stored = read_json(path / RECORD, _FORM, remedy=remedy)
        try:
            population = _population(stored["population"])
        except UsageError as error:
            raise UsageError(f"{path / RECORD}: {error}; {remedy}") from error
        _check_generations(stored, population, path / RECORD, remedy)
        return Evolution(
            path,
            population,
            stored["seed"],
            stored["data"],
            [_generation(entry) for entry in stored["generations"]],
            stored["seconds"],
        )


def _check_generations(stored: dict[str, Any], population: Population, path: Path, remedy: str) -> None:
    """Refuse generations that cannot have come one after the other, and values that fit into no table."""
    alive, known = set(range(population.size)), set[tuple[int, int]]()
    for number, generation in enumerate(stored["generations"]):
        results, survivors = generation["results"], set(generation["survivors"])
        events = generation["replacements"] or []
        check_form(events, [_REPLACEMENT], path, f"generations[{number}].replacements", remedy=remedy)
        for values in [entry["hyperparameters"] for entry in results] + [e[k] for e in events for k in ("old", "new")]:
            check_form(values, dict.fromkeys(values, float), path, f"generations[{number}].hyperparameters")
        starts = {tuple(entry["start"]) for entry in results if entry["start"] is not None}
        pairs = {event[side] for event in events for side in ("loser", "winner")}
        counted = all(len(entry["per_model"]) in (0, len(entry["runs"])) for entry in results if entry["runs"])
        members = sorted(entry["member"] for entry in results)
        if members != sorted(alive) or not pairs <= survivors <= alive or not starts <= known or not counted:
            raise UsageError(f"{path}: generation {number} does not follow from the one before it; {remedy}")
        alive, known = survivors, known | {(number, member) for member in members}


def _population(stored: dict[str, Any]) -> Population:
    stored = check_options("a population", Population, stored)
    ranges = stored["ranges"]
    if ranges is not None:
        ranges = {name: Range(**{**entry, "values": tuple(entry["values"])}) for name, entry in ranges.items()}
    return Population(**{**stored, "factors": tuple(stored["factors"]), "ranges": ranges})


def _generation(stored: dict[str, Any]) -> Generation:
    events = stored["replacements"]
    return Generation(
        tuple(_result(entry) for entry in stored["results"]),
        tuple(stored["survivors"]),
        None if events is None else tuple(Replacement(**event) for event in events),
    )


def _result(stored: dict[str, Any]) -> Result:
    start = stored["start"]
    return Result(
        **{
            **stored,
            "per_model": tuple(stored["per_model"]),
            "runs": tuple(stored["runs"]),
            "start": None if start is None else (start[0], start[1]),
        }
    )
