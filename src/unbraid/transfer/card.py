"""One model on all scenarios that apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.data import Dataset, load
from unbraid.errors import UsageError
from unbraid.evaluation import Scores
from unbraid.metrics import Score
from unbraid.transfer.domains import RANDOM, Domain, domain_of
from unbraid.transfer.recipes import names as biases
from unbraid.transfer.scenario import VALUE, Scenario, make
from unbraid.transfer.scenario import names as known
from unbraid.transfer.subjects import Subject, check_subject, subject_of

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

__all__ = ["Card", "Line", "card", "masking"]

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
    doubts: tuple[str, ...] = ()
    """Signs that distances under attack cannot be believed."""
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
            "doubts": list(self.doubts),
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
        lines += [f"  doubt: {doubt}" for doubt in self.doubts]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = ""
        for line in self.lines:
            beside = "" if line.reference is None else f"{line.reference:.3g}"
            about = escape(f"chance {line.chance:.3g}, at most {line.ceiling:.3g}. {line.note}")
            body += (
                f"<tr title='{about}'><th>{escape(line.scenario.title)}</th><td>{line.value:.3f}</td>"
                f"<td>{escape(line.scenario.unit)}</td><td>{beside}</td><td>{escape(line.note)}</td></tr>"
            )
        doubts = "".join(f"<p>Doubt: {escape(doubt)}</p>" for doubt in self.doubts)
        head = "<tr><th>scenario</th><th>value</th><th>unit</th><th>reference</th><th></th></tr>"
        caption = f"<caption>{escape(self.model)} on {escape(self.data)}</caption>"
        return f"<table>{caption}{head}{body}</table>{doubts}"


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
    """
    domain = domain_of(data)
    held = data if isinstance(data, Dataset) else domain.held
    asked = [make(one, **settings) for one in (known() if isinstance(scenarios, str) and scenarios == "all" else
             [scenarios] if isinstance(scenarios, str) else scenarios)]  # fmt: skip
    if not asked:
        raise UsageError(f"scenarios must name at least one of {', '.join(known())}, got none")
    test = _data(domain, held, None)
    subject = subject_of(predict, test)
    check_subject(subject, test, domain)
    if isinstance(reference, str) and reference in biases():
        from unbraid.transfer.references import reference_run

        reference = reference_run(reference, domain, seed)
    other = None if reference is None else subject_of(reference, test)
    if other is not None:
        check_subject(other, test, domain)
    classes = subject.scores(test.images(np.arange(1), np.random.default_rng(0))).shape[1]
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
        lines.append(Line(scenario, found, chance, ceiling, beside, _note(scenario, found)))
    attacked = any(line.scenario.name in ("l2", "linf") for line in lines)
    doubts = masking(subject, test, seed) if check and attacked else ()
    about = {"seed": seed, "budget": _budget(lines), "glyphs": test.card.source}
    return Card(subject.name, test.name, tuple(lines), left_out, doubts, _wrong(subject, test, seed), about)


def masking(subject: Subject, data: Dataset, seed: int = 0, *, images: int = 24, steps: int = 20) -> tuple[str, ...]:
    """Signs that distances under attack cannot be believed (:func:`unbraid.robustness.check_masking`), in sentences."""
    from unbraid.robustness import Examples, check_masking

    if not subject.has_gradient:
        return ("no gradients flow through this function: attacks were blind, and distances are upper bounds",)
    examples = Examples(data, images, seed)
    labels = subject.labels(data, examples.index)
    try:
        found = check_masking(
            subject.asked, examples.read(slice(None)), labels, steps=steps, factor=subject.factor, seed=seed
        )
    except UsageError as error:  # the gradient is nothing everywhere, though scores differ
        return (f"attacks along gradients cannot be carried out: {error}",)
    return tuple(str(doubt) for doubt in found)


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


def _note(scenario: Scenario, scores: Scores) -> str:
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


def _wrong(subject: Subject, data: Dataset, seed: int) -> tuple[tuple[int, int, int, float], ...]:
    """Images that it is surest of and wrong about."""
    from unbraid.robustness import Examples

    examples = Examples(data, 500, seed)
    labels = subject.labels(data, examples.index)
    chances = subject.probabilities(examples.read(slice(None)))
    guess, sure = chances.argmax(axis=1), chances.max(axis=1)
    rows = np.flatnonzero(guess != labels)
    rows = rows[np.argsort(-sure[rows], kind="stable")][:MOST_WRONG]
    return tuple((int(examples.index[k]), int(labels[k]), int(guess[k]), float(sure[k])) for k in rows)


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
