"""One model on all scenarios that apply."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset, load, parse
from unbraid.errors import UsageError, UsageWarning, unknown_name
from unbraid.evaluation import Scores
from unbraid.metrics import Score
from unbraid.transfer.bounds import NORMS
from unbraid.transfer.domains import DOMAINS, RANDOM, Domain, domain_of
from unbraid.transfer.masked import masking
from unbraid.transfer.recipes import names as biases
from unbraid.transfer.scenario import VALUE, Scenario, make
from unbraid.transfer.scenario import names as known
from unbraid.transfer.subjects import Subject, check_subject, subject_of

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

__all__ = ["Card", "Line", "card", "shown_data"]

MOST_WRONG = 8


@dataclass(frozen=True)
class Line:
    """One scenario of a card."""

    scenario: Scenario
    scores: Scores
    chance: float
    ceiling: float
    reference: float | None = None
    note: str = ""

    @property
    def value(self) -> float:
        return float(self.scores[VALUE])


@dataclass(frozen=True)
class Card:
    """What a model does outside its training domain: ``print(card)``, ``card.table()``, ``card.plot()``."""

    model: str
    data: str
    lines: tuple[Line, ...]
    left_out: Mapping[str, str]
    """Scenarios that do not apply, and why."""
    doubts: tuple[str, ...] | None = None
    """Signs that distances under attack cannot be believed; ``None`` if nobody looked for them."""
    wrong: tuple[tuple[int, int, int, float], ...] = ()
    """Images of the reference data that it is surest of and wrong about: position, class, guess, confidence."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, scenario: str) -> float:
        """The number of a scenario."""
        for line in self.lines:
            if line.scenario.name == scenario:
                return line.value
        raise UsageError(f"this card has no scenario {scenario!r}: {self.left_out.get(scenario, 'it was not asked')}")

    def table(self) -> polars.DataFrame:
        """One row per scenario."""
        import polars

        rows = [
            {
                "scenario": line.scenario.name,
                "value": line.value,
                "unit": line.scenario.unit,
                "chance": line.chance,
                "ceiling": line.ceiling,
                "reference": line.reference,
                "note": line.note,
            }
            for line in self.lines
        ]
        kinds = {"scenario": polars.String, "value": polars.Float64, "unit": polars.String, "chance": polars.Float64}
        more = {"ceiling": polars.Float64, "reference": polars.Float64, "note": polars.String}
        return polars.DataFrame(rows, schema=kinds | more)

    def plot(self) -> Figure:
        """A bar per scenario, beside the reference's; save it by ``card.plot().savefig("card.png")``."""
        from unbraid.transfer.card_plot import plot_card

        return plot_card(self)

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {
            "model": self.model,
            "data": self.data,
            "scenarios": {
                line.scenario.name: {
                    "value": _plain(line.value),
                    "unit": line.scenario.unit,
                    "chance": line.chance,
                    "ceiling": line.ceiling,
                    "reference": line.reference,
                    "note": line.note,
                    "details": {name: _plain(float(score)) for name, score in line.scores.items() if name != VALUE},
                }
                for line in self.lines
            },
            "left_out": dict(self.left_out),
            "doubts": None if self.doubts is None else list(self.doubts),
            "wrong": [list(row) for row in self.wrong],
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        lines = [f"{self.model} on {self.data}"]
        for line in self.lines:
            beside = "" if line.reference is None else f"  (reference {line.reference:.3g})"
            note = f"  {line.note}" if line.note else ""
            lines.append(f"  {line.scenario.title:18s} {line.value:8.3f} {line.scenario.unit}{beside}{note}")
        lines += [f"  {name}: left out, needs {reason}" for name, reason in self.left_out.items()]
        lines += [f"  doubt: {doubt}" for doubt in self.doubts or ()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns: list[tuple[str, list[str]]] = [
            ("value", [f"{line.value:.3f}" for line in self.lines]),
            ("reference", ["" if line.reference is None else f"{line.reference:.3f}" for line in self.lines]),
            ("chance", [f"{line.chance:.3g}" for line in self.lines]),
            ("at most", [f"{line.ceiling:.3g}" for line in self.lines]),
            ("unit", [line.scenario.unit for line in self.lines]),
            ("note", [line.note for line in self.lines]),
        ]
        kept = [(name, column) for name, column in columns if any(column)]
        head = "".join(f"<th>{name}</th>" for name in ("scenario", *(name for name, _ in kept)))
        body = ""
        for k, line in enumerate(self.lines):
            cells = "".join(f"<td>{escape(column[k])}</td>" for _, column in kept)
            body += f"<tr><th>{escape(line.scenario.title)}</th>{cells}</tr>"
        caption = f"<caption style='text-align:left'>{escape(self.model)} on {escape(self.data)}</caption>"
        told = [f"{name}: left out, needs {reason}" for name, reason in self.left_out.items()]
        told += [f"Doubt: {doubt}" for doubt in self.doubts or ()]
        told += ["Signs of masked gradients were not looked for."] if self.doubts is None else []
        table = f"<table>{caption}<tr>{head}</tr>{body}</table>"
        return f"<div style='overflow-x:auto'>{table}</div>" + "".join(f"<p>{escape(one)}</p>" for one in told)


def card(
    predict: Any,
    data: str | Dataset,
    *,
    scenarios: Sequence[str | Scenario] | str = "all",
    reference: Any = None,
    seed: int = 0,
    check: bool = True,
    progress: Callable[[str], None] | None = None,
    **settings: Any,
) -> Card:
    """Ask a model every scenario that applies to it.

    ``predict`` is a run or its folder, a torch module on floats ``[n, c, h, w]`` in [0, 1], or any function from uint8
    images ``[n, h, w, c]`` to logits or probabilities ``[n, classes]``. ``data`` is a domain, a data set with classes,
    or a grid of factors. ``reference`` is another such model, whose numbers stand beside, or the name of a recipe, such
    as ``vanilla``, which is trained now by the budget of the small matrix. ``settings`` (``images=100``,
    ``budget="full"``) go to every scenario that has them. ``check`` looks for signs of masked gradients where an attack
    was asked. What a model cannot be asked is left out and said; what cannot be meant is refused before any work.
    A name with ``side=`` is asked about as it is, as a data set is that is a side of a split; of others it is the test
    side of the split that each scenario is about.
    """
    domain, held = _read(data)
    asked = [make(one, **settings) for one in (known() if isinstance(scenarios, str) and scenarios == "all" else
             [scenarios] if isinstance(scenarios, str) else scenarios)]  # fmt: skip
    if not asked:
        raise UsageError(f"scenarios must name at least one of {', '.join(known())}, got none")
    _check_settings(asked, settings)
    test = _data(domain, held, None)
    subject = subject_of(predict, test)
    check_subject(subject, test, domain)
    if isinstance(reference, str) and reference in biases():
        from unbraid.transfer.references import reference_run

        known_as = parse(domain.name)[0] if domain.held is None else ""
        reference = reference_run(reference, DOMAINS.get(known_as, domain), seed)
    other = None if reference is None else subject_of(reference, test)
    if other is not None:
        check_subject(other, test, domain)
    classes = subject.classes(subject.scores(test.images(np.arange(1), np.random.default_rng(0))))
    seen = _seen(subject, test)
    wrong, only = _wrong(subject, test, seed)
    lines, left_out = [], {}
    for scenario in asked:
        reason = scenario.missing(subject, domain) or _not_here(scenario, subject, domain)
        if reason:
            left_out[scenario.name] = reason
            continue
        if progress is not None:
            progress(scenario.name)
        on = _data(domain, held, scenario)
        found = scenario.ask(subject, on, seed)
        beside = None
        if other is not None and not scenario.missing(other, domain):
            beside = float(scenario.ask(other, on, seed)[VALUE])
        chance, ceiling = scenario.chance(classes), scenario.ceiling(on.shape)
        note = _note(scenario, found, only) or (seen if scenario.name == "iid" else "")
        lines.append(Line(scenario, found, chance, ceiling, beside, note))
    attacked = any(line.scenario.name in NORMS for line in lines)
    doubts = masking(subject, test, seed) if check and attacked else None
    about = {"seed": seed, "budget": _budget(lines), "glyphs": test.card.source}
    return Card(subject.name, test.name, tuple(lines), left_out, doubts, wrong, about)


def shown_data(data: str | Dataset) -> Dataset:
    """The images that a card of these data is about, where its scenarios do not say otherwise."""
    return _data(*_read(data), None)


def _read(data: str | Dataset) -> tuple[Domain, Dataset | None]:
    """The domain, and the data as they are, if they are asked about so."""
    if isinstance(data, str) and "side" in parse(data)[1]:
        data = load(data)
    domain = domain_of(data)
    return domain, data if isinstance(data, Dataset) else domain.held


def _check_settings(asked: Sequence[Scenario], settings: Mapping[str, Any]) -> None:
    known = {each.name for one in asked for each in fields(one)}
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of {', '.join(one.name for one in asked)}:", name, known)


def _seen(subject: Subject, test: Dataset) -> str:
    """Why these images are no test for a run, if it may have been trained on them, which is also warned of."""
    if subject.source is None:
        return ""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UsageWarning)
        subject.source.check_data(test)
    for one in told:
        warnings.warn(str(one.message), one.category, stacklevel=3)
    return "no test: the run was trained without a split, and may have seen these images" if told else ""


def _data(domain: Domain, held: Dataset | None, scenario: Scenario | None) -> Dataset:
    """The images to ask about: own data as they are, else the test side of the domain."""
    if held is not None and (held.recipe is None or held.side is not None or domain.held is not None):
        return held
    return load(domain.data(RANDOM, "test") if scenario is None else scenario.on(domain))


def _not_here(scenario: Scenario, subject: Subject, domain: Domain) -> str:
    if scenario.training != RANDOM:
        record = subject.source.info["data"].get("split") if subject.source is not None else None
        if record is None or record["kind"] != scenario.training:
            return f"a model that was trained on the split {scenario.training}"
    if domain.held is not None and scenario.name == "identity":
        return "a domain with spare identities"
    return ""


def _note(scenario: Scenario, scores: Scores, only: str) -> str:
    value = scores[VALUE]
    if isinstance(value, Score) and (reason := value.settings.get("reason")):
        return str(reason)
    if only and (scenario.unit == "distance" or scenario.name == "confidence"):
        return f"meaningless: the model names {only} of every image"
    unmoved = float(scores.get("unmoved", 0.0))
    if scenario.unit == "distance" and unmoved >= 0.5:
        return "meaningless: no attack changes most decisions; does the model name one class of everything?"
    found = scores.get("found")
    if scenario.name == "invariance" and found is not None and float(found) == 1 and float(scores[VALUE]) == 0:
        return "meaningless: the model says the same of every image"
    return ""


def _budget(lines: Sequence[Line]) -> str:
    attacks = [
        name
        for line in lines
        if isinstance(value := line.scores[VALUE], Score)
        for name in value.settings.get("attacks", [])
    ]
    return ", ".join(dict.fromkeys(attacks)) or "no attack"


def _wrong(subject: Subject, data: Dataset, seed: int) -> tuple[tuple[tuple[int, int, int, float], ...], str]:
    """Images that it is surest of and wrong about; and its only answer, if it has one for images of several classes."""
    from unbraid.robustness import Examples

    examples = Examples(data, 500, seed)
    labels = subject.labels(data, examples.index)
    guess, sure = subject.guesses(examples.read(slice(None)))
    rows = np.flatnonzero(guess != labels)
    rows = rows[np.argsort(-sure[rows], kind="stable")][:MOST_WRONG]
    single = len(np.unique(guess)) == 1 < len(np.unique(labels))
    found = tuple((int(examples.index[k]), int(labels[k]), int(guess[k]), float(sure[k])) for k in rows)
    return found, f"class {guess[0]}" if single else ""


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
