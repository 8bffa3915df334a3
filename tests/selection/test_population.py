"""Populations from start to end: toys, tiny models, engines, interruptions."""

import dataclasses
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import population_toys
import pytest
from population_toys import RANGES, TINY

import dots
from dots import Dots
from unbraid import data as data_sets
from unbraid.engines import InlineEngine, ProcessEngine, make_engine
from unbraid.errors import UsageError
from unbraid.selection import Population, Range, evolve, open_evolution
from unbraid.selection.scoring import find_score, udr_score
from unbraid.training import open_run

TOYS = Path(population_toys.__file__)
HAS_RAY = importlib.util.find_spec("ray") is not None
TOY = Population(trainer="population_toys:descend", size=2, generations=20, images=64, score="mig")


def run(folder, population=TINY, **more):
    settings = {"data": Dots(), "engine": InlineEngine(), "progress": "none", **more}
    return evolve(population, settings.pop("data"), out=folder, **settings)


def table(evolution):
    return [dataclasses.asdict(generation) for generation in evolution.generations]


def test_copying_the_better_ones_weights_solves_the_toy_that_neither_member_can_solve_alone(tmp_path):
    # Each member moves one coordinate, by a factor 0.96 a step. Alone it ends at 1.2 - 0.9^2 = 0.39.
    together = run(tmp_path / "two", TOY)
    last = [result.score for result in together.generations[-1].results]
    assert min(last) >= 1.19
    alone = run(tmp_path / "one", dataclasses.replace(TOY, size=1))
    assert alone.best.score == pytest.approx(0.39, abs=1e-3)
    assert len(together.lineage()) == 19  # one of two after each generation but the last


@pytest.mark.parametrize("name", ["process", pytest.param("ray", marks=pytest.mark.skipif(
    not HAS_RAY, reason="Ray is not installed: pip install 'unbraid[ray]'"))])  # fmt: skip
def test_every_engine_gives_the_same_toy_and_the_same_models(name, tmp_path):
    toy = dataclasses.replace(TOY, generations=3)
    small = dataclasses.replace(TINY, generations=2, size=2)
    with make_engine(name, workers=2) as engine:
        # Workers of another machine know a data set by its name, and own code by its file.
        remote = {"engine": engine, "data": "dots", "plugins": [str(TOYS), dots.__file__]}
        found = run(tmp_path / "toy", toy, **remote)
        trained = run(tmp_path / "models", small, **remote)
    assert table(found) == table(run(tmp_path / "toy inline", toy))
    assert table(trained) == table(run(tmp_path / "models inline", small))


def test_a_population_is_scored_selected_recorded_and_goes_on_where_it_stopped(tmp_path):
    whole = run(tmp_path / "whole")
    with ProcessEngine(2) as engine:
        first = run(tmp_path / "parts", engine=engine, after=lambda evolution: len(evolution.generations) == 2)
        assert (len(first.generations), first.finished) == (2, False)
        parts = run(tmp_path / "parts", engine=engine)
    assert table(parts) == table(whole)
    assert parts.finished
    stored = open_evolution(tmp_path / "parts")
    assert (stored.generations, stored.population) == (parts.generations, parts.population)
    history, lineage = whole.history(), whole.lineage()
    assert history.height == 9
    assert lineage.height == 2  # one of three after each of the two generations that were followed by another
    event = lineage.row(0, named=True)
    later = history.filter(generation=1, member=event["loser"]).row(0, named=True)
    assert (later["from_generation"], later["from_member"]) == (0, event["winner"])
    assert later["learning_rate"] == event["new_learning_rate"]
    ratio = event["new_learning_rate"] / history.filter(generation=0, member=event["winner"])["learning_rate"][0]
    assert np.isclose(ratio, (2, 1.2, 0.8, 0.5)).any()
    best = whole.best
    assert best.score == max(max(r.score for r in g.results) for g in whole.generations)
    assert open_run(best.run).finished
    assert (tmp_path / "whole" / "best" / "model-0" / "run.json").exists()
    line = whole.ancestry(2, event["loser"])
    assert [number for number, _ in line] == [0, 1, 2]
    # Members that nobody goes on from are gone; the last generation and the best are there.
    kept = {path.parent.parent.parent for path in (tmp_path / "whole" / "generations").rglob("run.json")}
    last = {whole.member_folder(2, number) for number in range(3)}
    assert kept == last | {whole.member_folder(best.generation, best.result.member)}


