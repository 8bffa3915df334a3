"""The report page of runs: whole, in parts, compared, and attacked."""

import json
import shutil

import numpy as np
import pytest
from page_checks import check_page

from unbraid import objectives
from unbraid.data import load, split
from unbraid.errors import UsageError
from unbraid.metrics import ABOVE, Score
from unbraid.report.page import Choices, make_report, write_report
from unbraid.report.page.folder import train_command
from unbraid.training import train

FAST = Choices(compute=False)
QUICK = Choices(metrics=("mig", "mcc", "modularity"))


@pytest.fixture(scope="module")
def scored(small_run, tmp_path_factory):
    """A run with scores of every kind stored: with a ceiling, without, with parts, and no number at all."""
    from unbraid.evaluation import summarise
    from unbraid.metrics import evaluate

    path = tmp_path_factory.mktemp("scored") / "run"
    shutil.copytree(small_run.path, path)
    data = load("dots")
    names = ("mig", "mcc", "modularity", "gaussian_total_correlation")
    scores = evaluate(small_run, data, names, train=400, test=200)
    importance = np.eye(6, 2) * 0.75 + 0.05
    scores["dci"] = Score("dci", 0.8125, 1.0, {"importance": importance, "completeness": 0.625})
    scores["sap"] = Score("sap", float("nan"), 0.5)
    record = {
        "step": small_run.info["step"],
        "representation": "mean",
        "summary": summarise(small_run, data, images=200).to_json(),
        "scores": {name: score.to_json() for name, score in scores.items()},
    }
    (path / "scores.json").write_text(json.dumps(record))
    return path


@pytest.fixture(scope="module")
def page(scored):
    return check_page(make_report([scored]))


def test_the_page_of_a_run_has_every_section(page):
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert headings == [
        "What it is",
        "Training",
        "Reconstructions",
        "What the latents do",
        "Active latents",
        "Which latent knows which factor",
        "Each factor and its latent",
        "Scores",
        "Reproduce it",
    ]


def test_the_numbers_of_the_page_are_those_of_the_file(page, scored):
    stored = json.loads((scored / "scores.json").read_text())
    shown = {a["data-score"]: float(a["data-value"]) for a in page.all("td") if "data-score" in a}
    for name, record in stored["scores"].items():
        assert shown[name] == pytest.approx(np.nan if record["value"] is None else record["value"], nan_ok=True, rel=0)
    assert shown["dci_completeness"] == 0.625
    assert "0.812" in page.text or "0.813" in page.text
    kl = sum(stored["summary"]["kl_per_latent"])
    assert f"{kl:.2f}".rstrip("0") in page.text
    assert "0.80" in page.text  # the first importance: 0.75 + 0.05
    assert "Read from scores.json" in page.text


def test_the_walks_are_sorted_by_kl_and_dead_latents_are_folded_away(page, scored):
    kl = np.array(json.loads((scored / "scores.json").read_text())["summary"]["kl_per_latent"])
    alive = [j for j in np.argsort(-kl) if kl[j] > 0.01]
    shown = [text for tag, text in page.texts if tag == "b" and text.startswith("z")]
    assert 0 < len(alive) < len(kl), "the run should have active and dead latents"
    assert shown[: len(alive)] == [f"z{j}" for j in alive]
    assert f"{len(kl) - len(alive)} dead latents" in page.text
    sliders = [a for a in page.all("div") if a.get("role") == "slider"]
    assert len(sliders) == len(kl)
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in sliders)


def test_the_page_names_objective_data_seed_and_the_command(page, scored):
    info = json.loads((scored / "run.json").read_text())
    options = info["objective"]["options"]
    for words in ("β-VAE on dots", f"+ {options['beta']:g} · KL", "144 images", "x (12 values, ordinal)", "Higgins"):
        assert words in page.text
    assert f"unbraid train beta-vae --data dots --latents {options['latents']} --net {options['net']}" in page.text
    rest = "--seed 0 --batch-size 64 --log-every 100 --precision fp32 --threads 1"
    assert f"--steps {info['step']} {rest} --out {scored.name}" in page.text


