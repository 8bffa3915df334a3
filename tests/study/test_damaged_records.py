"""Records and answers of a study that are damaged: one line that names the file, or the work is done anew."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from small_folders import PLUGIN, STUDY, make_population, make_study
from unbraid.cli.app import main
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.study import make_table, open_study, read_study, run_study

EARLIER = Path(__file__).parent / "study-0.1"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("made"))


@pytest.fixture
def study(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "out"))


def damage(path: Path, how: str) -> None:
    """Put something else in the place of an npz file."""
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif how == "random":
        path.write_bytes(np.random.default_rng(0).bytes(500))
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "others":
        np.savez(path, images=np.zeros(3))
    elif how == "words":
        np.savez(path, codes=np.array([["a", "b"], ["c", "d"]]))
    else:
        np.savez(path, codes=np.zeros((3, 2, 2)))


DAMAGE = ("cut", "random", "empty", "others", "words", "shape")


@pytest.mark.parametrize("how", DAMAGE)
def test_codes_of_version_0_1_are_read_or_refused_by_name(how, tmp_path):
    folder = shutil.copytree(EARLIER, tmp_path / "study")
    damage(folder / "runs" / "00001" / "codes.npz", how)
    with pytest.raises(UsageError, match=r"00001/codes\.npz"):
        make_table(open_study(folder))


@pytest.mark.parametrize("how", DAMAGE)
def test_codes_of_now_are_refused_by_name_and_made_anew_once_deleted(how, study, capsys):
    (path,) = (study / "runs" / "00001" / "scores").glob("udr-*.npz")
    whole = np.load(path)["codes"]
    damage(path, how)
    assert main(["--plugin", PLUGIN, "study", "report", str(study)]) == 2
    assert path.name in capsys.readouterr().err
    if how == "cut":
        path.unlink()
        (file := study.parent / "file.toml").write_text(STUDY)
        assert main(f"--plugin {PLUGIN} study run {file} --out {study} --workers 1".split()) == 0
        np.testing.assert_array_equal(np.load(path)["codes"], whole)


@pytest.mark.parametrize("how", ["cut", "random", "empty", "words"])
def test_measuring_again_replaces_what_is_damaged(how, study):
    (codes,) = (study / "runs" / "00001" / "scores").glob("udr-*.npz")
    (scores,) = (study / "runs" / "00000" / "scores").glob("disentanglement-*.json")
    whole, held = np.load(codes)["codes"], scores.read_bytes()
    damage(codes, how)
    scores.write_bytes(held[:-20])
    (file := study.parent / "file.toml").write_text(STUDY)
    run_study(read_study(file), study, engine=InlineEngine(), reevaluate=True, progress="none")
    np.testing.assert_array_equal(np.load(codes)["codes"], whole)
    assert json.loads(scores.read_text())["rows"][0]["scores"].keys() == {"mig"}
    make_table(open_study(study))


def test_measuring_a_study_of_version_0_1_again_does_without_its_damaged_codes(tmp_path):
    folder = shutil.copytree(EARLIER, tmp_path / "study")
    damage(folder / "runs" / "00001" / "codes.npz", "cut")
    run_study(open_study(folder).study, folder, engine=InlineEngine(), reevaluate=True, progress="none")
    make_table(open_study(folder))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("runs/00000/evaluation.json", {"step": "4"}),
        ("runs/00000/evaluation.json", {"measures": 3}),
        ("runs/00000/evaluation.json", {"measures": [{"answers": [{"on": 3, "file": None}]}]}),
        ("runs/00000/evaluation.json", {"measures": [{"answers": [{"on": None, "file": "../../x.json"}]}]}),
        ("runs/00000/run.json", {"seconds": "long"}),
        ("runs/00000/run.json", {"step": None}),
        ("study.json", {"name": 3}),
        ("failures/00001.json", {"error": 3}),
        ("failures/00001.json", {"stage": ["train"]}),
    ],
)
def test_entries_of_another_type_are_refused_by_name(name, change, study, capsys):
    (study / "failures").mkdir(exist_ok=True)
    (study / "failures" / "00001.json").write_text(json.dumps({"stage": "train", "error": "no", "traceback": "none"}))
    path = study / name
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert main(["--plugin", PLUGIN, "study", "report", str(study)]) == 2
    said = capsys.readouterr().err
    assert name.rpartition("/")[2] in said
    assert said.count("\n") == 1


def test_answers_of_another_type_are_refused_by_name(study, capsys):
    (path,) = (study / "runs" / "00000" / "scores").glob("disentanglement-*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rows": [{"condition": 3, "scores": {}}]}))
    assert main(["--plugin", PLUGIN, "study", "report", str(study)]) == 2
    assert f"{path.name}: rows[0].condition is int 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    "scores",
    [3, {"mig": 3}, {"mig": {"value": "a"}}, {"mig": {"value": [], "ceiling": 1, "parts": {}, "settings": {}}}],
)
def test_scores_of_another_type_are_told_on_the_page_and_written_anew(scores, study):
    run = study / "runs" / "00000"
    (run / "scores.json").write_text(json.dumps({"scores": scores, "step": 4}))
    assert main(["--plugin", PLUGIN, "report", str(run)]) == 0
    assert "scores.json cannot be read" in (run / "report.html").read_text()
    assert main(f"--plugin {PLUGIN} evaluate {run} --metrics mig --train 60 --test 30".split()) == 0
    assert set(json.loads((run / "scores.json").read_text())["scores"]) == {"mig"}


@pytest.mark.parametrize("part", [[[1, "a"], [2]], [["a"]], 3, "text"])
def test_parts_of_scores_that_are_no_matrix_are_left_out_of_the_page(part, study):
    run = study / "runs" / "00000"
    entry = {"name": "mig", "value": 0.5, "ceiling": 1, "parts": {"information": part}, "settings": {}}
    (run / "scores.json").write_text(json.dumps({"scores": {"mig": entry}, "step": 4}))
    assert main(["--plugin", PLUGIN, "report", str(run)]) == 0
    assert "the matrix of mig" in (run / "report.html").read_text()


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    return make_population(tmp_path_factory.mktemp("population"))


def _first(stored: dict) -> dict:
    return stored["generations"][0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda stored: stored.update(seed="0"), "seed is str '0'"),
        (lambda stored: stored.update(generations=3), "generations is int 3"),
        (lambda stored: stored["population"].update(size="two"), "option 'size' of a population must be int"),
        (lambda stored: _first(stored)["results"][0].update(score="high"), "generations[0].results[0].score is str"),
        (lambda stored: _first(stored)["results"][0].update(hyperparameters={"beta": "a"}), "hyperparameters"),
        (lambda stored: _first(stored)["results"].pop(), "generation 0 does not follow"),
        (lambda stored: _first(stored)["results"][0].update(member=7), "generation 0 does not follow"),
        (lambda stored: stored.pop("data"), "has no entry 'data'"),
    ],
)
def test_a_record_of_a_population_with_other_entries_is_refused_by_name(change, named, population, tmp_path, capsys):
    copy = shutil.copytree(population, tmp_path / "population")
    stored = json.loads((copy / "evolution.json").read_text())
    change(stored)
    (copy / "evolution.json").write_text(json.dumps(stored))
    refused_by_name(copy, named, capsys)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe{}", b"[" * 5000])
def test_a_record_of_a_population_that_is_none_is_refused_by_name(content, population, tmp_path, capsys):
    copy = shutil.copytree(population, tmp_path / "population")
    (copy / "evolution.json").write_bytes(content)
    refused_by_name(copy, "", capsys)


def refused_by_name(folder, named, capsys):
    """By every command that looks at a population, in one line, and without a change to the record."""
    held = (folder / "evolution.json").read_bytes()
    for words in ("evolve status", "report", f"explore --out {folder.parent / 'page'}"):
        assert main(["--plugin", PLUGIN, *words.split(), str(folder)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"unbraid: {folder / 'evolution.json'}"), said
        assert named in said
        assert said.count("\n") == 1
    assert (folder / "evolution.json").read_bytes() == held
    assert not (folder.parent / "page").exists()
