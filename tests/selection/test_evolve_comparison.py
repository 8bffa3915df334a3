"""The comparison of a recursion with other ways to spend the same images."""

import dataclasses

import polars as pl
import pytest
from tiny_recursion import TINY

from unbraid.engines import InlineEngine
from unbraid.errors import UsageError
from unbraid.selection import comparison
from unbraid.selection.claims import judge
from unbraid.selection.comparison import ARMS, compare, comparison_tables


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
    assert cost["few-labels"] == cost["pbt-s"] == cost["pbt-s-all"] == cost["pbt-s-dci"]
    # All are assessed with both scores, and every plain model on the labels that might select it.
    assert models.filter("selected")["dci"].null_count() == 0
    assert models["alone"].null_count() == 0
    assert models.filter(arm="plain")["mig_labels"].null_count() == 0
    # The root is told by itself, at what it had cost by then.
    assert 0 < cost["root"] < cost["recursive"]
    assert set(found.columns) >= {"seed", "leaf_run", "depth", "factor", "share", "udr"}


def table(**arms):
    """One selected model per arm and seed; pairs of numbers are MIG and DCI."""
    rows = []
    for name, scores in arms.items():
        arm, _, more = name.partition("__")
        for seed, value in enumerate(scores):
            value, dci = value if isinstance(value, tuple) else (value, None)
            rows.append(
                {"seed": seed, "arm": arm.replace("_", "-"), "selected": more != "all", "mig": value, "dci": dci}
                | {"leaf_runs": int(more) if more.isdigit() else None}
                | {"mig_labels": 1 - value if arm == "plain" else None}
            )
    return pl.DataFrame(rows, infer_schema_length=None)


FOUND = pl.DataFrame({"seed": [0, 0, 1], "leaf_run": [0, 0, 0], "factor": ["x", "y", "x"]})


def test_verdicts_follow_from_the_numbers():
    models = table(
        recursive__0=[0.2, 0.25, 0.22, 0.24, 0.21],
        recursive__1=[0.3, 0.35, 0.34, 0.33, 0.32],
        root=[0.31, 0.33, 0.36, 0.32, 0.33],
        plain=[0.1, 0.2, 0.12, 0.3, 0.02],
        plain__all=[0.0, 0.9] * 12,
        pbt_s=[0.4, 0.5, 0.41, 0.45, 0.42],
        few_labels=[0.5, 0.6, 0.52, 0.55, 0.51],
        pbt_s_all=[(0.6, 0.5), (0.61, 0.55), (0.7, 0.45), (0.65, 0.5), (0.66, 0.51)],
        pbt_s_dci=[(0.4, 0.5), (0.3, 0.5), (0.35, 0.5), (0.42, 0.5), (0.33, 0.5)],
    )
    claims = judge(models, FOUND)
    # Every recursive model is above the plain median 0.12, all five by chance: 1 in 32. Labels in the loss are ahead by
    # 0.09 to 0.1, and the final models are ahead of their roots in two seeds of five. By labels (1 - MIG
    # here) the worst plain model of each seed is selected, far behind PBT-S.
    assert [claim.verdict.holds for claim in claims] == [True, True, None, True, False, True, True, True]
    assert "DCI +0.002" in claims[-1].verdict.sentence


def test_what_few_seeds_cannot_tell_is_undecided_and_what_is_missing_cannot_be_said():
    models = table(
        recursive__0=[0.2, 0.45],
        recursive__1=[0.3, 0.35],
        plain=[0.1, 0.2],
        pbt_s=[0.4, 0.5],
        few_labels=[0.5, 0.45],
    ).drop("mig_labels")
    words = [claim.verdict.word for claim in judge(models, FOUND)]
    assert words == ["undecided"] * 2 + ["cannot say"] + ["undecided"] * 2 + ["cannot say"] * 3


def test_too_few_images_for_the_labels_are_named_before_anything_is_trained(tmp_path):
    with pytest.raises(UsageError, match=r"at least 1,000 images.*'blobs16' has 256"):
        compare(TINY, "blobs16", out=tmp_path / "compared", engine=InlineEngine(), progress="none")
    assert not (tmp_path / "compared").exists()


def test_a_strength_that_is_fixed_is_searched_by_no_way():
    ranges = {name: found for name, found in TINY.final.searched.items() if name != "beta"}
    final = dataclasses.replace(TINY.final, objective="beta-tcvae", options={"beta": 2}, ranges=ranges)
    others = comparison._others(dataclasses.replace(TINY, final=final), 10_000, 5_000)
    assert all("beta" not in population.searched for population in others.values())
    assert all(population.options["beta"] == 2 for population in others.values())


def test_an_unfinished_comparison_has_no_table(tmp_path):
    with pytest.raises(UsageError, match="no seed"):
        comparison_tables(tmp_path)
