"""The page of `unbraid robustness attack`: what stands on it is what was found."""

import re

import numpy as np
import polars
import pytest
from torch import nn

import unbraid
from unbraid.cli.app import main
from unbraid.data import load
from unbraid.nets import Search
from unbraid.report.robustness import Attacked, attack_page
from unbraid.robustness import (
    Doubt,
    Target,
    attack_blocks,
    attack_doubts,
    attack_table,
    budgets,
    published_attacks,
)

DATA = load("blobs16")


def frame(distances, norm="l2", attack="bim", classes=2):
    count = len(distances)
    pictures = np.random.default_rng(0).integers(256, size=(count, 4, 4, 1), dtype=np.uint8)
    return polars.DataFrame(
        {
            "norm": [norm] * count,
            "attack": [attack] * count,
            "image": np.arange(count),
            "label": np.arange(count) % classes,
            "distance": np.asarray(distances, dtype=float),
            "guess": (np.arange(count) + 1) % classes,
            "refuted": [False] * count,
            "picture": [one.tobytes() for one in pictures],
        }
    )


def page(blocks, **more):
    told = {"doubts": more.pop("doubts", {}), "distal": more.pop("distal", None)}
    models = [Attacked("one", blocks, ["cat", "dog"], **told)]
    table = attack_table(blocks).select(polars.lit("one").alias("model"), polars.all())
    originals = {k: np.zeros((4, 4, 1), np.uint8) for k in range(blocks["image"].max() + 1)}
    return attack_page(models, table, originals, "toys", **more)


def test_the_page_loads_nothing_and_has_every_part():
    blocks = polars.concat([frame([0, 1, 2, np.inf]), frame([0, 2, 1, 4], attack="ddn"), frame([0, 3, 5, 9], "l0")])
    text = page(blocks)
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "How far",
        "Accuracy over distance",
        "Distances",
        "One of each class",
        "Near and far",
        "Reproduce it",
    ]
    # Of both attacks, 0, 1, 1 and 4 are the nearest: the median is 1, and one of four stands at 1.5.
    assert "<b>1 / 25</b>" in text
    assert "1.5 / 50" in text  # bim alone
    assert "published" not in text
    assert text.count('class="band') == 2  # a curve with its band in each norm


def test_doubts_stand_before_the_first_section():
    doubts = {"l2": [Doubt("flat", 1.0, "the loss is flat around 100 % of images")]}
    text = page(frame([1.0, 2.0]), doubts=doubts)
    assert text.index("the loss is flat around 100 % of images") < text.index("<h2>")
    assert "one, l2: " in text


def test_published_distances_stand_beside_where_they_are_given():
    text = page(frame([1.0, 2.0]), published=published_attacks().filter(norm="l2"))
    assert "Binary ABS (" in text
    assert "latent-descent" in text  # a row that only they have
    assert "2.3 / 80" in text
    assert "0.44 / 77" not in text  # of another norm


def test_images_that_nothing_was_found_for_or_that_were_wrong_are_not_shown_as_adversarials():
    text = page(frame([0, np.inf, 0, np.inf]))
    assert "One of each class" not in text
    assert "Near and far" not in text
    assert "none</text>" in text  # the grey bar of the histogram


def test_quarters_are_shares_of_the_largest_distance():
    # Of 1, 2, 3 and 8 the quarters end at 2, 4, 6 and 8: two, one, none and one image.
    text = page(frame([1, 2, 3, 8]))
    shown = re.findall(r"<h4>(.*?)</h4>", text)
    assert shown == ["l2 0 to 2: 2 of 4 images", "l2 2 to 4: 1 of 4 images", "l2 6 to 8: 1 of 4 images"]


def test_climbs_from_noise_are_shown_with_their_end():
    climbs = polars.DataFrame(
        {
            "label": [0, 1],
            "success": [True, False],
            "confidence": [0.93, 0.1],
            "steps": [12, 1000],
            "picture": [bytes(16), bytes(16)],
        }
    )
    text = page(frame([1.0, 2.0]), distal=climbs)
    assert "cat: 0.93, after 12 steps" in text
    assert "dog: 0.10, not reached" in text
    both = page(frame([1.0, 2.0]), distal=climbs.with_columns(along=polars.Series(["probability", "score"])))
    (alone,) = re.findall(r"<h3>([^<]*)</h3>", text[text.index("cat: 0.93") - 3000 : text.index("cat: 0.93")])[-1:]
    assert f"<h3>{alone}, along its score</h3>" in both


