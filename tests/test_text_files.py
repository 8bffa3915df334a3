"""Every text file is UTF-8, whatever the locale says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "docs")
OWN_OPEN = ("Image", "Run", "ImageStore", "webbrowser", "os", "gzip", "tarfile", "zipfile", "archive", "opener", "cls")
"""What has an ``open`` of another kind."""


def without_encoding(source: str) -> Iterator[int]:
    """Lines that read or write text in the encoding of the locale."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or any(word.arg in ("encoding", None) for word in node.keywords):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(node.func, "value", None)
        if name in ("read_text", "write_text") and len(node.args) < 1 + (name == "write_text"):
            yield node.lineno
        if name in ("open", "fdopen") and getattr(owner, "id", "") not in (*OWN_OPEN, "os" * (name == "open")):
            place = int(owner is None or name == "fdopen")
            modes = [*node.args[place : place + 1], *(word.value for word in node.keywords if word.arg == "mode")]
            if all(isinstance(mode, ast.Constant) and "b" not in str(mode.value) for mode in modes):
                yield node.lineno


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("path.read_text()", True),
        ("path.read_text(encoding='utf-8')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, 'utf-8')", False),
        ("path.open()", True),
        ("path.open('w')", True),
        ("path.open('rb')", False),
        ("path.open(mode='ab')", False),
        ("open(path)", True),
        ("open(path, 'rb')", False),
        ("os.open(path, flags)", False),
        ("Image.open(path)", False),
    ],
)
def test_the_search_finds_text_in_the_encoding_of_the_locale(source: str, wrong: bool):
    assert bool(list(without_encoding(source))) == wrong


def test_every_text_file_is_opened_as_utf_8():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in without_encoding(path.read_text(encoding="utf-8"))
    ]
    assert not found, "say encoding='utf-8' in " + ", ".join(found)
