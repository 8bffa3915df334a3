"""What a study of noise training says: its tables, its verdicts, its page."""

import re

import numpy as np
import polars as pl
import pytest

from unbraid.cli.app import main
from unbraid.corruptions import MNIST_C
from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.study import make_table, parse_study, read_study, run_study
from unbraid.study.noise import Trained, beside_published, judge_noise, plot_changes, plot_sigmas
from unbraid.study.noise.ways import way_of

AUGMENT = {
    "vanilla": None,
    "clean, longer": None,
    "GNT 0.5": "gaussian-noise:sigma=0.5",
    "GNT mult": "gaussian-noise:sigmas=0.08+0.12",
    "ANT1x1": "ant:kernel=1,eps=5",
    "ANT1x1 w/o EP": "ant:kernel=1,eps=5,replay=0",
    "ANT3x3": "ant:kernel=3,eps=5",
    "ANT1x1 + stylised": "stylised:share=0.3 + ant:share=0.45",
    "Linf trained": "adversarial:norm=linf,radius=0.3",
}
HELPED = {"vanilla": 0.0, "clean, longer": 0.0, "GNT 0.5": 0.1, "GNT mult": 0.05, "ANT1x1": 0.1}
HELPED |= {"ANT1x1 w/o EP": 0.08, "ANT3x3": 0.1, "ANT1x1 + stylised": 0.12, "Linf trained": -0.1}
"""Gains in accuracy of a study in which every published conclusion holds."""


def noise_table(ways=HELPED, seeds=3, luck=0.001, sigmas=(), changes=()):
    """A study's table; ``changes`` are (way, corruption, gain) on top of what a way gains everywhere."""
    rng = np.random.default_rng(0)
    augment = AUGMENT | {f"GNT {sigma:g}": f"gaussian-noise:sigma={sigma}" for sigma in sigmas}
    more = {(way, corruption): gain for way, corruption, gain in changes}
    rows = []
    for place, (way, gain) in enumerate(ways.items()):
        for seed in range(seeds):
            about = {"index": place * seeds + seed, "data": "mnist", "seed": seed, "augment": augment[way]}
            about["after"] = None if way == "vanilla" else seed
            for corruption, severities in (("none", 1), *((name, 1) for name in MNIST_C), ("snow", 2), ("contrast", 2)):
                for severity in range(severities):
                    value = 0.8 + (gain if corruption != "none" else 0) + more.get((way, corruption), 0)
                    shown = {"corruption": corruption, "severity": severity}
                    rows.append({**about, **shown, "corruption_accuracy": value + luck * rng.normal()})
            for direction, scale in (("gaussian", 1.0), ("uniform", 1.0), ("learned", 0.5)):
                distance = scale * (10 + 20 * gain + (3 if way.startswith("ANT") else 0)) + luck * rng.normal()
                rows.append({**about, "direction": direction, "noise_distance": distance})
            rows += [
                {**about, "norm": n, "adversarial_accuracy": 0.5 + gain + luck * rng.normal()} for n in ("l2", "linf")
            ]
    return pl.DataFrame(rows, infer_schema_length=None)


def words(table):
    return {one.name: one.verdict.word for one in judge_noise(table)}


def test_every_way_of_training_has_its_published_name():
    assert {way: way_of(text, None if way == "vanilla" else 0) for way, text in AUGMENT.items()} == {
        w: w for w in AUGMENT
    }
    assert way_of("gaussian-noise:sigma=0.08", 0) == "GNT 0.08"
    assert way_of("adversarial:norm=l2", 0) == "L2 trained"
    assert way_of("my:thing", 0) == "my:thing"  # what is no augmentation of ours keeps its words


def test_a_study_in_which_all_holds_is_said_to_hold():
    # Fog and contrast lose 0.2 more than the mean of -0.1 under Linf training, snow gains 0.05 with 3x3 kernels.
    worse = [("Linf trained", name, -0.2) for name in ("fog", "contrast")] + [("ANT3x3", "snow", 0.05)]
    found = words(noise_table(changes=worse))
    assert found.pop("b") == "cannot say"
    assert set(found.values()) == {"holds"}
    assert list(found) == ["a", "c", "d", "e", "f", "g", "h", "i1", "i2", "j"]


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("a", {"GNT 0.5": -0.05}),
        ("c", {"GNT mult": 0.15}),
        ("e", {"GNT 0.5": 0.3}),  # 16 x 0.5 = 8 above (15 x 0.5) of ANT
        ("f", {"ANT1x1 w/o EP": 0.15}),
        ("g", {"ANT3x3": 0.0}),
        ("h", {"ANT1x1 + stylised": 0.05}),
        ("i1", {"Linf trained": 0.05}),
        ("i2", {}),  # fog and contrast change as all do, but for luck
        ("j", {"GNT 0.5": -0.05}),
    ],
)
def test_each_conclusion_can_fail(name, ways):
    found = words(noise_table({**HELPED, **ways}))
    assert found[name] == ("undecided" if name == "i2" else "does not hold")


