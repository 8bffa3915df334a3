"""Which row of a benchmark a run belongs to, and which DCI it is selected by."""

import dataclasses
import math

import polars as pl
import pytest

from benchmark_toys import toy_runs
from unbraid.errors import UsageError
from unbraid.metrics import Score
from unbraid.study import parse_study
from unbraid.study.evaluation import Answered
from unbraid.study.generalization import disentanglement_correlations, model_of, models_of, tabulate
from unbraid.study.generalization.selection import selected
from unbraid.study.generalization.trained import _dci
from unbraid.study.grid import Evaluation, usual_measures

HEAD = """
data = ["mini-sprites"]
splits = ["random", "extrapolation"]
seeds = 2
steps = 100
"""


def rows_of(objectives):
    """Names of rows, and how many runs each has."""
    study = parse_study(HEAD + objectives, "toy")
    names = [model.name for model in models_of(study).values()]
    return {name: names.count(name) for name in names}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return toy_runs(tmp_path_factory.mktemp("toys"), "mini-sprites", images=200, kinds=("random", "extrapolation"))


def test_what_predicts_factors_is_supervised_whatever_its_objective():
    study = parse_study(HEAD + '[objectives.supervised]\nfactor = "shape"\n[objectives.beta-vae]\nbeta = 1\n', "toy")
    assert {spec.objective: model_of(spec).kind for spec in study} == {
        "supervised": "supervised",
        "beta-vae": "read-out",
    }


def test_rows_are_called_by_the_steps_that_differ():
    text = "\n".join(f'[[objectives.regressor]]\nnet = "cnn"\nsteps = {steps}' for steps in (100, 5000))
    assert rows_of(text) == {"CNN, 100 steps": 4, "CNN, 5000 steps": 4}


def test_rows_are_called_by_the_network_that_differs():
    found = rows_of('[objectives.beta-vae]\nbeta = 1\nnet = ["slow", "conv"]\n[[objectives.regressor]]\nnet = "cnn"')
    assert found == {"BetaVAE, slow": 4, "BetaVAE, conv": 4, "CNN": 4}


def test_rows_are_called_by_the_option_that_was_varied():
    found = rows_of("[[objectives.slow-vae]]\nrate = [1]\ngamma = 10\n[[objectives.slow-vae]]\ngamma = [1, 5]\n")
    assert found == {"SlowVAE, rate varied, gamma 10": 4, "SlowVAE, gamma varied": 8}


def test_rows_are_called_by_options_that_differ_beside_the_strength():
    text = "\n".join(f"[[objectives.slow-vae]]\ngamma = [{gamma}]\nrate = {gamma}" for gamma in (1, 5))
    assert rows_of(text) == {"SlowVAE, rate 1": 4, "SlowVAE, rate 5": 4}


def test_strengths_of_one_option_stay_one_row():
    assert rows_of("[objectives.beta-vae]\nbeta = [1, 4]\n") == {"BetaVAE": 8}


def test_two_runs_of_one_row_and_seed_are_refused(runs):
    again = dataclasses.replace(runs[0], index=777)
    with pytest.raises(UsageError, match=r"runs 00000 and 00777 are both 'BetaVAE' on mini-sprites, random, seed 0"):
        tabulate("twice", [*runs, again])


def answered(name, rows, on=None):
    measure = next(entry.measure for entry in usual_measures() if entry.measure.name == name)
    return Answered(Evaluation(measure), on, tuple(rows))


def score(value):
    return {"dci": Score("dci", value, 1.0, {"disentanglement": value})}


def test_dci_is_that_of_the_mean_codes():
    rows = [({"representation": "mean"}, score(0.7)), ({"representation": "sampled"}, score(0.1))]
    assert _dci([answered("disentanglement", rows)])[0] == 0.7
    assert _dci([answered("disentanglement", rows[1:])]) == (None, None)


def test_dci_that_could_not_be_computed_is_not_known():
    assert _dci([answered("disentanglement", [({"representation": "mean"}, score(math.nan))])])[0] is None


def test_strengths_without_a_number_lose_to_those_with_one(runs):
    own = [run for run in runs if run.model.name == "BetaVAE" and run.split == "random"]
    several = [
        dataclasses.replace(run, index=10 * number + run.seed, strength=float(number), dci=dci)
        for number, dci in enumerate((math.nan, 0.3, None))
        for run in own
    ]
    assert selected(several) == {10, 11, 12}
    assert tabulate("several", several).scores["dci"].null_count() == 6


def test_correlations_leave_out_what_has_no_dci(runs):
    toy = tabulate("toy", runs)
    broken = toy.scores.with_columns(dci=pl.when(pl.col("seed") == 0).then(math.nan).otherwise("dci"))
    table = disentanglement_correlations(dataclasses.replace(toy, scores=broken))
    assert table.filter(pl.col("split") == "random")["runs"].to_list() == [4]
    assert table["spearman"].is_not_nan().all()


def test_how_dci_was_estimated_is_kept():
    said = {"estimator": "trees", "stages": 10, "train": 500, "test": 250}
    rows = [({"representation": "mean"}, {"dci": Score("dci", 0.5, 1.0, {}, said)})]
    assert _dci([answered("disentanglement", rows)]) == (0.5, "trees, 10 stages, 500 + 250 codes")