def test_more_generations_extend_a_population_and_other_settings_are_refused(tmp_path):
    run(tmp_path / "more", dataclasses.replace(TOY, generations=2))
    longer = run(tmp_path / "more", dataclasses.replace(TOY, generations=4))
    assert table(longer) == table(run(tmp_path / "straight", dataclasses.replace(TOY, generations=4)))
    with pytest.raises(UsageError, match="size = 2, now asked for 3"):
        run(tmp_path / "more", dataclasses.replace(TOY, size=3))
    with pytest.raises(UsageError, match="seed = 0, now asked for 1"):
        run(tmp_path / "more", TOY, seed=1)


def test_what_no_member_could_do_is_refused_before_the_folder_remembers_it(tmp_path):
    for wrong, words in (
        ({"options": {"net": "nope"}}, "unknown network"),
        ({"score": "population_toys:nothing"}, "nothing"),
    ):
        with pytest.raises(UsageError, match=words):
            run(tmp_path, dataclasses.replace(TINY, **wrong))
    pictures = data_sets.from_arrays(Dots().images(np.arange(16)))
    with pytest.raises(UsageError, match="factors"):
        run(tmp_path, dataclasses.replace(TINY, score="mig"), data=pictures)
    assert run(tmp_path).finished


def test_convergence_ends_it(tmp_path):
    found = run(tmp_path, dataclasses.replace(TOY, generations=50, threshold=0.01, patience=2))
    best = found.best_scores
    assert found.converged
    assert len(best) < 50
    assert max(abs(np.diff(best[-3:]))) < 0.01


def test_a_member_whose_worker_is_lost_is_handed_out_again(tmp_path):
    lost = dataclasses.replace(TOY, trainer="population_toys:crash_once", generations=2)
    assert table(run(tmp_path / "lost", lost)) == table(run(tmp_path / "toy", dataclasses.replace(TOY, generations=2)))


def test_after_a_step_the_worst_of_five_has_what_the_best_has_and_the_others_their_own(tmp_path):
    settings = dataclasses.replace(TOY, trainer="population_toys:keep", size=5, generations=2)
    found = run(tmp_path, settings)

    def held(member):
        return [(found.member_folder(1, member) / "model" / name).read_bytes() for name in ("weights", "optimiser")]

    own = [[np.random.default_rng([n, len(name)]).bytes(64) for name in ("weights", "optimiser")] for n in range(5)]
    assert [held(member) for member in range(5)] == [*own[:4], own[0]]
    scores = [member.scores for member in found.members()]
    assert scores == [(5, 5), (4, 4), (3, 3), (2, 2), (5, 1)]  # the donor's history and then its own
    (found.member_folder(1, 4) / "model" / "weights").write_bytes(b"trained")
    assert held(0) == own[0]


def test_a_member_that_never_comes_back_scores_0_and_the_population_finishes(tmp_path):
    lost = dataclasses.replace(TOY, trainer="population_toys:crash_always", generations=2)
    found = run(tmp_path, lost)
    assert found.finished
    for generation in found.generations:
        assert generation.results[0].score == 0.0
        assert "no room" in generation.results[0].error
        assert generation.results[1].score > 0


def test_a_diverging_member_tries_again_and_then_scores_0_while_the_others_go_on(tmp_path):
    ranges = {**RANGES, "learning_rate": Range((1e-3, 1e30))}
    settings = dataclasses.replace(TINY, ranges=ranges, size=4, generations=2, retries=2)
    found = run(tmp_path, settings, seed=1)
    first = found.generations[0].results
    wild = [result for result in first if result.hyperparameters["learning_rate"] == 1e30]
    assert 0 < len(wild) < 4
    for result in wild:
        assert (result.score, result.retries, result.diverged, result.runs) == (0.0, 2, True, ())
    assert len(found.generations) == 2
    assert found.best.score > 0
    assert Population().retries == 10


def test_scores_that_fail_count_0_and_a_score_that_always_fails_is_told(tmp_path):
    settings = dataclasses.replace(TINY, generations=1, models=1, score="population_toys:constant:value=0.5")
    assert run(tmp_path / "own", settings).best_scores == [0.5]
    some = run(tmp_path / "some", dataclasses.replace(settings, score="population_toys:nan_once"))
    assert [(r.score, r.error) for r in some.generations[0].results] == [
        (0.0, "the score is nan"),
        (0.5, None),
        (0.5, None),
    ]
    with pytest.raises(UsageError, match="scoring failed: RuntimeError: cannot score 1 models"):
        run(tmp_path / "broken", dataclasses.replace(settings, score="population_toys:broken"))