def test_noise_alone_does_not_make_gaussian_training_help():
    # +0.1 under shot and impulse noise, -0.05 under the other thirteen.
    others = [("GNT 0.5", name, -0.15) for name in MNIST_C if name not in ("shot_noise", "impulse_noise")]
    assert words(noise_table(changes=others))["a"] == "does not hold"


def test_learned_noise_of_nearly_the_same_norm_is_not_far_less():
    table = noise_table()
    same = pl.when(pl.col("direction") == "learned").then(1.8).otherwise(1.0)
    assert words(table.with_columns(noise_distance=pl.col("noise_distance") * same))["d"] == "does not hold"


def test_luck_as_large_as_the_gain_leaves_it_undecided():
    assert words(noise_table({**HELPED, "ANT1x1 w/o EP": 0.099}, luck=0.02))["f"] == "undecided"
    assert words(noise_table(seeds=1))["a"] == "undecided"


@pytest.mark.parametrize(("best", "word"), [(0.5, "holds"), (0.12, "does not hold"), (1.0, "does not hold")])
def test_the_best_standard_deviation_is_near_one_half(best, word):
    sigmas = (0.12, 0.26, 0.38, 0.5, 0.8, 1.0)
    ways = {f"GNT {s:g}": 0.1 - 0.1 * abs(s - best) for s in sigmas}
    assert words(noise_table({"vanilla": 0.0, **ways}, sigmas=sigmas))["b"] == word


def test_published_numbers_stand_beside_their_rows():
    (trained,) = Trained.of(noise_table(luck=0)).values()
    beside = {(row["way"], row["score"]): row for row in beside_published(trained, "mnist-c").iter_rows(named=True)}
    assert beside["GNT 0.5", "mean"]["mean"] == pytest.approx(90)
    assert beside["GNT 0.5", "mean"]["published"] == 92.4
    assert beside["vanilla", "clean"]["published"] == 99.1
    assert beside["Linf trained", "fog"]["published"] == 63
    assert beside["GNT mult", "mean"]["published"] is None
    assert beside["GNT 0.5", "snow"]["mean"] == pytest.approx(90)  # mean over its two severities, not in the mean
    noise = beside_published(trained, "noise-distance")
    assert noise.filter(way="ANT1x1", score="learned").select("mean", "published").row(0) == (pytest.approx(7.5), 95.4)
    attacked = beside_published(trained, "mnist-adversarial")
    assert attacked.filter(way="vanilla", score="l2").select("mean", "published").row(0) == (pytest.approx(50), 73.2)


def test_pictures_need_what_they_show():
    (trained,) = Trained.of(noise_table()).values()
    assert plot_changes(trained).axes
    with pytest.raises(UsageError, match="three standard deviations"):
        plot_sigmas(trained)
    with pytest.raises(UsageError, match="clean, longer"):
        plot_changes(Trained(trained.table.filter(pl.col("way") != "clean, longer")))


def test_settings_of_one_name_are_told_apart():
    table = noise_table({"vanilla": 0.0, "clean, longer": 0.0, "ANT1x1": 0.1})
    other = table.filter(augment="ant:kernel=1,eps=5").with_columns(
        augment=pl.lit("ant:kernel=1,eps=10"), index=pl.col("index") + 100
    )
    (trained,) = Trained.of(pl.concat([table, other])).values()
    assert trained.ways == ["vanilla", "clean, longer", "ANT1x1 (ant:kernel=1,eps=5)", "ANT1x1 (ant:kernel=1,eps=10)"]


def test_data_that_runs_were_measured_on_are_not_mixed():
    table = noise_table(luck=0)
    easier = table.with_columns(pl.col("corruption_accuracy") + 0.05, on=pl.lit("training"))
    both = Trained.of(pl.concat([table.with_columns(on=pl.lit("test")), easier]))
    assert list(both) == ["mnist on test", "mnist on training"]
    assert [one.mean("vanilla") for one in both.values()] == pytest.approx([80, 85])
    eps = pl.when(pl.col("norm").is_not_null()).then(pl.col("seed"))
    assert words(table.with_columns(eps=eps))["j"] == "cannot say"


