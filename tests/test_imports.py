"""Packages import each other through their ``__init__`` only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import unbraid

ROOT = Path(unbraid.__file__).parent
PACKAGES = {".".join(("unbraid", *path.parent.relative_to(ROOT).parts)) for path in ROOT.rglob("__init__.py")}
"""The packages and public sub-packages; what begins with an underscore is nobody else's."""


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every module of the project that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unbraid":
            yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names if name.name.split(".")[0] == "unbraid")


def package_of(name: str) -> str:
    """``unbraid.data`` for ``unbraid.data.files.store``."""
    return ".".join(name.split(".")[:2])


def test_packages_import_each_other_through_their_init():
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        own = package_of(".".join(("unbraid", *file.relative_to(ROOT).with_suffix("").parts)))
        for line, name in imports(file):
            inside = package_of(name) == own
            whole = name in PACKAGES or package_of(name) == name
            if not inside and not whole:
                wrong.append(f"{file.relative_to(ROOT)}:{line} imports {name}; export what it needs from its package")
    assert not wrong, "\n".join(wrong)


def test_a_module_of_another_package_would_be_seen(tmp_path):
    file = tmp_path / "guest.py"
    file.write_text("from unbraid.training.run import Run\ndef late():\n    import unbraid.data.registry\n")
    assert [name for _, name in imports(file)] == ["unbraid.training.run", "unbraid.data.registry"]
