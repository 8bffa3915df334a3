"""The report page of a study."""

import json
import shutil

import polars as pl
import pytest
from page_checks import check_page

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.report.page import make_report
from unbraid.report.page.folder import read_folder
from unbraid.study import make_table, open_study, parse_study, run_study

TINY = """
name = "tiny"
data = ["mini-sprites"]
seeds = 2
steps = 10
net = "mlp:width=8"

[objectives.beta-vae]
beta = [1, 4]

[evaluation]
metrics = ["mig", "modularity", "gaussian_total_correlation"]
train = 200
test = 100
batches = 1
images = 50
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three of four runs are measured."""
    path = tmp_path_factory.mktemp("study") / "tiny"
    run_study(parse_study(TINY, "tiny.toml"), path, engine=InlineEngine(), indices=[0, 1, 2], progress="none")
    return path


@pytest.fixture(scope="module")
def page(study):
    return check_page(make_report([study]))


def test_the_page_of_a_study_has_coverage_questions_published_and_runs(page):
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert headings[:2] == ["Coverage", "Measured"]
    assert headings[2:7] == [
        "1. Does the penalty make the codes uncorrelated?",
        "2. Do the scores agree with each other?",
        "3. How much do the objective and its strength matter?",
        "4. Can a model be chosen without labels?",
        "5. Does it help a later task?",
    ]
    assert headings[-3:] == ["Published beside measured", "Runs", "Reproduce it"]


def test_what_a_study_lacks_is_named_with_the_command(page, study):
    assert "Missing: 1 runs – they are not trained and measured yet." in page.text
    assert f"unbraid study run FILE.toml --out {study.name}" in page.text
    assert "Not answered – transfer needs two data sets" in page.text
    assert "Not answered – the table has no downstream columns" in page.text


def test_the_commands_of_a_study_with_own_code_name_its_files(study, tmp_path):
    path = tmp_path / "own"
    shutil.copytree(study, path)
    for file in path.glob("runs/*/run.json"):
        started = ["unbraid", "--plugin", "mine.py", "study", "run"]
        file.write_text(json.dumps(json.loads(file.read_text()) | {"command": started}))
    text = check_page(make_report([path])).text
    for command in (f"study run FILE.toml --out {path.name}", f"study report {path.name}", f"report {path.name}"):
        assert f"unbraid --plugin mine.py {command}" in text


def test_published_numbers_stand_beside_the_measured_ones(page):
    assert "mini-sprites is held against the published dsprites" in page.text
    # Locatello et al. (2019): the objective explains 30 % of the variance of MIG on dSprites.
    from unbraid.study.published import load

    printed = load("variance_explained").filter((pl.col("data") == "dsprites") & (pl.col("metric") == "mig"))
    cells = [text for tag, text in page.texts if tag == "td"]
    for value in printed["explained"]:
        assert f"{value:g}" in cells


def test_every_run_is_in_the_table_with_its_full_numbers(page, study):
    table = make_table(open_study(study)).filter(pl.col("representation") == "mean")
    keys = {a["data-key"] for a in page.all("td") if "data-key" in a}
    for value in table["mig"]:
        assert repr(value) in keys
    assert {"00000", "00001", "00002"} <= keys
    assert [a for a in page.all("input") if a["type"] == "search"]


def test_what_a_study_and_the_command_both_asked_is_listed_once(study, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(study / "runs" / "00000", path)
    names = [answer.measure for answer in read_folder(path).answers]
    assert names
    rows = [{"condition": {}, "scores": {"number": 0.5}}]
    record = {"scores": {}, "data": "mini-sprites", "measures": {names[0]: {"settings": {}, "rows": rows}}}
    (path / "scores.json").write_text(json.dumps(record))
    answers = read_folder(path).answers
    assert sorted(answer.measure for answer in answers) == sorted(names)
    assert {answer.source for answer in answers if answer.measure == names[0]} == {"scores.json"}


def test_a_study_without_a_measured_run_says_so(study, tmp_path):
    path = tmp_path / "begun"
    shutil.copytree(study, path)
    for run in (path / "runs").glob("0*"):
        shutil.rmtree(run)
    page = check_page(make_report([path]))
    assert "no run has been measured yet" in page.text
    assert "0 %" in page.text


def test_markup_in_a_study_stays_text(study, tmp_path):
    path = tmp_path / "evil"
    shutil.copytree(study, path)
    record = json.loads((path / "study.json").read_text())
    record["name"] = "<script>alert(1)</script>"
    (path / "study.json").write_text(json.dumps(record))
    (path / "failures").mkdir(exist_ok=True)
    failure = {"stage": "train", "error": "<img src=x onerror=alert(1)>", "traceback": ""}
    (path / "failures" / "00003.json").write_text(json.dumps(failure))
    text = make_report([path])
    check_page(text)
    assert "<script>alert" not in text
    assert "<img src=x" not in text


def test_a_study_is_not_compared_with_runs(study):
    with pytest.raises(UsageError, match="is a study; give a study alone"):
        make_report([study, study / "runs" / "00000"])


def test_a_run_of_a_study_shows_the_scores_that_the_study_measured(study):
    page = check_page(make_report([study / "runs" / "00000"]))
    (path,) = (study / "runs" / "00000" / "scores").glob("disentanglement-*.json")
    assert f"Read from scores/{path.name} (mean codes)" in page.text
    stored = json.loads(path.read_text())["rows"][0]["scores"]
    shown = {a["data-score"]: float(a["data-value"]) for a in page.all("td") if "data-score" in a}
    assert shown["mig"] == stored["mig"]["value"]