def test_scores_are_computed_where_none_are_stored_and_the_page_says_so(small_run):
    told = []
    page = check_page(make_report([small_run.path], choices=QUICK, say=told.append))
    assert {a["data-score"] for a in page.all("td") if "data-score" in a} == {"mig", "mcc", "modularity"}
    assert "Computed for this page on 3,000 images" in page.text
    assert any("computing mig, mcc, modularity" in line for line in told)


def test_scores_that_are_not_wanted_are_not_computed_and_the_page_says_how_to_get_them(small_run):
    page = check_page(make_report([small_run.path], choices=FAST))
    assert "Missing: scores – not computed, as asked (--no-scores)." in page.text
    assert f"unbraid evaluate {small_run.path.name}" in page.text
    assert not [a for a in page.all("td") if "data-score" in a]


def test_scores_of_an_earlier_step_are_called_old(scored, tmp_path):
    path = tmp_path / "old"
    shutil.copytree(scored, path)
    record = json.loads((path / "scores.json").read_text())
    (path / "scores.json").write_text(json.dumps(record | {"step": 100}))
    assert f"was measured at step 100, the run is at step {record['step']}" in check_page(make_report([path])).text


@pytest.mark.parametrize(
    ("without", "words"),
    [
        ("checkpoint.safetensors", "Missing: pictures and codes – checkpoint.safetensors is missing"),
        ("history.csv", "Missing: training curves – history.csv is missing"),
    ],
)
def test_a_run_without_a_file_shows_the_rest_and_names_the_command(broken_run, without, words):
    path = broken_run(without)
    page = check_page(make_report([path], choices=FAST))
    assert words in page.text
    assert "unbraid train beta-vae --data dots" in page.text
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert ("Training" in headings) == (without != "history.csv")
    assert ("What the latents do" in headings) == (without == "history.csv")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("checkpoint.safetensors", b"\x00\x01", "checkpoint.safetensors is damaged"),
        ("history.csv", b"step,loss\n100,2.5\n200,", "1 row(s) of history.csv are cut off"),
        ("history.csv", b"\xff\xfe\x00", "history.csv has no row yet"),
        ("scores.json", b'{"scores": {"mig": {"val', "scores.json is not readable as JSON"),
        ("scores.json", b'{"scores": [1, 2]}', "scores.json cannot be read"),
        ("run.json", b'{"objective": ', "run.json is not readable as JSON"),
        ("run.json", b'{"objective": 3, "data": [], "step": "x", "seed": null}', "Missing: the rest of training"),
    ],
)
def test_a_damaged_file_costs_only_what_it_says(broken_run, name, content, words):
    path = broken_run()
    (path / name).write_bytes(content)
    assert words in check_page(make_report([path], choices=FAST)).text


def test_a_run_that_stopped_or_failed_says_so(broken_run):
    path = broken_run()
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(info | {"status": "stopped"}))
    words = f"training is stopped at step {info['step']}; the same command again goes on"
    assert words in make_report([path], choices=FAST)
    (path / "run.json").write_text(json.dumps(info | {"status": "failed", "error": "kl became nan"}))
    assert "training failed: kl became nan" in make_report([path], choices=FAST)


def test_the_command_of_an_unfinished_run_has_the_steps_it_was_started_for(broken_run):
    path = broken_run()
    info = json.loads((path / "run.json").read_text()) | {"status": "stopped"}
    for command, words in (
        (["unbraid", "train", "vae", "--steps", "7000"], "--steps 7000 "),
        (["unbraid", "train", "vae", "--steps=7000"], "--steps 7000 "),
        (None, "--steps N "),  # started from Python: nothing tells how far it was to go
    ):
        assert words in train_command(info | {"command": command}, path)


def test_the_commands_of_a_run_with_own_code_name_its_files(broken_run):
    path = broken_run("history.csv")
    info = json.loads((path / "run.json").read_text())
    started = ["unbraid", "--plugin", "my nets.py", "train", "--plugin=mine.py", "vae", "--steps", "7"]
    (path / "run.json").write_text(json.dumps(info | {"command": started}))
    text = check_page(make_report([path], choices=FAST)).text
    with_plugins = "unbraid --plugin 'my nets.py' --plugin mine.py"
    for command in ("train beta-vae --data dots --latents", f"evaluate {path.name}", f"report {path.name}"):
        assert f"{with_plugins} {command}" in text
        assert f"unbraid {command}" not in text


