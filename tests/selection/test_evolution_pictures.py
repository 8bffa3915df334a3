"""Pictures of a recursion and the page of a comparison."""

import json

import numpy as np
import polars as pl
import pytest
from boxes import Boxes
from PIL import Image
from tiny_recursion import TINY, run

from unbraid.report.evolution import draw_reduction, draw_tree
from unbraid.report.evolution_study import write_comparison
from unbraid.selection.reduction import reduce_dataset


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return run(TINY, tmp_path_factory.mktemp("drawn") / "tree")


def inked(path):
    return np.asarray(Image.open(path).convert("L")).std() > 1


def test_every_stage_of_a_recursion_is_drawn(tree, tmp_path):
    made = draw_tree(tree, Boxes(), tmp_path)
    names = {path.name for path in made}
    assert {"lineage_root.png", "lineage_final.png", "metaepochs.png"} <= names
    # One reduction per leaf-run at the root, one per later entry, whether it could be cut or not.
    entries = [entry for entry in tree.store.entries if entry.leaf_run]
    assert sum(name.startswith("reduction") for name in names) == 2 + len(entries)
    assert all(inked(path) for path in made)


def test_a_reduction_shows_the_chosen_interval_in_green(tmp_path):
    values = np.repeat([0.0, 1.0, 2.5, 4.0], 200) + np.linspace(0, 0.1, 800)
    found = reduce_dataset(values[:, None])
    shares = []
    for chosen in (found.chosen, ()):
        draw_reduction(found.cuts, tmp_path / "cut.png", chosen=chosen)
        red, green, blue = np.moveaxis(np.asarray(Image.open(tmp_path / "cut.png").convert("RGB")).astype(int), 2, 0)
        shares.append(((green > red + 20) & (green > blue + 5)).mean())
    assert shares[0] > 0.1  # a quarter of the images, in both panels
    assert shares[1] < 0.01


def test_a_comparison_becomes_a_page_with_verdicts(tmp_path):
    rng = np.random.default_rng(0)
    for seed in range(3):
        rows = [
            {"arm": "recursive", "leaf_runs": k, "selected": True, "mig": 0.2 + 0.1 * k, "model_images": 7_000_000}
            for k in (0, 1)
        ]
        rows += [
            {
                "arm": "plain",
                "selected": model == 0,
                "mig": float(rng.uniform(0, 0.4)),
                "member": model // 2,
                "member_score": 0.5 + 0.1 * (model // 2),
                "model_images": 7_000_000,
            }
            for model in range(4)
        ]
        rows += [
            {"arm": arm, "selected": True, "mig": value, "model_images": 1}
            for arm, value in (("pbt-s", 0.25), ("few-labels", 0.5))
        ]
        common = {"images": 100, "udr": 0.8, "kl": 1.5, "share": 0.9, "latent": 2}
        found = [
            {"leaf_run": 0, "depth": 0, "factor": "x", **common},
            {"leaf_run": 1, "depth": 1, "factor": None, **common},
        ]
        place = tmp_path / f"seed-{seed}"
        place.mkdir()
        (place / "compared.json").write_text(json.dumps({"seed": seed, "rows": rows, "found": found}))
    page = write_comparison(tmp_path, tmp_path / "report", command="unbraid evolve compare tiny").read_text()
    assert "| rPU-VAE, 1 leaf-run(s) | 3 | 0.300 | 0.000 | 0.300 | 0.300 |" in page
    assert "| plain beta-TCVAE, all | 12 |" in page
    assert "mean change +0.100 [95 %: +0.100 to +0.100] (better in 3, equal in 0, worse in 0 seeds)" in page
    assert "| PBT-S" in page
    assert "| **does not hold** | PBT-S 0.250" in page
    assert "| cannot say | this comparison lacks: all labels |" in page
    assert "| 2 | root | 100 | 0.80 | x 90% (1.5 nats) |" in page
    assert inked(tmp_path / "report" / "comparison.png")
    assert len(pl.read_parquet(tmp_path / "report" / "comparison.parquet")) == 3 * 8
