"""Every code block in README and docs runs."""

import inspect
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from unbraid import metrics

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = [ROOT / "docs" / "plugins.md"]
"""Pages that another test runs and looks at: tests/test_plugins.py."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISED = re.compile(r'# prints "([^"]+)"')
"""What a page says a line prints."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SHELL = dict(re.findall(r"^(\w+) := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
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
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for kind, text in blocks(page):
        if kind == "python":
            capsys.readouterr()
            exec(compile(text, str(page), "exec"), names)  # trusted text of this project
            printed = capsys.readouterr().out.splitlines()
            for promised in PROMISED.findall(text):
                assert promised in printed
        elif kind == "sh":
            for line in filter(None, text.replace("\\\n", " ").splitlines()):
                run_line(line)


def run_line(line: str) -> None:
    from unbraid.cli.app import main

    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == ".":
        assert words == [f"{SHELL['VENV']}/bin/activate"]
    elif program == "pip":
        extras = re.fullmatch(r"install (?:-e )?\.(?:\[([\w,]+)\])?", " ".join(words))
        assert extras, f"cannot run {line!r}"
        assert set(filter(None, (extras[1] or "").split(","))) <= set(PROJECT["optional-dependencies"])
    elif program == "python":
        assert (ROOT / words[0]).is_file()
    else:
        assert program == "unbraid", f"cannot run {line!r}"
        assert main(words) == 0


def test_no_two_pages_train_into_one_folder_with_different_settings():
    homes: dict[str, set[str]] = {}
    for page in PAGES:
        for kind, text in blocks(page):
            for line in text.replace("\\\n", " ").splitlines() if kind in ("sh", "text") else ():
                if found := re.search(r"^unbraid train .*--out (\S+)", line):
                    homes.setdefault(found[1], set()).add(line.strip())
            for call in re.findall(r"\btrain\([^)]*?out=\"[^\"]+\"[^)]*\)", text) if kind == "python" else ():
                homes.setdefault(re.search(r"out=\"([^\"]+)\"", call)[1], set()).add(call)
    assert len(homes) > 20
    assert {folder: commands for folder, commands in homes.items() if len(commands) > 1} == {}


def test_every_extra_of_users_is_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in set(PROJECT["optional-dependencies"]) - {"docs"}:
        assert f".[{extra}]" in readme


def test_the_readme_says_how_to_install_where_it_works_and_how_many_scores_there_are():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install .\n" in readme
    assert f"`. {SHELL['VENV']}/bin/activate`" in readme
    assert "--index-url" in readme
    assert "POSIX" in readme
    assert "`selftest --folder DISK`" in readme
    scores = [name for name in metrics.METRICS if name in metrics.__all__]  # other tests may have brought own ones
    assert f"[{len(scores)} scores](docs/metrics/index.md)" in readme
    assert "## Experiment trackers" in (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")


def test_the_option_for_kinds_is_called_as_it_is():
    text = (ROOT / "docs" / "metrics" / "index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w*kinds)=True`", text))
    assert named == {"use_kinds"}
    assert named <= set(inspect.signature(metrics.evaluate).parameters)


def test_the_page_of_runs_says_what_of_paths_is_kept_and_what_is_shown():
    text = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    assert "the command with the paths as they were given, and where the data lay" in text
    assert "show paths relative to the folder they were made in" in text


def test_the_commands_of_the_page_on_trust_find_tests():
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    commands = re.findall(r"`pytest ([^`]+)`", text)
    assert len(commands) > 10
    for command in commands:
        paths, _, chosen = command.partition(" -k ")
        places = [ROOT / path for path in paths.split()]
        files = [file for place in places for file in ([place] if place.is_file() else place.rglob("test_*.py"))]
        names = re.findall(r"^def (test_\w+)", "\n".join(file.read_text(encoding="utf-8") for file in files), re.M)
        for word in chosen.strip('"').split(" or "):
            assert any(word in name for name in names), f"{command}: no test has {word!r} in its name"
