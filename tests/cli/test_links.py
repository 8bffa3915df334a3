"""Links in a run, study or population folder: no command writes through them."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from small_folders import PLUGIN, POPULATION, STUDY, VAE
from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.files import exclusive, open_append, open_lock, replace_file, save_picture, write_text

SCORES = "--metrics mig --train 60 --test 30 --points 20"
MADE = {
    "run": [
        f"{VAE} --steps 4 --out OUT",
        f"evaluate OUT {SCORES}",
        "traverse OUT",
        "report OUT",
        "theory inspect OUT",
    ],
    "study": ["study run FILE --out OUT --workers 1", "study report OUT", "report OUT"],
    "population": [f"{POPULATION} --generations 1 --out OUT"],
}
"""How each kind of folder is made."""

AGAIN = {
    "run": [
        f"evaluate OUT {SCORES} --again",
        "traverse OUT",
        "report OUT",
        "theory inspect OUT",
        "explore OUT --out OUT/site",
        f"{VAE} --steps 8 --out OUT",
        f"{VAE} --steps 2 --out OUT --fresh",
    ],
    "study": [
        "study status OUT",
        "study run FILE --out OUT --workers 1 --reevaluate",
        "study report OUT",
        "report OUT",
    ],
    "population": ["evolve status OUT", f"{POPULATION} --generations 2 --out OUT"],
}
"""What is asked of one whose files are all links."""


def unbraid(line: str, out: Path) -> int:
    words = [str(out) + word[3:] if word.startswith("OUT") else word for word in line.split()]
    words = [str(out.parent / "file.toml") if word == "FILE" else word for word in words]
    return main(["--plugin", PLUGIN, *words])


@pytest.fixture(scope="module", params=list(MADE))
def made(request, tmp_path_factory):
    """A finished folder of each kind."""
    place = tmp_path_factory.mktemp(request.param)
    (place / "file.toml").write_text(STUDY)
    for line in MADE[request.param]:
        assert unbraid(line, place / "out") == 0, line
    return request.param, place / "out"


def linked(folder: Path, outside: Path, *, locks: bool) -> dict[Path, bytes]:
    """Make every file a link to one outside; returns what these hold."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    held = {}
    for number, path in enumerate(
        sorted(path for path in files if (path.suffix == ".lock" or path.name == ".lock") == locks)
    ):
        target = outside / f"{number}{path.suffix}"
        if locks:
            path.write_bytes(b"precious")
        shutil.move(path, target)
        path.symlink_to(target)
        held[target] = target.read_bytes()
    return held


def test_no_command_writes_through_a_link(made, tmp_path):
    kind, folder = made
    copy = tmp_path / "place" / "out"
    shutil.copytree(folder, copy, symlinks=True)
    shutil.copy(folder.parent / "file.toml", copy.parent)
    (outside := tmp_path / "outside").mkdir()
    held = linked(copy, outside, locks=False)
    assert len(held) > 5
    for line in AGAIN[kind]:
        assert unbraid(line, copy) == 0, line
        assert {path: path.read_bytes() for path in held} == held, line


def test_a_lock_that_is_a_link_is_refused_and_what_it_points_to_stays(made, tmp_path, capsys):
    kind, folder = made
    copy = tmp_path / "place" / "out"
    shutil.copytree(folder, copy, symlinks=True)
    shutil.copy(folder.parent / "file.toml", copy.parent)
    (outside := tmp_path / "outside").mkdir()
    held = linked(copy, outside, locks=True)
    assert held
    codes = {line: unbraid(line, copy) for line in AGAIN[kind]}
    assert set(codes.values()) == {0, 2}
    assert "is a link, and nothing is written through links" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in outside.iterdir()} == held


def test_a_linked_folder_inside_a_run_is_not_written_to(made, tmp_path, capsys):
    kind, folder = made
    if kind != "run":
        pytest.skip("a run has all that is needed")
    copy, outside = tmp_path / "out", tmp_path / "outside"
    shutil.copytree(folder, copy)
    shutil.move(copy / "scores", outside)
    (copy / "scores").symlink_to(outside)
    held = {path: path.read_bytes() for path in outside.iterdir()}
    assert unbraid(f"evaluate OUT {SCORES} --seed 3", copy) == 2
    assert "scores is a link that leads out of" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in outside.iterdir()} == held


def test_no_folder_is_made_behind_a_linked_one(made, tmp_path, capsys):
    kind, folder = made
    copy, outside = tmp_path / "out", tmp_path / "outside"
    shutil.copytree(folder, copy)
    outside.mkdir()
    place = {"run": "pictures", "study": "report", "population": "pictures"}[kind]
    shutil.rmtree(copy / place, ignore_errors=True)
    (copy / place).symlink_to(outside)
    line = {
        "run": "explore OUT --out OUT/pictures/site",
        "study": "study report OUT",
        "population": "explore OUT --out OUT/pictures/site",
    }[kind]
    assert unbraid(line, copy) == 2
    assert f"{place} is a link that leads out of" in capsys.readouterr().err
    assert list(outside.iterdir()) == []


def test_links_that_stay_inside_and_links_to_the_whole_are_followed(tmp_path):
    (member := tmp_path / "population" / "member").mkdir(parents=True)
    (tmp_path / "population" / "evolution.json").write_text("{}")
    (tmp_path / "population" / "best").symlink_to("member")
    (tmp_path / "short").symlink_to("population")
    write_text(tmp_path / "short" / "best" / "name", "content")
    assert (member / "name").read_text() == "content"


@pytest.mark.parametrize("opened", [open_append, open_lock])
def test_a_link_to_nothing_makes_nothing(opened, tmp_path):
    (tmp_path / "name").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link"):
        opened(tmp_path / "name")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("opened", [open_append, open_lock])
def test_opening_empties_nothing(opened, tmp_path):
    (tmp_path / "name").write_bytes(b"content")
    opened(tmp_path / "name").close()
    assert (tmp_path / "name").read_bytes() == b"content"


def test_a_pipe_in_the_place_of_a_lock_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(UsageError, match="is no ordinary file"), exclusive(tmp_path):
        pass


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path):
    (outside := tmp_path / "outside").write_bytes(b"precious")
    (tmp_path / f".name.{os.getpid()}.part").symlink_to(outside)
    with replace_file(tmp_path / "name") as temporary:
        temporary.write_bytes(b"new")
    assert (tmp_path / "name").read_bytes() == b"new"
    assert outside.read_bytes() == b"precious"


def test_a_file_with_a_second_name_elsewhere_is_not_appended_to(tmp_path):
    # As after `cp -al`: both folders would grow.
    from unbraid.training.history import Table

    with contextlib.closing(Table(first := tmp_path / "first.csv")) as table:
        table.append({"step": 1, "loss": 2.0})
    (second := tmp_path / "second.csv").hardlink_to(first)
    held = first.read_bytes()
    with contextlib.closing(Table(second, (1, 2))) as table:
        table.append({"step": 2, "loss": 1.0})
    assert first.read_bytes() == held
    assert second.read_bytes() == held + b"2,1.0\n"


def test_a_picture_of_an_unknown_format_is_told(tmp_path):
    from PIL import Image

    with pytest.raises(UsageError, match="ending"):
        save_picture(Image.new("L", (2, 2)), tmp_path / "picture.what")
