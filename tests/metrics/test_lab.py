"""The metric lab: known codes through scores."""

import json

import numpy as np
import pytest

from unbraid.cli.app import main
from unbraid.errors import UsageError
from unbraid.metrics import METRICS, lab, register
from unbraid.metrics._discrete import code_information, entropy, top_two
from unbraid.metrics.dci import dci_of


@pytest.fixture(scope="module", autouse=True)
def _own_scores_are_forgotten_afterwards():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_things", "_names", "_homes"):
            patch.setattr(METRICS, name, dict(getattr(METRICS, name)))
        yield


@pytest.fixture(scope="module")
def found():
    @register("wrong_axis", range=(0.0, 1.0), title="MIG along the wrong axis")
    def wrong_axis(codes, factors):
        top, second = top_two(code_information(codes, factors, 10), axis=1)
        return float((top - second).mean() / entropy(factors).mean())

    return lab(("mig", "modularity", "mcc", "med", "wrong_axis"))


@pytest.mark.parametrize(
    ("metric", "experiment", "expected"),
    [
        ("mig", "noise", [1, 0.52, 0.26, 0.11, 0.03, 0]),
        ("mig", "mixing", [1, 0.68, 0.49, 0.31, 0.15, 0]),
        ("mig", "bending", [0.99, 0.92, 0.75, 0.67, 0.38, 0.27]),
        ("mig", "copies", [1, 0, 0]),
        ("mig", "unseen", [1, 1, 1]),
        ("modularity", "noise", [1, 1, 1, 1, 1, 0.37]),
        ("modularity", "copies", [1, 1, 1]),
        ("modularity", "unseen", [1, 0.67, 0.42]),
    ],
)
def test_known_curves(found, metric, experiment, expected):
    np.testing.assert_allclose(found.values[metric][experiment], expected, atol=0.02)


def test_modularity_hardly_sees_two_factors_in_even_parts(found):
    # Every code knows two factors alike: 1 - 1/(K - 1) = 1 - 1/7 = .857.
    assert found.values["modularity"]["mixing"][-1] == pytest.approx(0.86, abs=0.02)


def test_copies_cost_completeness_what_two_codes_of_eight_leave():
    # C of a factor held by 2 of 8 codes: 1 - ln 2 / ln 8 = 2/3; by 4 of 8: 1/3. D is 1.
    for copies, expected in ((2, 2 / 3), (4, 1 / 3)):
        d, c, _, _ = dci_of(np.vstack([np.eye(8 // copies)] * copies))
        assert (d, c) == pytest.approx((1, expected), abs=1e-6)


def test_rank_scores_do_not_see_monotone_curves(found):
    assert np.ptp(found.values["mcc"]["bending"]) < 1e-12


def test_perfect_codes_get_their_ceilings(found):
    for metric, rows in found.values.items():
        assert rows["noise"][0] == pytest.approx(found.ceilings[metric], abs=0.02)


def test_a_score_along_the_wrong_axis_is_caught_by_copies_and_unseen_factors(found):
    # A gap over factors does not see copies, which MIG must, and takes codes of unseen factors for bad ones.
    assert found.values["wrong_axis"]["copies"][-1] == pytest.approx(1, abs=0.02)
    assert found.values["mig"]["copies"][-1] == pytest.approx(0, abs=0.02)
    assert found.deviation("wrong_axis", "unseen") > 0.3
    assert found.deviation("mig", "unseen") < 0.02


def test_a_score_of_swapped_columns_is_caught_by_the_noise_row():
    @register("shuffled", range=(0.0, 1.0), title="MIG of transposed information")
    def shuffled(codes, factors):
        # The matrix read as if it were stored the other way round: code j of factor k becomes another pair's entry.
        matrix = code_information(codes, factors, 10)
        top, second = top_two(np.vstack([matrix, matrix.T]))
        return float(((top - second) / entropy(factors)).mean())

    one = lab(("shuffled", "mig"), experiments=("noise",), points=2_000)
    assert one.values["shuffled"]["noise"][0] < 0.05 < one.values["mig"]["noise"][0]


def test_deviations_follow_from_the_demand(found):
    # MIG is about compactness: copies should cost in even steps (1, 1/2, 0); it has (1, 0, 0): 1/6.
    assert found.deviation("mig", "copies") == pytest.approx(1 / 6, abs=0.01)
    assert found.deviation("modularity", "copies") == pytest.approx(0, abs=0.01)


def test_what_is_wrong_is_said():
    with pytest.raises(UsageError, match="did you mean 'noise'"):
        lab(["mig"], experiments=["nose"])
    with pytest.raises(UsageError, match="points must be"):
        lab(["mig"], points=3)
    with pytest.raises(UsageError, match="beta_vae is no score of codes and factors"):
        lab(["beta_vae"])


def test_the_command_writes_a_page_and_prints_deviations(tmp_path, capsys):
    out = tmp_path / "lab.html"
    words = ["metrics", "lab", "--metrics", "mig,mcc", "--experiments", "copies", "--points", "500", "--out", str(out)]
    assert main(words) == 0
    assert "MIG" in capsys.readouterr().out
    page = out.read_text()
    assert "every factor in one, two and four codes" in page
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["deviation"]["mig"]["copies"] == pytest.approx(1 / 6, abs=0.02)