def test_noise_that_changes_nothing_is_infinite_in_the_tables():
    never = (pl.col("direction") == "learned") & (pl.col("seed") == 0) & (pl.col("augment") == "ant:kernel=1,eps=5")
    table = noise_table().with_columns(noise_distance=pl.when(~never.fill_null(False)).then("noise_distance"))
    (trained,) = Trained.of(table).values()
    assert beside_published(trained, "noise-distance").filter(way="ANT1x1", score="learned")["mean"].item() == np.inf


def test_means_are_over_all_of_the_suite():
    shown = pl.col("corruption").fill_null("")
    assert words(noise_table().filter(shown != "fog"))["f"] == "cannot say"
    assert words(noise_table().filter(shown != "shot_noise"))["a"] == "cannot say"


def test_published_numbers_of_digits_do_not_stand_beside_clothes():
    (trained,) = Trained.of(noise_table().with_columns(data=pl.lit("fashion-mnist"))).values()
    assert beside_published(trained, "mnist-c")["published"].null_count() == len(beside_published(trained, "mnist-c"))


def test_one_measure_cannot_say_two_things_of_one_condition(tmp_path):
    text = SMALL.replace('suite = "snow"\nimages = 20', 'suite = "fog"\nimages = 7')
    folder = run_study(parse_study(text, "here"), tmp_path, engine=InlineEngine(), indices=[0], progress="none")
    with pytest.raises(UsageError, match="asked twice and says two things of corruption_accuracy"):
        make_table(folder)


def test_a_study_without_corruptions_is_told_what_to_add():
    with pytest.raises(UsageError, match=re.escape("[measures.corruptions]")):
        judge_noise(pl.DataFrame({"index": [0], "data": ["mnist"]}))


SMALL = """
data = ["blobs16"]
seeds = 2
steps = 4
net = "mlp:width=8"
batch_size = 16
options.factor = "x"

[[objectives.classifier]]
[[objectives.classifier]]
after = "classifier"
learning_rate = [1e-3]
[[objectives.classifier]]
after = "classifier"
learning_rate = [1e-3]
augment = ["gaussian-noise:sigma=0.5"]

[[measures.corruptions]]
suite = "mnist-c"
images = 20
[[measures.corruptions]]
suite = "snow"
images = 20
"""


def test_a_study_on_disk_gets_its_page(tmp_path, capsys):
    (tmp_path / "small.toml").write_text(SMALL)
    folder = str(tmp_path / "s")
    asked = ["study", "run", str(tmp_path / "small.toml"), "--out", folder, "--workers", "1", "--progress", "none"]
    assert main(asked) == 0
    assert main(["study", "report", folder]) == 0
    told = capsys.readouterr().out
    assert "questions about them are left out" in told
    assert "not answered" not in told
    page = (tmp_path / "s" / "report" / "report.md").read_text(encoding="utf-8")
    assert "## Findings about noise training" in page
    assert "| clean, longer |" in page
    assert "does the penalty" not in page.lower()  # questions about scores that nobody measured
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert pictures
    assert all((tmp_path / "s" / "report" / name).exists() for name in pictures)
    table = pl.read_parquet(tmp_path / "s" / "table.parquet")
    assert table.filter(augment="gaussian-noise:sigma=0.5")["after"].unique().to_list() == [0, 1]
    # 15 + 5 severities of snow + none, of each of six runs.
    assert len(table) == 6 * 21


def test_presets_ask_what_their_findings_need():
    sizes = {name: len(read_study(name)) for name in ("noise", "noise-sigmas", "noise-fashion")}
    assert sizes == {"noise": 30, "noise-sigmas": 30, "noise-fashion": 15}
    ways = {way_of(" + ".join(spec.options.get("augment", ())), spec.after) for spec in read_study("noise")}
    assert {*AUGMENT, "Speckle"} == ways


def test_a_measure_may_be_asked_twice_with_other_settings():
    study = parse_study(SMALL, "here")
    assert [entry.measure.suite for entry in study.measures] == ["mnist-c", "snow"]
    with pytest.raises(UsageError, match=r"measures\.corruptions is asked for twice"):
        parse_study(SMALL.replace('"snow"', '"mnist-c"'), "here")