def test_a_comparison_names_the_files_of_all_its_runs_once(scored, tmp_path):
    paths = []
    info = json.loads((scored / "run.json").read_text())
    for name, files in (("a", ["one.py"]), ("b", ["one.py", "two.py"])):
        paths.append(tmp_path / name)
        shutil.copytree(scored, paths[-1])
        started = ["unbraid", *(f"--plugin={file}" for file in files), "train", "vae"]
        (paths[-1] / "run.json").write_text(json.dumps(info | {"command": started}))
    text = check_page(make_report(paths, choices=FAST)).text
    assert "unbraid --plugin one.py --plugin two.py report a b" in text
    assert "unbraid --plugin one.py report a" in text


def test_a_grid_with_every_factor_fixed_has_no_sections_about_factors(small_run):
    page = check_page(make_report([small_run.path], choices=Choices(data="dots:x=3,y=4")))
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert "Reconstructions" in headings
    assert not {"Which latent knows which factor", "Each factor and its latent", "Scores"} & set(headings)
    assert next(a["alt"] for a in page.all("img")).startswith("Image 0 above")
    assert "Factors" not in [text for tag, text in page.texts if tag == "dt"]


def test_scores_asked_for_on_data_without_factors_are_computed_or_refused(small_run, tmp_path):
    np.savez(tmp_path / "own.npz", images=load("dots").images(np.arange(144)))
    own = str(tmp_path / "own.npz")
    page = check_page(make_report([small_run.path], choices=Choices(("gaussian_total_correlation",), data=own)))
    assert {a["data-score"] for a in page.all("td") if "data-score" in a} == {"gaussian_total_correlation"}
    assert "Computed for this page on 3,000 images: quick" in page.text
    text = check_page(make_report([small_run.path], choices=Choices(("mig",), data=own))).text
    assert "Missing: scores – there are no factors to score against, which mig cannot do without" in text


def test_scores_of_other_data_do_not_stand_beside_these(scored, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(scored, copy)
    record = json.loads((copy / "scores.json").read_text())
    (copy / "scores.json").write_text(json.dumps(record | {"data": "elsewhere"}))
    text = make_report([copy], choices=FAST)
    assert "scores.json was measured on elsewhere, and this page looks at dots" in text
    assert "data-score" not in text


EVIL = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>'


def test_markup_in_the_files_of_a_run_stays_text(broken_run, tmp_path):
    path = broken_run()
    info = json.loads((path / "run.json").read_text())
    info["data"]["name"] = info["versions"]["torch"] = info["error"] = info["status"] = EVIL
    info["command"] = [EVIL]
    info["objective"]["options"] |= {EVIL: EVIL, "net": EVIL}
    (path / "run.json").write_text(json.dumps(info))
    (path / "history.csv").write_text(f"step,loss,{EVIL}\n100,1,2\n200,2,3\n")
    score = Score(EVIL, 0.5, 1.0, {EVIL: 1}, {EVIL: EVIL}).to_json()
    (path / "scores.json").write_text(json.dumps({"scores": {EVIL: score, "mig": score}, "representation": EVIL}))
    place = tmp_path / "<b onclick=alert(3)>"
    path.rename(place)
    for paths in ([place], [place, broken_run_copy(place)]):
        text = make_report(paths, choices=FAST)
        check_page(text)
        assert "<img src=x" not in text
        assert "<script>alert" not in text
        assert "<b onclick" not in text


def broken_run_copy(path):
    copy = path.with_name("copy")
    shutil.copytree(path, copy)
    return copy


def test_a_model_without_a_decoder_gets_the_sections_that_apply(tmp_path):
    objective = objectives.make("pcl", {"latents": 3, "net": "mlp:width=16"})
    path = train(objective, load("dots"), out=tmp_path / "pcl", steps=20, log_every=10, progress="none").path
    page = check_page(make_report([path], choices=QUICK))
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert "has no decoder" in page.text
    assert "What the latents do" not in headings
    assert {"Each factor and its latent", "Scores", "Training"} <= set(headings)


def test_own_images_without_factors_get_the_sections_that_apply(tmp_path):
    images = load("dots").images(np.arange(144))
    np.savez(tmp_path / "own.npz", images=images)
    objective = objectives.make("vae", {"latents": 3, "net": "mlp:width=16"})
    data = load(str(tmp_path / "own.npz"))
    path = train(objective, data, out=tmp_path / "own", steps=20, log_every=10, progress="none").path
    page = check_page(make_report([path]))
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert {"Reconstructions", "What the latents do", "Active latents"} <= set(headings)
    assert not {"Scores", "Each factor and its latent", "Which latent knows which factor"} & set(headings)
    assert "Missing" not in page.text
    assert "factor" not in page.text  # captions speak of what there is


def test_a_run_on_a_split_of_its_own_says_what_the_command_reads(tmp_path, monkeypatch):
    rule = {"x": {"test_only": [3, 4]}}
    side = split(load("dots"), rule).train
    objective = objectives.make("vae", {"latents": 2, "net": "mlp:width=8"})
    path = train(objective, side, out=tmp_path / "own", steps=2, progress="none").path
    page = check_page(make_report([path], choices=Choices(compute=False)))
    assert "--data dots:split=split.json " in page.text
    assert f"Save this as split.json first: {json.dumps(rule)}" in page.text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "split.json").write_text(json.dumps(rule))
    again = load("dots:split=split.json")
    assert np.array_equal(again.factors(np.arange(len(again))), side.factors(np.arange(len(side))))


