"""The sections about what the latents of a model carry."""

from __future__ import annotations

import numpy as np

from unbraid import objectives
from unbraid.evaluation import ACTIVE
from unbraid.report.page.axes import number
from unbraid.report.page.captions import RUN
from unbraid.report.page.charts import Bar, Series, bars, scatter
from unbraid.report.page.markup import Html, Section, figure, fragment, note, section, tag, words
from unbraid.report.page.matching import factor_names, match
from unbraid.report.page.model import Look
from unbraid.report.page.pictures import pairs, strip
from unbraid.report.page.tables import heat_table

__all__ = [
    "active_latents",
    "information",
    "kl_bars",
    "matching",
    "matrix",
    "reconstructions",
    "traversals",
    "walks",
]

_ROWS = 24
"""Latents drawn at most: a flow has thousands."""
_POINTS = 300
_MATRICES = (
    ("mig", "information", "Mutual information of each latent with each factor (nats)"),
    ("dci", "importance", "Importance of each latent for predicting each factor (boosted trees)"),
)


def reconstructions(look: Look) -> Section | None:
    """Images beside what the decoder makes of their codes."""
    if look.originals is None or look.copies is None or look.shown is None:
        if look.codes is None or look.decodes:
            return None
        name = objectives.title(look.folder.objective)
        text = f"{name} has no decoder: there is nothing to reconstruct or to walk through."
        return section("Reconstructions", note(text, kind="info"))
    about = [_image_words(look, place) for place in look.shown]
    error = np.abs(look.originals.astype(float) - look.copies.astype(float)).mean() / 255
    caption = f"{RUN['reconstructions']} Pixels differ by {100 * error:.1f} % of full scale on average."
    return section("Reconstructions", figure(caption, pairs(look.originals, look.copies, about)))


def _image_words(look: Look, place: int) -> str:
    text = f"Image {place}"
    if look.dataset is not None and look.names:
        values = look.dataset.factors(np.array([place]))[0]
        text += " (" + ", ".join(f"{n} {v}" for n, v in zip(look.names, values, strict=True)) + ")"
    return f"{text} above, its reconstruction below"


def traversals(look: Look) -> Section | None:
    """What each latent does to the picture."""
    if look.walks is None:
        if not look.decodes or look.codes is None or look.dataset is None or not look.dataset.has_pictures:
            return None
        text = f"{look.codes.shape[1]:,} latents are too many to walk through one by one on a page."
        return section("What the latents do", note(text, kind="info"), short="Latents")
    play = tag("button", "Play all", type="button", class_="play-all")
    told = [RUN["walks"], RUN["by_spread" if look.kl is None else "by_kl"], *([RUN["matched"]] if look.names else [])]
    return section("What the latents do", figure(" ".join(told), play, walks(look)), short="Latents")


def walks(look: Look, limit: int | None = None, prefix: str = "") -> Html:
    """The strips of a run; dead latents are folded away, or left out where there is a ``limit``."""
    assert look.walks is not None
    found, known = look.walks, match(look)
    alive: list[Html] = []
    dead: list[Html] = []
    for row, latent in enumerate(found.latents):
        kl = None if look.kl is None or latent >= len(look.kl) else float(look.kl[latent])
        carries = [factor for factor, (code, strength) in known.items() if code == latent and strength > 0.5]
        aside = [
            None if kl is None else tag("span", f"KL {number(kl)}"),
            tag("span", words(", ".join(carries)), class_="carries") if carries else None,
        ]
        start, end = (number(float(found.values[row, place])) for place in (0, -1))
        about = f"{prefix}Latent {latent} from {start} to {end}" + (f", KL {number(kl)} nats" if kl is not None else "")
        made = strip(found.images[row], found.values[row], f"z{latent}", aside, about)
        (dead if kl is not None and kl <= ACTIVE else alive).append(made)
    if not alive:
        alive = [note(f"No latent is active: every KL is at most {ACTIVE} nats, so nothing moves.", kind="info")]
    folded = None
    if dead and limit is None:
        folded = tag("details", tag("summary", f"{len(dead)} dead latents"), tag("div", dead, class_="walks"))
    return fragment(tag("div", alive[:limit], class_="walks"), folded)


def active_latents(look: Look) -> Section | None:
    """How much each latent carries."""
    if look.kl is None:
        return None
    told = RUN["latents"].format(active=ACTIVE) + (f" {RUN['too_few']}" if look.names else "")
    return section("Active latents", figure(told, kl_bars(look), class_="side"))


def kl_bars(look: Look, title: str = "KL per latent", tone: int = 0) -> Html:
    """The bars of one run, most informative first."""
    assert look.kl is not None
    order = look.order(len(look.kl))[:_ROWS]
    rows = [Bar(f"z{j}", float(look.kl[j]), tone if look.kl[j] > ACTIVE else None) for j in order]
    return bars(rows, title, x_label="nats")


def information(look: Look) -> Section | None:
    """Which latent knows which factor."""
    if not look.scores or not look.names:
        return None
    made = [matrix(look, *which) for which in _MATRICES]
    shown = [one for one in made if one is not None]
    absent = [name for (name, _, _), one in zip(_MATRICES, made, strict=True) if one is None]
    hint = None
    if absent:
        text = f"Missing: the matrix of {' and that of '.join(absent)}, which the scores do not include."
        hint = note(text, try_=f"{look.folder.evaluate} --metrics mig,dci")
    return section(
        "Which latent knows which factor",
        figure(RUN["matrices"], tag("div", shown, class_="grid wide")) if shown else None,
        hint,
        short="Information",
    )


def matrix(look: Look, name: str, part: str, title: str) -> Html | None:
    """One score's matrix of latents and factors, or nothing if it was not computed or does not fit."""
    score = (look.scores or {}).get(name)
    if score is None:
        return None
    values, names = score.parts.get(part), factor_names(look, score)
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.shape[1] != len(names):
        return None
    order = look.order(len(values))[:_ROWS]
    dead = None if look.active is None or len(look.active) != len(values) else [not look.active[j] for j in order]
    return heat_table(values[order], [f"z{j}" for j in order], names, title, faded=dead)


def matching(look: Look) -> Section | None:
    """Each factor against the latent that stands for it."""
    known = match(look)
    if not known or look.codes is None or look.factors is None:
        return None
    charts = []
    for place, name in enumerate(look.names):
        latent, strength = known.get(name, (-1, 0.0))
        if latent < 0:
            continue
        x, y = look.factors[:_POINTS, place].astype(float), look.codes[:_POINTS, latent]
        rho = f"|ρ| = {strength:.2f}"
        charts.append(
            scatter([Series(name, x, y)], f"{name} ↔ z{latent}", x_label=name, y_label=rho, about=rho, size=(264, 200))
        )
    return section(
        "Each factor and its latent",
        figure(RUN["scatters"], tag("div", charts, class_="grid small")),
        short="Matching",
    )
