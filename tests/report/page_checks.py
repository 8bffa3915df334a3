"""What every page must be: well formed, of one piece, described in words, and safe."""

from __future__ import annotations

import itertools
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "meta", "wbr"}


class Page(HTMLParser):
    """The elements of a page in order, with their texts; refuses tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> without a start"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if data.strip() and self.open and self.open[-1] not in ("style", "script"):
            self.texts.append((self.open[-1], data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(text for _, text in self.texts).split())


def check_page(text: str) -> Page:
    """Parse a page and check what holds for all of them."""
    page = Page(text)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids)), "ids repeat"
    for name, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")], f"<{name}> has a handler: {attributes}"
        assert "style" not in attributes, "the policy forbids style attributes"
        for key in ("src", "href"):
            address = attributes.get(key)
            assert address is None or address.startswith(("data:image/png;base64,", "#")), f"{name} {key}={address!r}"
            if address and address.startswith("#"):
                assert address[1:] in ids, f"{address} leads nowhere"
    assert all((a.get("alt") or "").strip() for a in page.all("img")), "an image has no alt text"
    levels = [int(name[1]) for name, _ in page.elements if name in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels
    assert len(page.all("script")) == len(page.all("style")) == 1, "something added a script or style"
    for attributes in page.all("svg"):
        assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])
    captions = sum(name == "figcaption" for name, _ in page.elements)
    assert captions == len(page.all("figure")) > 0 or not page.all("figure")
    assert not [t for tag, t in page.texts if tag == "figcaption" and not t.strip()]
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    return page