def test_runs_are_compared_by_what_differs(scored, broken_run):
    other = broken_run("checkpoint.safetensors")
    info = json.loads((other / "run.json").read_text())
    info["objective"]["options"]["beta"] = 16.0
    (other / "run.json").write_text(json.dumps(info))
    page = check_page(make_report([scored, other], choices=FAST))
    heads = [text for tag, text in page.texts if tag == "button"]
    assert "beta" in heads
    assert "latents" not in heads, "all runs have the same number"
    assert "Alike in all: latents 6" in page.text
    assert "1 of these runs are not whole" in page.text
    assert page.text.count("checkpoint.safetensors is missing") == 1
    shown = {a["data-score"] for a in page.all("td") if "data-score" in a}
    assert shown == set(json.loads((scored / "scores.json").read_text())["scores"])


def test_a_comparison_explains_a_value_above_its_ceiling_and_marks_no_other(scored, tmp_path):
    shutil.copytree(scored, tmp_path / "other")
    record = json.loads((scored / "scores.json").read_text())
    for value, explained in ((0.27, False), (0.43, True)):
        record["scores"] = {"sap": Score("sap", value, 0.27).to_json(), "mig": Score("mig", 0.5, 0.9).to_json()}
        (tmp_path / "other" / "scores.json").write_text(json.dumps(record))
        page = check_page(make_report([scored, tmp_path / "other"], choices=FAST))
        assert ("0.43*" in page.text, f"* {ABOVE}" in page.text) == (explained, explained)
        assert "0.5*" not in page.text


def test_the_file_is_written_where_one_expects_it(scored, tmp_path):
    assert write_report([scored], choices=FAST) == scored / "report.html"
    assert write_report([scored], tmp_path / "new" / "a.html", choices=FAST).exists()
    assert write_report([scored], tmp_path, choices=FAST) == tmp_path / "report.html"
    (scored / "report.html").unlink()


def test_the_same_run_gives_the_same_bytes(scored):
    assert make_report([scored]) == make_report([scored])


def test_what_is_no_run_is_refused_with_what_to_do(tmp_path, scored):
    with pytest.raises(UsageError, match="there is no folder"):
        make_report([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="neither a run nor a study"):
        make_report([tmp_path])
    with pytest.raises(UsageError, match=f"Runs inside it: {scored}"):
        make_report([scored.parent])
    with pytest.raises(UsageError, match="given twice"):
        make_report([scored, scored])
    with pytest.raises(UsageError, match="at least one folder"):
        write_report([])
