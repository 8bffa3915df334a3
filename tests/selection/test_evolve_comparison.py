"""The comparison of a recursion with other ways to spend the same images."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from tiny_recursion import TINY

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.selection.comparison import ARMS, compare, comparison_tables, judge


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    options = {"net": "mlp:width=16", "latents": 4}  # the loss with labels needs a latent per factor
    ranges = {**TINY.root.searched}
    populations = {
        name: dataclasses.replace(getattr(TINY, name), objective="beta-tcvae", options=options, ranges=ranges)
        for name in ("root", "leaf", "final")
    }
    recursion = dataclasses.replace(TINY, leaf_runs=1, max_depth=1, **populations)
    folder = tmp_path_factory.mktemp("compared")
    for _ in range(2):  # the second time there is nothing to do
        compare(recursion, "boxes", out=folder, seeds=2, engine=InlineEngine(), progress="none")
    return comparison_tables(folder)


def test_every_arm_has_one_selected_model_per_seed_and_costs_what_the_recursion_costs(compared):
    models, found = compared
    for arm in ARMS:
        rows = models.filter((pl.col("arm") == arm) & pl.col("selected"))
        assert sorted(rows["seed"].unique()) == [0, 1]
        assert len(rows) == (4 if arm == "recursive" else 2)  # selected by no and by one leaf-run
    spent = models.group_by("arm").agg(pl.col("model_images").max())
    cost = dict(spent.iter_rows())
    # The plain arm is a whole number of members of 2 models with 2 * 160 images each.
    assert abs(cost["plain"] - cost["recursive"]) <= 2 * 320
    assert cost["few-labels"] == cost["pbt-s"]
    assert set(found.columns) >= {"seed", "leaf_run", "depth", "factor", "share", "udr"}


def test_verdicts_follow_from_the_numbers():
    def rows(arm, scores, **more):
        return [{"seed": s, "arm": arm, "selected": True, "mig": v, "leaf_runs": None, **more} for s, v in scores]

    models = pl.DataFrame(
        rows("recursive", enumerate([0.2, 0.25]), leaf_runs=0)
        + rows("recursive", enumerate([0.3, 0.35]), leaf_runs=1)
        + rows("plain", enumerate([0.1, 0.5]))
        + rows("plain", enumerate([0.0, 0.2]), selected=False)
        + rows("pbt-s", enumerate([0.4, 0.5]))
        + rows("few-labels", enumerate([0.5, 0.6])),
        infer_schema_length=None,
    )
    found = pl.DataFrame({"seed": [0, 0, 1], "leaf_run": [0, 0, 0], "factor": ["x", "y", "x"]})
    claims = judge(models, found)
    # Plain: median 0.15, deviation 0.19; recursion: 0.3 and 0.35, deviation 0.025; labels: 0.45 against 0.55.
    assert [claim.verdict.holds for claim in claims] == [True, True, True, False]
    assert "x | x, y" in claims[0].verdict.sentence
    assert claims[3].verdict.numbers == pytest.approx({"selection": 0.45, "loss": 0.55})
    assert "+0.100 with a standard error of 0.000 (better in 2" in claims[2].verdict.sentence
    # A gain of 0.3 and -0.1: mean 0.1, standard error 0.2, so nothing is shown.
    swung = models.with_columns(
        mig=pl.when(pl.col("leaf_runs") == 1).then(0.5 - 0.35 * pl.col("seed")).otherwise("mig")
    )
    assert judge(swung, found)[2].verdict.word == "undecided"
    assert np.std([0.3, 0.35]) == pytest.approx(0.025)


def test_an_unfinished_comparison_has_no_table(tmp_path):
    with pytest.raises(UsageError, match="no seed"):
        comparison_tables(tmp_path)
