"""The frame of every page: style and script inside, a policy that forbids everything from outside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from unbraid.report.page.markup import Html, Section, slug, tag
from unbraid.report.page.palette import theme_css
from unbraid.report.page.svg import chart_css

__all__ = ["page"]


def page(title: str, subtitle: str, lead: object, sections: Sequence[Section], made_by: str) -> str:
    """A whole HTML file.

    The content security policy names the one style and the one script by their hashes, so that nothing else runs and
    nothing is fetched, even if a file of the run tried to smuggle markup in.
    """
    here = files(__package__)
    style = theme_css() + chart_css() + here.joinpath("page.css").read_text(encoding="utf-8")
    script = here.joinpath("page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · unbraid"),
        Html(f"<style>{style}</style>"),
    )
    links = [tag("li", tag("a", one.short, href=f"#{slug(one.heading)}")) for one in sections]
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("div", tag("nav", tag("ul", links), aria_label="Sections"), _toggle(), class_="bar-inner"),
            class_="bar-top",
        ),
        tag("main", tag("h1", title), tag("p", subtitle, class_="path"), lead, *sections, id="content", tabindex=-1),
        tag("footer", tag("p", "Made by ", tag("code", made_by), ". One file, nothing is loaded from elsewhere.")),
        tag("div", class_="tip", role="status", aria_live="polite", hidden=True),
        Html(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _toggle() -> Html:
    return tag("button", "Dark", type="button", class_="theme", aria_pressed="false", aria_label="Dark colours")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
