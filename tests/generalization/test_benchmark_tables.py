"""From runs to the tables, verdicts and comparisons of a benchmark."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from benchmark_toys import MODELS, toy_runs
from unbraid.data import SPLITS, load
from unbraid.errors import UsageError
from unbraid.generalization import published, published_models, space_of, targets
from unbraid.study import parse_study
from unbraid.study.generalization import (
    BENCHMARKS,
    Trained,
    benchmark,
    beside_published,
    disentanglement_correlations,
    judge_findings,
    judge_statements,
    left_out,
    model_of,
    plain_data,
    read_benchmark,
    tabulate,
)
from unbraid.study.generalization.selection import selected
from unbraid.study.generalization.statements import hardest, published_means


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites")


@pytest.fixture(scope="module")
def toy(runs):
    return tabulate("toy", runs)


def test_every_run_has_a_row_of_scores_and_every_split_its_baselines(toy, runs):
    assert len(toy.scores) == len(runs) == 4 * len(MODELS) * 3
    assert toy.models("mini-sprites") == ["BetaVAE", "SlowVAE", "MLP", "CNN", "ResNet, small"]
    assert toy.splits("mini-sprites") == list(SPLITS)
    assert len(toy.baselines) == 4 * 3
    # The CNN is the clamped truth with noise of 0.05 x 0.3: R² is that of the baseline but for 0.015² / variance.
    clamp = toy.baselines.filter((pl.col("baseline") == "clamp") & (pl.col("split") == "extrapolation"))["r2"][0]
    cnn = toy.chosen.filter((pl.col("model") == "CNN") & (pl.col("split") == "extrapolation"))["r2"].mean()
    assert cnn == pytest.approx(clamp, abs=0.02)


def test_findings_of_models_that_stay_inside_the_seen_range(toy):
    found = {one.name: one.verdict for one in judge_findings(toy)}
    assert found["a"].word == "holds"  # compositions are lost by design, values beyond the range are clamped
    assert found["b"].word == "holds"  # the others are as good as on the random split
    assert found["d2"].word == "holds"  # read-outs have more noise than the CNN
    assert found["d1"].numbers["Spearman"] > 0
    assert "percent" in found["c"].numbers
    assert found["c"].numbers["percent"] > 80
    assert all(one.rule and one.text for one in judge_findings(toy))


def test_disentanglement_and_read_outs_are_correlated_cell_by_cell(toy):
    # Read-outs with less noise were made of more disentangled codes: the order of models is the same in both.
    table = disentanglement_correlations(toy)
    assert table.select("data", "split", "runs").rows() == [
        *(("mini-sprites", split, 6) for split in SPLITS),
        ("mini-sprites", "all", 24),
    ]
    assert table.filter(pl.col("split") != "all")["pearson"].min() > 0.9
    assert table["p"].is_between(0, 1).all()
    without = toy.scores.with_columns(dci=pl.lit(None, pl.Float64))
    assert disentanglement_correlations(dataclasses.replace(toy, scores=without)).is_empty()


def test_one_seed_decides_nothing_and_a_missing_split_cannot_say(toy):
    alone = toy.without([1, 2])
    assert {one.verdict.word for one in judge_findings(alone)} <= {"undecided", "cannot say"}
    without = dataclasses.replace(toy, scores=toy.scores.filter(pl.col("split") != "random"))
    assert judge_findings(without)[0].verdict.word == "cannot say"
    assert "random split" in judge_findings(without)[0].verdict.sentence


def test_similarity_has_every_pair_of_runs_once_each_way_and_the_truth(toy):
    table = toy.similarity
    count = len(MODELS) * 3
    assert len(table) == (count + 1) ** 2 - (count + 1)
    own = table.filter((pl.col("first") == "CNN") & (pl.col("second") == "CNN"))
    assert own.select("first_seed", "second_seed").filter(pl.col("first_seed") == pl.col("second_seed")).is_empty()
    left = toy.without([0]).similarity
    assert 0 not in set(left["first_seed"]) | set(left["second_seed"])
    assert "truth" in set(left["first"])


@pytest.mark.parametrize(
    ("data", "random", "extrapolation", "composition"),
    # Counted from tables 5 to 10 of the paper: rows where random is best, extrapolation worst, composition worst.
    [
        ("dsprites", 16, 6, 11),
        ("dsprites-90", 13, 9, 8),
        ("shapes3d", 16, 17, 0),
        ("celeb-glow", 17, 17, 0),
        ("mpi3d", 16, 15, 1),
        ("mpi3d-toy", 16, 13, 1),
    ],
)
def test_the_published_tables_say_what_the_statements_say(data, random, extrapolation, composition):
    means = published_means(data)
    worst = hardest(means)
    assert (worst["extrapolation"], worst["composition"]) == (extrapolation, composition)
    best = sum(means["random"][m] >= max(means[s][m] for s in SPLITS) for m in published_models())
    assert best == random


@pytest.mark.parametrize("data", ["dsprites", "shapes3d"])
def test_the_published_numbers_fulfil_their_own_statements(data, toy):
    about = {"data": data, "kind": "supervised", "strength": None, "index": 0, "augment": None, "selected": True}
    rows = [
        {**about, "split": split, "model": model, "seed": seed, "r2": published(data, split, model).mean / 100}
        for split in SPLITS
        for model in published_models()
        for seed in range(3)
    ]
    schema = {name: kind for name, kind in toy.scores.schema.items() if name in rows[0]}
    printed = dataclasses.replace(toy, scores=pl.DataFrame(rows, schema=schema))
    assert [one.verdict.word for one in judge_statements(printed)] == ["holds"] * 3


def test_the_strength_with_the_most_disentangled_codes_is_selected(runs):
    encoders = [run for run in runs if run.model.name == "BetaVAE" and run.split == "random"]
    several = [
        dataclasses.replace(run, index=10 * number + run.seed, strength=float(strength), dci=dci)
        for number, (strength, dci) in enumerate(((1, 0.2), (4, 0.6), (16, 0.4)))
        for run in encoders
    ]
    assert selected(several) == {10, 11, 12}
    found = tabulate("several", several)
    assert set(found.chosen["strength"]) == {4.0}
    assert len(found.scores) == 9
    assert len(found.factors) == 3 * 4  # of the selected ones alone


def test_the_table_stands_beside_the_published_one(runs):
    renamed = [dataclasses.replace(run, data="rooms3d") for run in runs]
    table = beside_published(tabulate("toy", renamed))
    row = table.filter((pl.col("model") == "CNN") & (pl.col("split") == "extrapolation")).to_dicts()[0]
    assert (row["published"], row["published_sd"], row["stand_in"]) == (48.9, 23.2, True)
    assert row["seeds"] == 3
    assert row["sd"] == pytest.approx(
        100
        * np.std(
            [run.answers().scores.mean for run in runs if (run.model.name, run.split) == ("CNN", "extrapolation")],
            ddof=1,
        )
    )
    own = table.filter(pl.col("model") == "ResNet, small")
    assert own["published"].null_count() == len(own)


def test_data_that_are_only_like_the_published_have_no_published_cell(runs):
    found = tabulate("toy", [dataclasses.replace(run, data="arm3d") for run in runs])
    table = beside_published(found)
    assert table["published"].null_count() == len(table)
    assert table["stand_in"].all()
    assert judge_statements(found) == []


def test_runs_that_were_asked_about_other_images_are_refused(runs, tmp_path):
    other = toy_runs(tmp_path, "mini-sprites", seeds=1, images=300, kinds=("extrapolation",))
    first = [run for run in runs if run.split == "extrapolation"]
    with pytest.raises(UsageError, match="different images"):
        tabulate("mixed", [*first, dataclasses.replace(other[0], index=999, seed=9)])


def test_presets_hold_the_published_rows():
    small, paper = read_benchmark("small"), read_benchmark("paper")
    assert len(small) == 2 * 4 * 9 * 3
    halves = {"small-dsprites", "small-rooms"}
    assert set(BENCHMARKS) == {"smoke", "small", *halves, "paper", "ablation-training", "ablation-augmentation"}
    assert sum(len(read_benchmark(name)) for name in halves) == len(read_benchmark("small")) == 216
    rows = {model_of(spec).published for spec in paper}
    assert rows == set(published_models()) - set(left_out(paper))
    assert left_out(paper) == ["RN50 (ImageNet-21k)", "RN101 (ImageNet-21k)", "DenseNet (ImageNet-1k)"]
    assert left_out(small) == []
    nets = {spec.net: model_of(spec).name for spec in small if spec.objective == "regressor"}
    assert nets["mlp:layers=90+90+90+90+45+22"] == "MLP"
    assert nets["cnn"] == "CNN"
    plain = parse_study(BENCHMARKS["smoke"].replace("mlp:width=32", "mlp"), "plain")
    assert "MLP" not in {model_of(spec).name for spec in plain}, "the plain mlp has other layers than the published"
    assert {plain_data(spec.data) for spec in small} == {"dsprites-90", "rooms3d"}


def test_rows_with_weight_files_join_the_published_preset(tmp_path):
    file = tmp_path / "weights.npz"
    file.write_bytes(b"")
    study = read_benchmark("paper", {"bit-r50x1": file, "densenet-121": file})
    assert left_out(study) == ["RN101 (ImageNet-21k)"]
    transfer = [spec for spec in study if model_of(spec).kind == "transfer"]
    assert {model_of(spec).name for spec in transfer} == {"RN50 (ImageNet-21k)", "DenseNet (ImageNet-1k)"}
    assert {spec.steps for spec in transfer} == {50_000}
    with pytest.raises(UsageError, match="no such file"):
        read_benchmark("paper", {"bit-r50x1": tmp_path / "none.npz"})
    with pytest.raises(UsageError, match="network with released weights"):
        read_benchmark("paper", {"cnn": file})


def test_names_of_weight_files_may_hold_quotes_but_no_commas(tmp_path):
    for name in ('a "b".npz', "back\\slash.npz"):
        (tmp_path / name).write_bytes(b"")
        study = read_benchmark("paper", {"bit-r50x1": tmp_path / name})
        assert f"bit-r50x1:weights={tmp_path / name}" in {spec.net for spec in study}
    (tmp_path / "a,b.npz").write_bytes(b"")
    with pytest.raises(UsageError, match=r"a,b\.npz; rename it without commas"):
        read_benchmark("paper", {"bit-r50x1": tmp_path / "a,b.npz"})


def test_the_published_preset_leaves_persons_out_of_dci():
    asked = next(entry.measure for entry in read_benchmark("paper").measures if entry.measure.name == "disentanglement")
    assert asked.options == {"dci": {"most_values": 100}}
    assert "Seeds are 3 for all; published are 10" in BENCHMARKS["paper"]


def test_a_file_without_splits_is_refused(tmp_path):
    file = tmp_path / "plain.toml"
    file.write_text('data = "mini-sprites"\nsteps = 1\nobjectives = ["regressor"]\nmeasures = ["generalization"]\n')
    with pytest.raises(UsageError, match=r"mini-sprites names no split; add splits"):
        read_benchmark(file)
    file.write_text('data = "mini-sprites"\nsplits = ["random"]\nsteps = 1\nobjectives = ["regressor"]\n')
    with pytest.raises(UsageError, match=r"add \[measures.generalization\]"):
        read_benchmark(file)


def test_a_trained_run_names_the_columns_of_its_tables():
    model = MODELS[0][0]
    run = Trained(3, "x", "random", model, 4.0, 1, None)
    assert run.about["model"] == "BetaVAE"
    assert run.about["strength"] == 4.0


def test_own_makers_of_models_go_through_the_benchmark(tmp_path):
    whole = load("mini-sprites")
    space, seen = space_of(whole), []

    def exact(train, seed):
        """Knows every image by heart, also those it was not given."""
        seen.append((train.side.kind, seed))
        every = np.arange(len(whole))
        known = {image.tobytes(): row for image, row in zip(whole.images(every), whole.factors(every), strict=True)}
        return lambda images: targets(np.stack([known[image.tobytes()] for image in images]), space)

    found = benchmark({"exact": exact}, "mini-sprites", out=tmp_path, splits=("random", "extrapolation"), seeds=2)
    assert seen == [("random", 0), ("random", 1), ("extrapolation", 0), ("extrapolation", 1)]
    assert found.scores["r2"].to_list() == [1.0] * 4
    assert found.towards["below"].to_list() == [1.0] * 2  # not beyond the truth, but for rounding
    assert len(list(tmp_path.glob("*.parquet"))) == 4
    with pytest.raises(UsageError, match=r"holds what other models said \(00000.parquet\)"):
        benchmark({"exact": exact}, "mini-sprites", out=tmp_path, splits=("random",), seeds=1)
    assert len(seen) == 4, "nothing is made for a folder that is refused"
    with pytest.raises(UsageError, match="did you mean 'random'"):
        benchmark({"exact": exact}, "mini-sprites", out=tmp_path, splits=("randm",))
    with pytest.raises(UsageError, match="models is empty"):
        benchmark({}, "mini-sprites", out=tmp_path)
