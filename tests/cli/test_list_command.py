"""What goes by a name can be listed, plugins included."""

import json
import subprocess
import sys

import pytest

from unbraid import data, evaluation, nets, objectives
from unbraid.cli.app import main
from unbraid.corruptions import SUITES
from unbraid.metrics import METRICS
from unbraid.nets import bijections, predictors
from unbraid.objectives import augment
from unbraid.training import tracking

KINDS = {
    "objectives": objectives.names,
    "nets": lambda: nets.names() + predictors.names() + bijections.names(),
    "data": data.names,
    "metrics": lambda: list(METRICS),
    "measures": evaluation.names,
    "augmentations": augment.names,
    "corruptions": lambda: [found.full_name for suite in SUITES.values() for found in suite.values()],
    "streams": data.stream_names,
    "trackers": tracking.names,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_of_a_kind_is_listed_with_what_it_is(kind, capsys):
    assert main(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == KINDS[kind]()
    assert all(len(row) > 1 and list(row.values())[-1] for row in rows)
    assert main(["list", kind]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in KINDS[kind]())


def test_titles_and_sentences_stand_in_the_table(capsys):
    main(["list", "objectives"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("beta-vae "))
    assert line.split(maxsplit=2)[1] == "β-VAE"
    assert line.split(maxsplit=2)[2].strip() == "VAE whose KL term weighs beta times as much (Higgins et al., 2017)."


def test_a_kind_that_is_none_gets_the_nearest(capsys):
    assert main(["list", "metric"]) == 2
    assert "unknown kind 'metric'; did you mean 'metrics'? Known: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind", ["objectives", "metrics", "measures", "data", "augmentations", "penalties", "corruptions", "streams"]
)
def test_a_list_does_without_torch(kind):
    script = (
        f"import sys\nfrom unbraid.cli.app import main\nmain(['list', {kind!r}])\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
