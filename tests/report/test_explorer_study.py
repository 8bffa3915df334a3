"""The explorer of a study: the table, its pictures, and two runs side by side."""

import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save_file

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.report.explorer import study_site
from unbraid.report.explorer.contents import look_at
from unbraid.report.explorer.packing import page as explorer_html
from unbraid.report.explorer.site import run_files
from unbraid.study import answers_of, parse_study
from unbraid.study.folder import begin_study
from unbraid.study.stages import evaluate_index, train_index

PLAN = """
data = ["mini-sprites"]
seeds = 2
steps = 5
net = "mlp:width=8"
[objectives.beta-vae]
beta = [1, 4]
[options]
latents = 3
[evaluation]
metrics = ["mig", "modularity"]
representations = ["mean"]
train = 100
test = 50
batches = 1
images = 20
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Four small runs, of which the third is broken and the last is not begun."""
    folder = tmp_path_factory.mktemp("studies") / "tiny"
    begin_study(folder, parse_study(PLAN, "tiny"))
    for index in range(3):
        assert train_index(str(folder), index) == "done"
        assert evaluate_index(str(folder), index) == "done"
    (folder / "runs/00002/checkpoint.safetensors").unlink()
    return folder


def scores(study, index):
    (path,) = (study / f"runs/{index:05d}/scores").glob("disentanglement-*.json")
    return json.loads(path.read_text())["rows"][0]["scores"]


def test_the_record_has_a_row_per_begun_run_with_its_scores(study):
    record = study_site(study).record()
    assert [row["index"] for row in record["rows"]] == [0, 1, 2]
    assert record["planned"] == 4
    assert [row["strength"] for row in record["rows"]] == [1.0, 1.0, 4.0]
    assert record["rows"][0]["scores"]["mig"] == pytest.approx(scores(study, 0)["mig"]["value"], rel=1e-3)
    assert record["shown"][:2] == ["mig", "modularity"]


@pytest.mark.parametrize(
    ("places", "names"), [(("training", "{other}"), ("mig",)), (("{other}",), ("mig on {other}",))]
)
def test_scores_on_other_data_are_not_taken_for_those_of_the_run(study, tmp_path, places, names):
    other = "mini-sprites:part=:200"
    data = [place.format(other=other) for place in places]
    measure = f'[measures.disentanglement]\nmetrics = ["mig"]\ntrain = 100\ntest = 50\ndata = {data}\n'
    plan = parse_study(PLAN[: PLAN.index("[evaluation]")] + measure, "placed")
    folder = begin_study(tmp_path / "s", plan)
    shutil.copytree(study / "runs/00000", folder.run(0))
    assert evaluate_index(str(folder.path), 0) == "done"
    (answer,) = [answer for answer in answers_of(folder.run(0)) if answer.on == data[0]]
    record = study_site(folder.path).record()
    (name,) = (name.format(other=other) for name in names)
    assert record["columns"] == record["shown"] == [name]
    assert record["rows"][0]["scores"][name] == pytest.approx(answer.rows[0][1]["mig"].value, rel=1e-3)


def test_a_picture_shows_what_the_two_most_active_latents_do(study):
    picture = np.asarray(Image.open(io.BytesIO(study_site(study).get("runs/00000/looks.png"))))
    # Two rows and eight columns of 64 pixels with clear gaps of one.
    assert picture.shape == (2 * 64 + 1, 8 * 64 + 7, 4)
    assert (picture[64, :, 3] == 0).all()
    assert (picture[:64, :64, 3] == 255).all()


@pytest.mark.parametrize(
    "path",
    ["runs/00003/index.html", "runs/99999/index.html", "runs/00000/run.json", "runs/00000/checkpoint.safetensors",
     "runs/../study.json", "study.json", "runs/00000/../00001/run.js", "assets/page.html"],
)  # fmt: skip
def test_files_it_does_not_make_are_not_there(study, path):
    assert study_site(study).get(path) is None


def test_a_run_that_draws_nothing_has_a_clear_picture_and_a_page(study):
    site = study_site(study, images=2, sample=50)
    picture = Image.open(io.BytesIO(site.get("runs/00002/looks.png")))
    assert picture.size == (1, 1)
    assert picture.getpixel((0, 0))[3] == 0
    assert b"There is no model to look into." in site.get("runs/00002/run.js")


