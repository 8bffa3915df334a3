"""A stranger's four plugins, as docs/plugins.md shows them: listed, offered, trained, measured and seen on the page."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
BLOCK = re.compile(r"^```(\w+)\n(?:# (\S+)\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {match[2]: match[3] for match in BLOCK.finditer(PAGE.read_text()) if match[2]}
COMMANDS = [line for match in BLOCK.finditer(PAGE.read_text()) if match[1] == "sh" for line in match[3].splitlines()]
WIDE = {**os.environ, "COLUMNS": "300"}
PLUGINS = [word for name in FILES if name.endswith(".py") for word in ("--plugin", name)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def unbraid(desk: Path, *words: str) -> str:
    """What a fresh process prints: nothing of another test is registered in it."""
    command = [sys.executable, "-m", "unbraid", *words]
    done = subprocess.run(command, cwd=desk, capture_output=True, text=True, env=WIDE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def study(desk) -> Path:
    for line in COMMANDS:
        unbraid(desk, *shlex.split(line)[1:])
    return desk / "studies" / "own"


def test_each_plugin_is_one_file_of_under_fifteen_lines():
    sizes = {name: len([line for line in text.splitlines() if line.strip()]) for name, text in FILES.items()}
    assert set(sizes) == {"frugal.py", "worst_gap.py", "bars.py", "steadiness.py", "own.toml"}
    assert max(size for name, size in sizes.items() if name.endswith(".py")) < 15


@pytest.mark.parametrize(
    ("kind", "name", "title"),
    [
        ("objectives", "frugal-vae", "FrugalVAE"),
        ("metrics", "worst_gap", "Worst gap"),
        ("data", "bars", ""),
        ("measures", "steadiness", "Steadiness"),
    ],
)
def test_they_appear_in_lists(desk, kind, name, title):
    rows = {row["name"]: row for row in json.loads(unbraid(desk, "list", kind, "--json", *PLUGINS))}
    assert title in rows[name]["title"]


def test_the_objective_is_offered_with_its_options(desk):
    assert "frugal-vae" in unbraid(desk, *PLUGINS, "train", "--help")
    shown = unbraid(desk, *PLUGINS, "train", "frugal-vae", "--help")
    assert "--price" in shown
    assert "pays for every latent it uses" in " ".join(shown.split())


def test_a_study_of_two_workers_uses_all_four(study):
    table = pl.read_parquet(study / "table.parquet")
    assert set(table["status"]) == {"evaluated"}
    assert table.select("objective", "strength", "seed").n_unique() == 4
    assert set(table["data"]) == {"bars:size=8"}
    # Within a factor of the grid MIG's mean gap is at least its worst one.
    scored = table.filter(pl.col("mig").is_not_null())
    assert (scored["mig"] >= scored["worst_gap"] - 1e-12).all()
    measured = table.filter(pl.col("level") == 16)
    assert len(measured) == 4
    assert (measured["moved"] > 0).all()


def tables(page: Path) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Headings and cells of the tables of a page by caption."""
    found = {}
    for text in re.findall(r"<table class=\"data.*?</table>", page.read_text(), re.DOTALL):
        caption = re.search(r"<caption[^>]*>(.*?)</caption>", text)[1]
        head, *rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
        cells = [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]
        found[caption] = ([re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<th.*?</th>", head, re.DOTALL)], cells)
    return found


def test_the_page_shows_them_under_their_titles(study, desk):
    pages = [*desk.glob("*.html"), *study.rglob("*.html")]
    assert len(pages) == 1
    shown = tables(pages[0])
    columns, rows = shown["Runs"]
    assert {"Worst gap", "moved", "level"} <= set(columns)
    assert {row[columns.index("data")] for row in rows} == {"bars:size=8"}
    _, means = shown["Means over seeds"]
    assert {(row[0], row[3]) for row in means} >= {("Worst gap", "representation mean"), ("moved", "level 16")}


def test_the_page_of_a_run_shows_its_own_measure(study, desk):
    unbraid(desk, "report", "studies/own/runs/00000", "--out", "../run.html", *PLUGINS)
    moved = pl.read_parquet(study / "table.parquet").filter(index=0, level=16)["moved"][0]
    columns, ((measure, condition, score, value),) = tables(desk.parent / "run.html")["Measures"]
    assert columns == ["measure", "condition", "score", "value"]
    assert (measure, condition, score) == ("Steadiness", "level 16", "moved")
    assert float(value) == pytest.approx(moved, rel=0.02)


def test_a_plugin_may_not_take_a_name_that_is_taken(desk):
    (desk / "bad.py").write_text(FILES["worst_gap.py"].replace('"worst_gap"', '"mig"'))
    words = [sys.executable, "-m", "unbraid", "list", "metrics", "--plugin", "bad.py"]
    done = subprocess.run(words, cwd=desk, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is a metric 'mig' already (unbraid.metrics.mig.mig); give yours another name" in done.stderr


@pytest.mark.parametrize("name", ["json", "statistics", "unbraid"])
def test_a_plugin_may_not_stand_in_for_a_module(tmp_path, name):
    from unbraid.errors import UsageError
    from unbraid.plugins import import_file

    file = tmp_path / f"{name}.py"
    file.write_text("raise AssertionError('imported')")
    with pytest.raises(UsageError, match=f"there is a module '{name}' already"):
        import_file(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n\ny = 1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
        ("x = 1\ndef f(:\n", "line 2: SyntaxError: invalid syntax"),
        ("import no_such_module_at_all\n", "line 1: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    ],
)
def test_a_plugin_that_fails_is_named_with_line_and_cause(tmp_path, capsys, text, words):
    from unbraid.cli.app import main

    file = tmp_path / "failing_plugin.py"
    file.write_text(text)
    assert main(["--plugin", str(file), "list", "nets"]) == 2
    assert capsys.readouterr().err == f"unbraid: plugin {file}, {words}\n"


def test_a_plugin_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "beside_it.py").write_text("SIDE = 16\n")
    plugin = tmp_path / "mine" / "lone_rings.py"
    plugin.write_text(
        "from beside_it import SIDE\nimport numpy as np\nfrom unbraid.data import from_arrays, register\n"
        "@register('lone-rings')\ndef rings():\n    return from_arrays(np.zeros((32, SIDE, SIDE), np.uint8))\n"
    )
    assert "lone-rings" in unbraid(tmp_path, "--plugin", "mine/lone_rings.py", "list", "data")
    train = "train beta-vae --data lone-rings --net mlp:width=8 --steps 1 --out run --progress none"
    unbraid(tmp_path, "--plugin", "mine/lone_rings.py", *train.split())
    command = [sys.executable, "-m", "unbraid", "evaluate", "run"]
    forgotten = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=WIDE)
    assert forgotten.returncode == 2
    assert "unknown data set 'lone-rings'" in forgotten.stderr
    assert "--plugin FILE.py" in forgotten.stderr