def test_the_published_table_is_whole():
    found = published_attacks()
    assert len(found) == 131
    assert found["model"].n_unique() == 6
    row = found.filter(norm="linf", attack="all", model="Binary ABS").row(0, named=True)
    assert (row["median"], row["accuracy"]) == (0.44, 77)
    # In every column and norm, "all" is at most the least of its rows, but for rounding.
    for (_, _), part in found.drop_nulls().group_by(["norm", "model"]):
        alone = part.filter(polars.col("attack") != "all")
        everything = part.filter(attack="all").row(0, named=True)
        assert everything["median"] <= alone["median"].min() + 1e-9
        assert everything["accuracy"] <= alone["accuracy"].min() + 1e-9


@pytest.fixture(scope="module")
def searching(tmp_path_factory):
    options = {"factor": "x", "steps": 30, "batch_size": 4, "samples": 30, "iterations": 12, "latents": 2}
    folder = tmp_path_factory.mktemp("runs") / "abs"
    return unbraid.train("abs", DATA, out=folder, progress="none", **options)


def test_runs_that_search_are_attacked_by_a_short_search_and_verified_by_the_whole(searching, tmp_path, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"fgm": {"levels": 5}}})
    monkeypatch.setitem(budgets.FEW, "quick", {"samples": 20, "iterations": 1, "faster": 2.0, "classes": 3})
    target = Target(searching, DATA, folder=tmp_path, images=4)
    classify, verify = target.models
    assert classify._module.search == Search(20, 1, 0.1, 5.0, "gaussian", classes=3)
    assert verify._module.search == searching.objective.search
    found = attack_blocks(target, ("l2",))
    assert found["attack"].unique(maintain_order=True).to_list() == ["fgm", "latent-descent"]
    # What the whole search names, the run itself says, too.
    images, labels = DATA.images(found["image"][:4].to_numpy()), found["label"][:4].to_numpy()
    wrong = searching.predict(images).argmax(1) != labels
    assert ((found["distance"][:4] == 0).to_numpy() == wrong).all()
    moved = found.filter((polars.col("distance") > 0) & polars.col("distance").is_finite())
    assert (moved["guess"] != moved["label"]).all()


def test_a_masked_model_is_told_on_the_page_and_on_the_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"bim": {}, "gaussian": {"restarts": 1}}})
    options = {"net": "mlp:width=16", "factor": "x", "steps": 60, "progress": "none", "learning_rate": 0.01}
    run = unbraid.train("classifier", DATA, out=tmp_path / "run", **options)
    plain = ["robustness", "attack", str(run.path), "--norms", "l2", "--images", "6", "--distal", "2"]
    assert main([*plain, "--out", str(tmp_path / "plain")]) == 0
    capsys.readouterr()

    original = type(run).classifier

    class Saturated(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, images):
            return 1e6 * self.inner(images)

    monkeypatch.setattr(type(run), "classifier", lambda self, task="": Saturated(original(self, task)))
    assert main([*plain, "--out", str(tmp_path / "masked")]) == 0
    said = capsys.readouterr().out
    assert "warning: run, l2: the loss is flat around" in said
    assert "the loss is flat around" in (tmp_path / "masked" / "report.html").read_text()
    assert "the loss is flat around" not in (tmp_path / "plain" / "report.html").read_text()
    assert "- Doubt about run in l2: the loss is flat around" in (tmp_path / "masked" / "report.md").read_text()
    assert "Doubt" not in (tmp_path / "plain" / "report.md").read_text()


def test_masked_gradients_are_told_in_l0_too():
    def told(white, black):
        blocks = polars.concat([frame(white, "l0", "fmn"), frame(black, "l0", "pointwise")])
        doubts = attack_doubts(None, blocks)  # of l0 alone the model is asked nothing more
        return [(doubt.kind, doubt.share) for doubt in doubts["l0"]]

    # One pixel less is no difference; half as many are, and so is an image that gradients find nothing for.
    assert told([3.0] * 10, [2.0] * 10) == []
    assert told([10.0] * 10, [5.0] * 2 + [9.0] * 8) == [("black-box", 0.2)]
    assert told([np.inf] + [3.0] * 9, [3.0] * 10) == [("black-box", 0.1), ("unbounded", 0.1)]


def test_a_single_image_does_not_decide_how_many_classes_the_page_knows(tmp_path, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "quick", {"l2": {"fgm": {}}})
    options = {"net": "mlp:width=16", "factor": "x", "steps": 60, "progress": "none", "learning_rate": 0.01}
    run = unbraid.train("classifier", DATA, out=tmp_path / "run", **options)
    # Climbs from noise aim at every class, the last ones too.
    asked = ["robustness", "attack", str(run.path), "--norms", "l2", "--images", "1", "--distal", "2"]
    assert main([*asked, "--out", str(tmp_path / "page")]) == 0
    assert (tmp_path / "page" / "report.html").exists()