def test_labels_never_reach_the_weights(tmp_path):
    # One member: nothing to select. True labels and random ones give different scores and the same weights.
    settings = dataclasses.replace(TINY, score="mig", size=1, models=1, generations=2)
    found = [
        run(tmp_path / score[-3:], dataclasses.replace(settings, score=score))
        for score in ("mig", "population_toys:random_labels")
    ]
    one, other = ((e.member_folder(1, 0) / "try-0/model-0/checkpoint.safetensors").read_bytes() for e in found)
    assert one == other
    assert found[0].best.score != found[1].best.score


def test_a_part_of_a_data_set_is_trained_on_alone(tmp_path):
    part = data_sets.Part(Dots(), np.arange(0, 144, 3))
    settings = dataclasses.replace(TINY, size=2, generations=1, images=None, score="mig:labels=20")
    found = run(tmp_path, settings, data=part)
    assert found.population.images == 48
    assert open_run(found.best.run).info["data"]["images"] == 48
    with pytest.raises(UsageError, match="other images"):
        run(tmp_path, dataclasses.replace(settings, generations=2), data=data_sets.Part(Dots(), np.arange(1, 144, 3)))


def test_names_of_scores():
    function, options = find_score("udr:images=50")
    assert function is udr_score
    assert options == {"images": 50}
    assert find_score("population_toys:constant")[0] is population_toys.constant
    with pytest.raises(UsageError, match="did you mean 'mig'"):
        find_score("migg")
    with pytest.raises(UsageError, match="has no attribute 'nothing'"):
        find_score("population_toys:nothing")


class Coder:
    """Stands for a run: images are numbered, codes are rows of a table."""

    def __init__(self, table, kl=None):
        self.table, self.kl = table, np.ones(table.shape[1]) if kl is None else np.asarray(kl)

    def describe(self, images):
        rows = self.table[: len(images)]
        return {"mean": rows, "kl_per_latent": np.broadcast_to(self.kl, rows.shape)}


def numbered(count):
    return data_sets.from_arrays(np.zeros((count, 8, 8, 1), np.uint8))


def test_udr_of_a_member():
    rng = np.random.default_rng(0)
    codes = np.linalg.qr(rng.normal(size=(1000, 4)))[0] * 30
    codes -= codes.mean(axis=0)
    same = udr_score([Coder(codes)] * 5, numbered(2000))
    assert same.value == pytest.approx(0.90, abs=0.01)  # the Lasso shrinks by alpha = 0.1
    turned = [Coder(codes[:, rng.permutation(4)] * rng.choice([-1, 1], 4)) for _ in range(5)]
    assert udr_score(turned, numbered(2000)).value == pytest.approx(same.value, abs=1e-6)
    assert udr_score([Coder(rng.normal(size=(1000, 4))) for _ in range(5)], numbered(2000)).value < 0.02
    noisy = np.hstack([codes, rng.normal(size=(1000, 1))])
    off = [Coder(np.hstack([codes, rng.normal(size=(1000, 1))]), [1, 1, 1, 1, 0.01]) for _ in range(5)]
    assert udr_score(off, numbered(2000)).value == pytest.approx(same.value, abs=1e-6)
    on = [Coder(noisy + rng.normal(size=noisy.shape) * [0, 0, 0, 0, 1], [1, 1, 1, 1, 0.02]) for _ in range(5)]
    assert udr_score(on, numbered(2000)).value < same.value - 0.05
    few = udr_score([Coder(codes)] * 5, numbered(100))  # a set smaller than the 1000 images usually drawn
    assert few.value > 0.5
    assert len(few.per_model) == 5


SCRIPT = """
    import sys
    sys.path[:0] = {paths!r}
    from dots import Dots
    from population_toys import LONGER
    from unbraid.engines import ProcessEngine
    from unbraid.selection import evolve
    if __name__ == "__main__":
        with ProcessEngine(2) as engine:
            evolve(LONGER, Dots(), out=sys.argv[1], engine=engine, progress="none")
"""


def test_a_killed_population_goes_on_to_the_same_history(tmp_path):
    script, broken, here = tmp_path / "script.py", tmp_path / "broken", Path(__file__).parent
    script.write_text(textwrap.dedent(SCRIPT.format(paths=[str(here), str(here.parent)])))
    process = subprocess.Popen([sys.executable, str(script), str(broken)], stderr=subprocess.DEVNULL)
    try:
        # In the middle of the second generation: one member is done, others are under way.
        while not list((broken / "generations" / "001").glob("member-*/result.json")):
            assert process.poll() is None
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(open_evolution(broken).generations) == 1
    found = run(broken, population_toys.LONGER)  # waits for workers that are still saving
    assert len(found.generations) == 2
    assert table(found) == table(run(tmp_path / "whole", population_toys.LONGER))
