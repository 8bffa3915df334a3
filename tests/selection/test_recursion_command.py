"""unbraid evolve run --recursive, status, compare: as a user types them."""

import json
from pathlib import Path

import pytest

from unbraid.cli.app import main

PLUGIN = ["--plugin", str(Path(__file__).with_name("boxes.py"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("command") / "tree"
    words = f"--recursive --data boxes --members 2 --images 2500 --generations 1 --workers 1 --out {out}"
    search = ["--search", "learning_rate=0.008", "batch_size=32", "beta=1"]
    assert main(["evolve", "run", *PLUGIN, *words.split(), *search, "--progress", "none"]) == 0
    return out


def test_status_tells_the_tree_and_draws_it(folder, capsys):
    assert main(["evolve", "status", *PLUGIN, str(folder), "--draw"]) == 0
    told = capsys.readouterr().out
    assert "root: 1,920 images, UDR" in told
    assert "leaf-run 1" in told
    assert "final by 1 leaf-run(s): 1 generations" in told
    assert f"next: unbraid evaluate {folder / 'final'}" in told
    assert (folder / "pictures" / "reduction_root_rank0.png").exists()


def test_status_as_json_names_the_factors(folder, capsys):
    assert main(["evolve", "status", *PLUGIN, str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["finished"]
    assert told["metaepochs"][0]["factors"][0]["factor"] in ("size", "x", "y", "noise")
    assert Path(told["final"]["run"]).is_dir()


def test_status_knows_populations_too(folder, capsys):
    assert main(["evolve", "status", str(folder / "final"), "--draw"]) == 0
    assert "finished after 1 of 1 generations" in capsys.readouterr().out
    assert (folder / "final" / "pictures" / "lineage.png").exists()


def test_wrong_uses_are_explained(tmp_path, capsys):
    assert main(["evolve", "status", str(tmp_path)]) == 2
    assert "holds no population" in capsys.readouterr().err
    assert main(["evolve", "run", "--leaf-runs", "2", "--out", str(tmp_path / "x")]) == 2
    assert "is for --recursive" in capsys.readouterr().err
    assert main(["evolve", "compare", "small", "--seeds", "0", "--out", str(tmp_path / "x")]) == 2
    assert "--seeds" in capsys.readouterr().err
