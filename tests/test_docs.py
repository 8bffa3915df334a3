"""Every code block in README and docs runs."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = [ROOT / "docs" / "plugins.md"]
"""Pages that another test runs and looks at: tests/test_plugins.py."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = ("", "text", "toml")
"""Blocks that show something instead of doing it."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_run_or_shown(page):
    assert {kind for kind, _ in blocks(page)} <= {"python", "sh", *SHOWN}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in ELSEWHERE and any(k in ("python", "sh") for k, _ in blocks(page))],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)  # trusted text of this project
        elif kind == "sh":
            for line in filter(None, text.replace("\\\n", " ").splitlines()):
                run_line(line)


def run_line(line: str) -> None:
    from unbraid.cli.app import main

    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "python":
        assert (ROOT / words[0]).is_file()
    else:
        assert program == "unbraid", f"cannot run {line!r}"
        assert main(words) == 0
