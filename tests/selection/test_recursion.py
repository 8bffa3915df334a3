"""The recursion itself: its path through stages, its stops, and that interruptions and workers leave no trace."""

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from boxes import Boxes
from tiny_recursion import SMALL, TINY, ranges, run

from dots import Dots
from unbraid.data import load
from unbraid.engines import InlineEngine, ProcessEngine
from unbraid.errors import UsageError
from unbraid.selection import Population, Range, evolve
from unbraid.selection.recursion import Recursion
from unbraid.selection.recursion_presets import PRESETS, population_preset, recursion_preset
from unbraid.selection.tree import TREE, explain, open_tree

TESTS = Path(__file__).parents[1]


def told(tree):
    """All that a recursion decided, without its times and its place."""
    final = tree.final
    return {
        "metaepochs": [dataclasses.replace(m, seconds=0.0) for m in tree.metaepochs],
        "stops": tree.stops,
        "labels": [(e.leaf_run, e.depth, e.indices.tolist(), e.values.tolist()) for e in tree.store.entries],
        "final": None if final is None else [dataclasses.asdict(g) for g in final.generations],
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(TINY, tmp_path_factory.mktemp("whole") / "tree")


def test_leaf_runs_train_on_images_of_the_set_above_and_label_them_by_absolute_position(whole):
    entries = {(e.leaf_run, e.depth): e for e in whole.store.entries}
    assert whole.metaepochs[0].name == "root"
    assert entries[0, 0].indices.tolist() == list(range(1920))
    assert entries[0, 0].values.shape == (1920, 2)
    assert whole.store.leaf_runs
    for (leaf_run, depth), entry in entries.items():
        if depth == 0:
            continue
        above = entries[leaf_run, depth - 1] if depth > 1 else entries[0, 0]
        rank = leaf_run - 1 if depth == 1 else 0
        assert entry.indices.tolist() == above.indices[whole.reduce(above, rank).indices].tolist()
    first = [entries[run, 1].indices.tolist() for run in whole.store.leaf_runs]
    assert len({tuple(indices) for indices in first}) == len(first)  # every leaf-run freezes other plateaus
    assert set(whole.stops) == {1, 2}


def test_the_final_population_is_selected_by_the_labels_of_all_leaf_runs(whole):
    from unbraid.selection.surrogates import surrogate_mig
    from unbraid.training import open_run

    best = whole.final.best
    score = surrogate_mig(open_run(best.run), Boxes(), whole.store, seed=whole.final.seed)
    assert best.score == pytest.approx(score.value)
    assert whole.finished
    assert "final by 2 leaf-run(s)" in whole.text()


def test_a_population_of_workers_gives_the_same_tree(whole, tmp_path):
    assert told(run(TINY, tmp_path / "tree", ProcessEngine(2))) == told(whole)


def test_a_recursion_killed_at_any_point_and_moved_ends_with_the_same_tree(whole, tmp_path):
    script = f"""
        import sys
        sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "selection")!r}]
        from tiny_recursion import TINY, run
        run(TINY, {str(tmp_path / "tree")!r})
    """
    for stage in ("metaepochs/leaf00_depth00/generations/001", "labels/leaf01*", "final/generations/001"):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], env=os.environ)
        while process.poll() is None and not list((tmp_path / "tree").glob(stage)):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / "tree" / TREE).exists()
    moved = (tmp_path / "tree").rename(tmp_path / "moved")
    assert told(run(TINY, moved)) == told(whole)


def test_a_finished_recursion_is_opened_again_and_other_settings_are_refused(whole):
    assert told(run(TINY, whole.folder)) == told(open_tree(whole.folder)) == told(whole)
    with pytest.raises(UsageError, match="leaf_runs = 2, now asked for 3"):
        run(dataclasses.replace(TINY, leaf_runs=3), whole.folder)
    with pytest.raises(UsageError, match="seed"):
        run(TINY, whole.folder, seed=1)


def test_without_leaf_runs_the_labels_of_the_root_decide(tmp_path):
    tree = run(dataclasses.replace(TINY, leaf_runs=0), tmp_path / "tree")
    assert tree.stops == {}
    assert [(m.leaf_run, m.depth) for m in tree.metaepochs] == [(0, 0)]
    assert tree.final.finished


def test_a_leaf_run_stops_at_noise_at_silence_at_few_images_and_when_all_diverge(tmp_path):
    silent = dataclasses.replace(
        SMALL, ranges=ranges(1e-2, beta=Range((1000,), 500, 2000, whole=True)), images=3200, generations=1
    )
    wild = dataclasses.replace(SMALL, ranges=ranges(1e9, beta=Range((1,), 1, 2)), generations=1, retries=0)
    base = dataclasses.replace(TINY, leaf_runs=1)
    cases = {
        "noise": (dataclasses.replace(base, udr_floor=2.0), "below 2"),
        "inactive": (dataclasses.replace(base, leaf=silent, least_images=3200, kl_threshold=0.05), "no latent"),
        "small": (dataclasses.replace(base, min_size=1921), "at least 1921"),
        "diverged": (dataclasses.replace(base, leaf=wild, udr_floor=0.1), "UDR is 0.000"),
        "depth": (dataclasses.replace(base, max_depth=1), "as many as allowed"),
    }
    for name, (recursion, words) in cases.items():
        tree = run(recursion, tmp_path / name)
        assert tree.stops[1].kind == {"diverged": "noise"}.get(name, name)
        assert words in tree.stops[1].detail
        # Labels of the root are there in any case, those of the leaf-run only if it learned something.
        assert tree.store.leaf_runs == ([1] if name == "depth" else [])
        assert tree.final.finished


