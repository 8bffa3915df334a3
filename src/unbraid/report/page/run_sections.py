"""The sections of the page about one run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from unbraid import objectives
from unbraid.evaluation import title
from unbraid.metrics import above_ceiling
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.charts import Series, line_chart
from unbraid.report.page.corrupted import corrupted_section
from unbraid.report.page.folder import SPLIT, Gap, History
from unbraid.report.page.latents import active_latents, information, matching, reconstructions, traversals
from unbraid.report.page.markup import Html, Section, command, figure, note, section, tag, terms, words
from unbraid.report.page.measures import measures_section
from unbraid.report.page.merging import merging_section
from unbraid.report.page.model import Look
from unbraid.report.page.predictions import predictions
from unbraid.report.page.scores import scores_section
from unbraid.report.page.synthesis import drawings

__all__ = ["curve_chart", "gaps", "headline", "run_sections", "tiles"]


def headline(look: Look) -> str:
    """What a run is, in a few words."""
    return f"{objectives.title(look.folder.objective)} on {look.folder.data}"


NATS = ("reconstruction", "weighed_reconstruction", "penalty", "kl", "cross_entropy")


def run_sections(look: Look) -> list[Section]:
    """Everything there is to say about a run, in order; sections that do not apply are left out."""
    found = [
        _what(look),
        _curves(look.folder.history),
        *predictions(look.predicted),
        *drawings(look.drawn),
        reconstructions(look),
        traversals(look),
        active_latents(look),
        information(look),
        matching(look),
        scores_section(look),
        merging_section(look),
        corrupted_section(look.answers),
        measures_section(look.answers, look.folder.step),
        _configuration(look),
    ]
    return [one for one in found if one is not None]


def gaps(missing: Sequence[Gap]) -> Html | None:
    """What is missing, why, and what to do."""
    if not missing:
        return None
    items = [note(tag("b", f"Missing: {gap.what}"), f" – {gap.why.rstrip('.')}.", try_=gap.command) for gap in missing]
    return tag("div", items, class_="gaps")


def tiles(look: Look) -> Html:
    """The numbers to know first."""
    info, shown = look.folder.info, []
    if look.folder.step is not None:
        status = str(info.get("status", ""))
        shown.append(("steps", f"{look.folder.step:,}", "" if status == "finished" else status))
    for one in look.predicted:
        name = f"{one.title} of {one.factor}" if one.factor and len(look.predicted) > 1 else one.title
        shown.append((name, number(one.score.value, 4), one.aside))
    if look.reconstruction is not None:
        shown.append(("reconstruction", number(look.reconstruction), "nats per image"))
    if look.kl is not None and look.active is not None:
        shown.append(("KL", number(float(look.kl.sum())), "nats per image"))
        shown.append(("active latents", f"{int(look.active.sum())}", f"of {len(look.kl)}"))
    for name in ("mig", "dci", "mcc"):
        if look.scores and name in look.scores:
            score = look.scores[name]
            word = "above" if above_ceiling(score, 3) else "of"
            bound = "" if math.isnan(score.ceiling) else f"{word} {number(score.ceiling)}"
            shown.append((title(name), number(score.value), bound))
    return tag(
        "ul",
        [tag("li", tag("span", name), tag("b", value), tag("small", extra)) for name, value, extra in shown],
        class_="tiles",
    )


def _what(look: Look) -> Section:
    folder, info = look.folder, look.folder.info
    line = objectives.formula(folder.objective, folder.options)
    minimised = tag("p", "Minimises ", tag("code", line), class_="formula") if line else None
    facts: list[tuple[object, object]] = [
        ("Objective", tag("div", objectives.about(folder.objective) or folder.objective, minimised)),
        ("Data", ", ".join(filter(None, (folder.data, *_size(info.get("data")))))),
    ]
    if look.dataset is not None and look.dataset.factor_sizes:
        described = zip(look.dataset.factor_names, look.dataset.factor_sizes, look.dataset.factor_kinds, strict=True)
        each = [f"{name} ({size} values, {kind})" for name, size, kind in described]
        facts.append(("Factors", "; ".join(each)))
    if look.dataset is not None:
        card = look.dataset.card
        about = f"{card.title.rstrip('.')}. Source: {card.source.rstrip('.')}. Licence: {card.licence.rstrip('.')}."
        facts.append(("Data card", f"{about} Cite: {card.citation}" if card.citation else about))
        facts.append(("Stands in for", card.stands_in_for))
        facts.append(("Traps", tag("ul", [tag("li", trap) for trap in card.traps]) if card.traps else ""))
    steps = "" if folder.step is None else f"{folder.step:,} steps"
    seed = "" if info.get("seed") is None else f"seed {info['seed']}"
    facts.append(("Training", ", ".join(filter(None, (steps, seed, _duration(info.get("seconds")))))))
    return section("What it is", terms([(name, value) for name, value in facts if value not in ("", None)]))


def _duration(seconds: object) -> str:
    if not isinstance(seconds, int | float):
        return ""
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def _size(data: object) -> list[str]:
    """Number and shape of the images, as far as the record says."""
    record = data if isinstance(data, dict) else {}
    images, shape = record.get("images"), record.get("shape")
    return [
        f"{images:,} images" if isinstance(images, int) else "",
        " × ".join(map(str, shape)) + " pixels" if isinstance(shape, list) else "",
    ]


def _curves(history: History | None) -> Section | None:
    if history is None:
        return None
    charts = [curve_chart(name, [Series(name, history.step, y)]) for name, y in history.terms.items()]
    charts += [curve_chart(name, [Series(name, step, y)]) for name, (step, y) in history.measured.items()]
    caption = RUN["curves" if "kl" in history.terms else "plain_curves"]
    return section("Training", figure(caption, tag("div", charts, class_="grid")))


def curve_chart(name: str, series: Sequence[Series]) -> Html:
    """One term of the history, of one run or of several."""
    unit = "nats" if name in NATS else ""
    return line_chart(series, title(name), y_label=unit)


def _configuration(look: Look) -> Section:
    info = look.folder.info
    options = terms([(words(str(key)), _plain(value)) for key, value in look.folder.options.items()])
    about: list[tuple[object, object]] = []
    for key in ("versions", "arithmetic"):
        record = info.get(key)
        about += [(name, _plain(value)) for name, value in record.items()] if isinstance(record, dict) else []
    for key in ("batch_size", "log_every", "status", "error", "format"):
        if key in info:
            about.append((words(key), _plain(info[key])))
    started = info.get("command")
    if isinstance(started, list):
        about.append(("started by", tag("code", " ".join(map(str, started)))))
    recipe = info.get("data", {}).get("recipe") if isinstance(info.get("data"), dict) else None
    held = None if recipe or not info else note("The data was held in memory: put its name in the place of NAME.")
    return section(
        "Reproduce it",
        tag("p", "This command trains the same run: all options are written out, also those that are defaults."),
        command(look.folder.train) if info else None,
        held,
        *_split(recipe),
        tag("p", "And these measure it and make this page again:"),
        command(look.folder.evaluate),
        command(look.folder.report),
        tag("h3", "Hyperparameters") if look.folder.options else None,
        options if look.folder.options else None,
        tag("h3", "Environment") if about else None,
        terms(about) if about else None,
    )


def _split(recipe: object) -> list[Html]:
    """What the file of a split by own values has to hold."""
    options = recipe.get("options") if isinstance(recipe, dict) else None
    given = options.get("split") if isinstance(options, dict) else None
    if not isinstance(given, dict):
        return []
    return [
        tag("p", f"It was trained on one side of a split of its own. Save this as {SPLIT} first:"),
        command(json.dumps(given)),
    ]


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
