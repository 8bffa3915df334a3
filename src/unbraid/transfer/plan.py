"""What a matrix consists of: which recipes are trained on which data, and which scenarios they are asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from unbraid.errors import UsageError, unknown_name
from unbraid.reading import check_form
from unbraid.transfer.domains import DOMAINS, RANDOM, Domain
from unbraid.transfer.recipes import Budget, Recipe, asking_of, canonical, cost_of, recipe, twin_of
from unbraid.transfer.scenario import READOUT, STEP, Scenario, get, make

__all__ = ["Cell", "Plan", "RunKey", "with_twins"]

RUN = 2.0
"""Seconds of one core that a run takes besides: files, data, its first step."""
RECORD = {
    "name": str,
    "domains": [str],
    "biases": [str],
    "scenarios": [str],
    "seeds": [int],
    "budget": dict,
    "settings": dict,
    "only": dict,
    "absent": dict,
    "unsplit": [str],
}


@dataclass(frozen=True)
class RunKey:
    """One training: what two biases that only ask differently have in common."""

    domain: str
    training: str
    recipe: str
    """The name of what is trained, without what is built on it."""
    seed: int

    @property
    def path(self) -> str:
        """Of its folder, under that of the matrix."""
        return f"{self.domain}/{self.training}/{self.recipe}/{self.seed}"


@dataclass(frozen=True)
class Cell:
    """One number: a scenario asked of a model."""

    domain: str
    bias: str
    scenario: str
    seed: int

    @property
    def path(self) -> str:
        return f"{self.domain}/{self.bias}/{self.scenario}/{self.seed}.json"


@dataclass(frozen=True)
class Plan:
    """A matrix, or several on different domains: every bias with its twin, every scenario, every seed."""

    name: str
    domains: tuple[str, ...]
    biases: tuple[str, ...]
    scenarios: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: Budget = field(default_factory=Budget)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of scenarios by name; under ``all`` of every scenario that has them."""
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Seeds, as text, by bias, where they are not those of all."""
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Biases by domain that are not trained there."""
    unsplit: tuple[str, ...] = ()
    """Biases that are trained on the random part alone, not on the splits."""

    def __post_init__(self) -> None:
        for name in self.domains:
            if name not in DOMAINS:
                raise unknown_name("domain", name, DOMAINS)
        for what, found in (("domains", self.domains), ("biases", self.biases), ("scenarios", self.scenarios)):
            if not found or len(set(found)) < len(found):
                raise UsageError(f"{what} must be different names, at least one, got {', '.join(found) or 'none'}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise UsageError(f"seeds must be different whole numbers from 0, at least one, got {self.seeds}")
        for name in self.scenarios:
            get(name)
        for name in (*self.biases, *self.unsplit, *(name for found in self.absent.values() for name in found)):
            if canonical(name) != name:
                raise UsageError(f"bias {name!r} is written {canonical(name)!r}")

    def scenario(self, cell: Cell) -> Scenario:
        """The scenario of a cell with the settings of this matrix, as a model of its bias is asked."""
        told = {**self.settings.get("all", {}), **self.settings.get(cell.scenario, {})}
        made = self.recipe(cell.domain, cell.bias)
        return make(cell.scenario, **told, reading=made.reading).suited(made.objective)

    def recipe(self, domain: str, bias: str) -> Recipe:
        return _recipe(bias, DOMAINS[domain], self.budget)

    def seeds_of(self, bias: str) -> tuple[int, ...]:
        return tuple(int(seed) for seed in self.only[bias]) if bias in self.only else self.seeds

    def cells(self) -> list[Cell]:
        """All cells that apply by what is known before anything is trained."""
        found = []
        for domain in self.domains:
            for bias in self.biases:
                if bias in self.absent.get(domain, ()) or self.refused(domain, bias):
                    continue
                for name in self.scenarios:
                    if self._applies(DOMAINS[domain], bias, name):
                        found += [Cell(domain, bias, name, seed) for seed in self.seeds_of(bias)]
        return found

    def refused(self, domain: str, bias: str) -> str:
        """Why a bias cannot be trained on a domain; empty if it can."""
        try:
            made = self.recipe(domain, bias)
        except UsageError as error:
            return str(error)
        grid = not DOMAINS[domain].tests
        if not grid and made.objective in ("ada-gvae", "slow-vae", "pcl"):
            return f"{bias} is trained on pairs of images, and {domain} has no grid of factors to make them of"
        return ""

    def run_key(self, cell: Cell) -> RunKey:
        """The training that a cell is asked of."""
        return RunKey(cell.domain, get(cell.scenario).training, self.trained_as(cell.bias), cell.seed)

    def trained_as(self, bias: str) -> str:
        """The bias without what only changes how the model is asked."""
        if bias == "abs-exact" or bias.startswith("abs-exact+"):
            return bias.replace("abs-exact", "abs", 1)
        twin = twin_of(bias)
        return twin if bias == f"{twin}+verified" else bias

    def hours(self, keys: Sequence[RunKey], cells: Sequence[Cell], fitted: Collection[RunKey] = ()) -> float:
        """Expected hours of one core for these trainings, these cells, and read-outs of runs that are not `fitted`."""
        training = sum(RUN + self.recipe(key.domain, key.recipe).steps * self._step(key) for key in keys)
        read = {self.run_key(cell) for cell in cells if self.recipe(cell.domain, cell.bias).encodes}
        training += sum(READOUT * DOMAINS[key.domain].cost for key in read.difference(fitted))
        return (training + sum(self._seconds(cell) for cell in cells)) / 3600

    def _step(self, key: RunKey) -> float:
        return STEP * self.budget.batch_size / 64 * cost_of(key.recipe) * DOMAINS[key.domain].cost

    def _seconds(self, cell: Cell) -> float:
        scenario = self.scenario(cell)
        return DOMAINS[cell.domain].cost * scenario.seconds(asking_of(cell.bias), cost_of(cell.bias))

    def to_json(self) -> dict[str, Any]:
        """The record in the folder of a matrix."""
        about = asdict(self)
        return json.loads(json.dumps(about))

    @classmethod
    def from_json(cls, record: Mapping[str, Any], source: str) -> Plan:
        check_form(record, RECORD, source, remedy="written by another version, or edited?")
        lists: dict[str, Any] = {
            key: tuple(record[key]) for key in ("domains", "biases", "scenarios", "seeds", "unsplit")
        }
        for key in ("only", "absent"):
            lists[key] = {name: tuple(told) for name, told in record[key].items()}
        return cls(str(record["name"]), **lists, budget=Budget(**record["budget"]), settings=record["settings"])

    def asked(self, cell: Cell) -> str:
        """A hash of all that decides a cell's number; another one makes it to be measured anew."""
        from unbraid.evaluation import settings_of

        scenario = self.scenario(cell)
        about = [settings_of(scenario), scenario.version, self.recipe(cell.domain, cell.bias).trained()]
        if found := scenario.reads():
            about.append(found)
        if source := DOMAINS[cell.domain].source:
            about.append({"source": source})
        return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def _applies(self, domain: Domain, bias: str, name: str) -> bool:
        scenario = get(name)
        if scenario.training != RANDOM and (domain.tests or bias in self.unsplit):
            return False
        made = self.recipe(domain.name, bias)
        classes = made.objective in ("abs", "ice", "firevnet", "classifier")
        if "factors" in scenario.wants and (classes or domain.tests):
            return False
        if "bijection" in scenario.wants and made.objective not in ("ice", "firevnet"):
            return False
        if name == "few-labels" and made.objective in ("abs", "ice", "firevnet"):
            return False
        return name != "identity" or bool(domain.fresh)


@lru_cache(maxsize=4096)  # a plan asks for the same ones for every scenario and seed
def _recipe(bias: str, domain: Domain, budget: Budget) -> Recipe:
    return recipe(bias, domain, budget)


def with_twins(biases: Sequence[str]) -> tuple[str, ...]:
    """Names in their one spelling, each after the twin that it is compared with, vanilla first."""
    found: dict[str, None] = {"vanilla": None}
    for name in biases:
        found[canonical(twin_of(name))] = None
        found[canonical(name)] = None
    return tuple(found)