def test_a_damaged_record_is_a_row_that_says_so(study, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    (copy / "runs/00001/run.json").write_text("{")
    (copy / "runs/00001/evaluation.json").unlink()
    row = study_site(copy).record()["rows"][1]
    assert row["status"] == "damaged"
    assert "not readable as JSON" in row["error"]


def test_a_damaged_table_costs_only_the_agreement(study, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    (copy / "table.parquet").write_bytes(b"PAR1")
    assert "mig" in study_site(copy).record()["columns"]


def test_a_run_with_numbers_that_are_none_is_shown_as_far_as_it_goes(study, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    run = copy / "runs/00000"
    bad = {"name": "mig", "value": "inf", "ceiling": 1.0, "parts": {}, "settings": {}}  # as JSON holds infinity
    good = bad | {"value": 0.5, "ceiling": "inf"}
    (run / "scores.json").write_text(json.dumps({"scores": {"mig": bad, "dci": good}}))
    with safe_open(run / "checkpoint.safetensors", "np") as file:
        notes, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for tensor in tensors.values():
        if tensor.dtype == np.float32:
            tensor[...] = 1e30  # numbers, but their products are none
    save_file(tensors, run / "checkpoint.safetensors", metadata=notes)
    contents = look_at(run, images=4, sample=50)
    assert contents.scores == [("dci", 0.5, None)]
    assert "100% of the images have codes that are no numbers" in str(contents.problems)
    assert b"has training diverged?" in run_files(contents, "assets/")["run.js"]


def test_a_history_that_was_cut_off_shows_the_rows_before_it(study, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(study / "runs/00000", run)
    (run / "history.csv").write_text("step,loss,kl\n1,9,1\n2,nan,1\n3,7,1\n4,")
    contents = look_at(run, images=2, sample=50)
    assert contents.history == {"step": [1.0, 3.0], "loss": [9.0, 7.0]}
    assert [problem["what"] for problem in contents.problems] == ["A part of its losses is lost."]


def test_a_title_is_no_template():
    assert b"<title>{{page}} &lt;b&gt;</title>" in explorer_html("{{page}} <b>", "run", "assets/")


def test_a_written_folder_says_how_many_runs_it_holds(study, tmp_path, capsys):
    out = tmp_path / "page"
    assert main(["explore", str(study), "--out", str(out), "--limit", "1", "--sample", "50", "--images", "4"]) == 0
    assert "wrote" in capsys.readouterr().out
    assert sorted(path.name for path in (out / "runs").iterdir()) == ["00000"]
    assert "first 1 of 3 runs" in (out / "study.js").read_text()
    with pytest.raises(UsageError, match="limit"):
        study_site(study, limit=-1)


def order(page):
    """The runs in the table, from above."""
    rows = page.evaluate("[...document.querySelectorAll('table.runs tbody tr')].map(row => row.dataset.index)")
    return [int(index) for index in rows]


def test_the_table_sorts_filters_and_compares(study, serving, visit):
    page = visit(serving(study_site(study, images=6, sample=60)).url)
    runs = page.locator("table.runs tbody tr")
    assert order(page) == [0, 1, 2]
    by_mig = sorted(range(3), key=lambda index: -scores(study, index)["mig"]["value"])
    page.get_by_role("button", name="mig").click()
    assert order(page) == by_mig
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("mig")
    page.keyboard.press("Enter")
    assert order(page) == by_mig[::-1]
    page.keyboard.press("/")
    page.keyboard.type("beta=1")
    assert sorted(order(page)) == [0, 1]
    page.get_by_role("searchbox").fill("mig>2")
    assert runs.count() == 0
    page.get_by_role("searchbox").fill("")
    for index in (0, 1):
        page.get_by_label(f"Compare run 0000{index}").check()
    page.get_by_role("button", name="Compare side by side").click()
    frames = [page.frame_locator("iframe").nth(i) for i in range(2)]
    for frame in frames:
        frame.locator("body[data-ready=yes]").wait_for()
    # The explorers start from the same image: told to the one, the other follows.
    frames[0].locator(".tiles button").nth(4).click()
    frames[1].locator(".tiles button:nth-child(5)[aria-pressed=true]").wait_for()
    assert page.locator(".versus tbody tr").first.locator("td").first.inner_text() == (
        f"{round(scores(study, 0)['mig']['value'], 4):.3f}"
    )
    page.get_by_role("link", name="all runs").click()
    assert runs.count() == 3


def test_on_a_phone_the_table_keeps_the_run_in_sight_and_calls_objectives_by_their_titles(study, serving, visit):
    page = visit(serving(study_site(study, images=6, sample=60)).url, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "β-VAE" in page.locator("table.runs tbody tr").first.inner_text()
    assert "beta-vae" not in page.locator("table.runs").inner_text()
    frame = page.get_by_role("region", name="Runs")
    places = "frame => [...frame.querySelectorAll('tr')].map(row => row.cells[0].getBoundingClientRect().x)"
    before = frame.evaluate(places)
    frame.evaluate("frame => frame.scrollTo(300, 0)")
    assert frame.evaluate("frame => frame.scrollLeft") == 300
    assert frame.evaluate(places) == before
    assert page.locator("table.runs tbody tr").first.locator("> :first-child").inner_text() == "00000"
    page.get_by_role("searchbox").fill("beta-vae")  # what stands in files is found as well
    assert order(page) == [0, 1, 2]
