"""Locales, containers and paths as one meets them: the commands work, or say in one line what to do."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import unbraid
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.errors import UsageError

PACKAGE = Path(unbraid.__file__).parent
PLUGIN = str(Path(__file__).parent / "dots.py")

COMMANDS = """
import sys
from unbraid.cli.app import main
for words in sys.stdin.read().splitlines():
    print("$", words, flush=True)
    try:
        assert main(words.split()) == 0, words
    except SystemExit as ended:  # --help
        assert not ended.code, words
"""


def python(*words: str, stdin: str = "", **changes: str | None) -> subprocess.CompletedProcess[str]:
    """Run Python with changes to the environment; ``None`` removes a name."""
    environment = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
    return subprocess.run(
        [sys.executable, *words], input=stdin, capture_output=True, text=True, encoding="utf-8", env=environment
    )


def test_the_main_commands_work_in_a_locale_that_knows_ascii_only(tmp_path):
    data = f"--plugin {PLUGIN} "
    commands = [
        data + f"train vae --data dots --net mlp:width=8 --steps 2 --out {tmp_path}/run",
        data + f"evaluate {tmp_path}/run --metrics mig,r2 --train 40 --test 20",
        data + f"traverse {tmp_path}/run",
        data + f"report {tmp_path}/run",
        data + f"explore {tmp_path}/run --out {tmp_path}/site",
        data + "data list",
        data + f"data show dots --out {tmp_path}/sheet.png",
        "list metrics",
        "train beta-vae --help",
    ]
    ended = python(
        "-X", "warn_default_encoding", "-c", COMMANDS,
        stdin="\n".join(commands), LC_ALL="C", LANG=None, PYTHONUTF8="0", PYTHONIOENCODING=None,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii()
    assert "R?" in ended.stdout  # the R² of `list metrics`
    ours = [line for line in ended.stderr.splitlines() if "EncodingWarning" in line and str(PACKAGE) in line]
    assert not ours
    assert "·" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_without_a_home_folder_the_message_names_the_variable_to_set(tmp_path):
    lost = "import pwd, sys\npwd.getpwuid = {}.__getitem__\nfrom unbraid.cli import main\nsys.exit(main(sys.argv[1:]))"
    words = ("train", "vae", "--data", "dsprites", "--out", str(tmp_path / "run"))
    ended = python("-c", lost, *words, HOME=None, UNBRAID_DATA=None)
    assert ended.returncode == 2
    assert re.fullmatch(r"unbraid: no place for data sets: .*Set UNBRAID_DATA to a folder .*\n", ended.stderr)
    ended = python("-c", lost, "train", "vae", "--data", "~/mine.npz", "--out", str(tmp_path / "run"), HOME=None)
    assert re.fullmatch(r"unbraid: data '~/mine.npz': no home folder is known here .*\n", ended.stderr)


def test_a_path_that_is_no_utf_8_is_refused_before_training(tmp_path, capsys, monkeypatch):
    folder = tmp_path / os.fsdecode(b"r\xe9sum\xe9")
    words = ["--plugin", PLUGIN, "train", "vae", "--data", "dots", "--steps", "1"]
    assert main([*words, "--out", str(folder)]) == 2
    assert "its bytes are no UTF-8" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no UTF-8"):
        unbraid.train("vae", load("mini-sprites"), steps=1, out=folder)
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(UsageError, match="no UTF-8"):
        load(str(folder))
    monkeypatch.chdir(folder)
    assert main([*words, "--out", "run"]) == 2
    assert "its bytes are no UTF-8" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_a_path_with_a_zero_byte_is_refused_in_one_line(capsys):
    assert main(["train", "vae", "--data", "mini-sprites", "--steps", "1", "--out", "a\0b"]) == 2
    assert capsys.readouterr().err == "unbraid: argument must not hold a zero byte, got 'a\\x00b'\n"
    for call in (lambda: unbraid.train("vae", "mini-sprites", steps=1, out="a\0b"), lambda: load("a/\0.npz")):
        with pytest.raises(UsageError, match="must not hold a zero byte"):
            call()


def unquoted_paths(source: str) -> list[str]:
    """Paths that a command in an f-string names without quotes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                inside = ast.unparse(part.value)
                if re.search(r"unbraid [a-z][^`]*$", before) and re.search(r"path|folder|\bout\b", inside):
                    found += [] if inside.startswith("quoted(") else [inside]
            else:
                before += str(part.value)  # type: ignore[attr-defined]
    return found


def test_commands_in_hints_quote_their_paths(tmp_path, capsys):
    assert unquoted_paths('f"next: unbraid report {run.path}"') == ["run.path"]
    assert unquoted_paths('f"next: unbraid report {quoted(run.path)}"') == []
    found = {str(file): unquoted_paths(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")}
    assert not {file: paths for file, paths in found.items() if paths}
    words = ["--plugin", PLUGIN, "train", "vae", "--data", "dots", "--steps", "1", "--net", "mlp:width=8"]
    assert main([*words, "--out", str(tmp_path / "my run")]) == 0
    assert f"unbraid evaluate '{tmp_path}/my run'" in capsys.readouterr().out