def test_a_root_that_learns_nothing_says_so(tmp_path):
    with pytest.raises(UsageError, match="no active latent"):
        run(dataclasses.replace(TINY, kl_threshold=100.0), tmp_path / "silent")
    assert open_tree(tmp_path / "silent").stops[0].kind == "inactive"
    wild = dataclasses.replace(SMALL, ranges=ranges(1e9, beta=Range((1,), 1, 2)), generations=1, retries=0)
    with pytest.raises(UsageError, match="diverged"):
        run(dataclasses.replace(TINY, root=wild), tmp_path / "wild")


def test_presets_are_whole_and_paper_has_the_published_numbers():
    for name in PRESETS:
        recursion, _ = recursion_preset(name)
        assert recursion.settings()["leaf_runs"] == recursion.leaf_runs
    paper, data = recursion_preset("paper")
    assert data == "dsprites"
    for population in (paper.root, paper.leaf or paper.root, paper.final):
        assert (population.objective, population.options["net"]) == ("beta-tcvae-sampled", "conv-bn")
        assert set(population.searched) == {"learning_rate", "batch_size", "beta"}
    assert (paper.root.size, paper.root.models, paper.root.patience, paper.root.threshold) == (56, 5, 6, 0.005)
    assert (paper.final.size, paper.final.halving, paper.final.generations) == (56, 2, 17)
    assert (paper.leaf_runs, paper.udr_floor, paper.kl_threshold, paper.least_images) == (3, 0.1, 1.0, 10_000)
    with pytest.raises(UsageError, match="preset"):
        recursion_preset("tiny")


def test_rooms_of_the_preset_have_larger_populations_and_factors_that_change_more_than_the_noise_of_a_bit():
    recursion, data = recursion_preset("rooms")
    small, _ = recursion_preset("small")
    assert recursion.root.size > small.root.size
    assert recursion.final.size > small.final.size
    assert recursion.leaf_runs == 3
    rooms = load(data)
    assert rooms.shape == (16, 16, 3)
    assert rooms.factor_kinds[:3] == ("ordinal",) * 3  # half a circle of hues is a line
    # Shuffling a factor changes a pixel by so many grey levels (root mean square): hues most, and all beyond one level.
    rng = np.random.default_rng(0)
    first = rooms.factors(rooms.sample_index(300, rng))
    seen = {}
    for k, name in enumerate(rooms.factor_names):
        other = first.copy()
        other[:, k] = rng.permutation(other[:, k])
        images = [rooms.images(rooms.space.index(each)).astype(float) for each in (first, other)]
        seen[name] = np.sqrt(((images[0] - images[1]) ** 2).mean())
    assert min(seen["floor_hue"], seen["wall_hue"]) > 50 > seen["object_hue"] > 20
    assert min(seen.values()) > 10


def test_a_published_population_without_recursion_has_28_generations_when_labels_select_it():
    reference, data = population_preset("paper", "mig")
    assert data == "dsprites"
    assert (reference.size, reference.halving, reference.generations, reference.models) == (56, 2, 28, 1)
    assert reference == dataclasses.replace(recursion_preset("paper")[0].final, generations=28)
    unsupervised, _ = population_preset("paper", "udr")
    assert unsupervised == recursion_preset("paper")[0].root
    small, _ = population_preset("small", "dci")
    assert small == dataclasses.replace(recursion_preset("small")[0].final, score="dci")


def test_members_of_the_published_kind_train_are_scored_and_taken_over(tmp_path):
    published, _ = population_preset("paper", "mig")
    searched = {
        "learning_rate": Range((1e-4, 1e-3), 1e-6, 1e-2),
        "batch_size": Range((16, 32), 8, 32, whole=True),
        "beta": Range((1, 4), 1, 10, whole=True),
    }
    tiny = dataclasses.replace(published, size=2, halving=1, images=64, generations=2, ranges=searched)
    found = evolve(tiny, Dots(), out=tmp_path, engine=InlineEngine(), progress="none")
    assert len(found.generations) == 2
    loser = found.lineage().to_dicts()[0]["loser"]
    heir = next(result for result in found.generations[1].results if result.member == loser)
    assert heir.start == (0, 1 - loser)
    assert heir.steps > found.generations[0].results[1 - loser].steps


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="udr"):
        Recursion(root=Population(score="mig"))
    with pytest.raises(UsageError, match="leaf_runs"):
        Recursion(leaf_runs=-1)


def test_a_latent_is_explained_by_the_factor_whose_values_fix_it():
    factors = np.indices((12, 12)).reshape(2, -1).T
    noise = np.random.default_rng(0).standard_normal((144, 1))
    found = explain(np.hstack([factors[:, 1:] ** 2, noise]), (3, 5), factors, ("x", "y"))
    assert (found[0].latent, found[0].factor) == (3, "y")
    assert found[0].share == pytest.approx(1.0)
    assert found[1].share < 0.15  # 12 values explain 11/143 of pure noise by chance; the correction takes that off


def test_lists_of_values_are_recorded_as_before_there_were_ranges_between_them():
    stored = recursion_preset("smoke")[0].settings()
    for name in ("root", "leaf", "final"):
        for values in stored[name]["ranges"].values():
            assert values.keys() == {"values", "low", "high", "whole"}
