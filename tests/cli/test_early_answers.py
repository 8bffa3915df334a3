"""Wrong names are answered before torch, which takes seconds, is imported."""

import subprocess
import sys

import pytest

from unbraid.cli.early import RECURSIONS
from unbraid.selection import recursion_preset

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise RuntimeError("torch was imported")

sys.meta_path.insert(0, Blocker())
from unbraid.cli import main
for line in sys.stdin.read().splitlines():
    print(line, file=sys.stderr)
    print("ended with", main(line.split()), file=sys.stderr)
"""
WRONG = {
    "trian": "did you mean 'train'",
    "train beta-va --data blobs16 --out x": "unknown objective 'beta-va'",
    "train beta-vae --data blob --out x": "unknown data set 'blob'",
    "train beta-vae --data blobs16 --net mpl --out x": "unknown network 'mpl'; did you mean 'mlp'",
    "train classifier --data blobs16 --net cn:width=8 --out x": "unknown predictor 'cn'; did you mean 'cnn'",
    "list things": "unknown kind 'things'",
    "data show blob": "unknown data set 'blob'",
    "data get blob": "unknown data set 'blob'",
    "data transitions blob": "unknown data set 'blob'",
    "evaluate firts": "did you mean first?",
    "evaluate second --data blob": "unknown data set 'blob'",
    "evaluate second --metrics mgi": "did you mean 'mig'",
    "evaluate second --measures sumary": "did you mean 'summary'",
    "report firts": "did you mean first?",
    "report second --metrics mgi": "did you mean 'mig'",
    "explore firts": "did you mean first?",
    "traverse firts": "did you mean first?",
    "traverse second --data blob": "unknown data set 'blob'",
    "evolve run --objective beta-va --out x": "unknown objective 'beta-va'",
    "evolve run --data blob --out x": "unknown data set 'blob'",
    "evolve run --score mgi --out x": "unknown score 'mgi'; did you mean 'mig'",
    "evolve run --option net=mpl:width=8 --out x": "unknown network 'mpl'; did you mean 'mlp'",
    "evolve run --objective beta-vae --option net=mpl --out x": "unknown network 'mpl'; did you mean 'mlp'",
    "evolve run --option latens=3 --out x": "unknown option of objective 'beta-tcvae': 'latens'",
    "evolve compare smoke --option net=mpl --out x": "unknown network 'mpl'; did you mean 'mlp'",
    "evolve compare smoke --data blob --out x": "unknown data set 'blob'",
    "evolve status firts": "did you mean first?",
    "study run smok --out x": "unknown preset 'smok'",
    "study run nets.toml --out x": "objectives.regressor.net: unknown predictor 'cn'; did you mean 'cnn'",
    "study status firts": "did you mean first?",
    "study report firts": "did you mean first?",
    "generalize run smok --out x": "unknown preset 'smok'; did you mean 'smoke'",
    "generalize run nets.toml --out x": "nets.toml: models are not asked about their splits",
    "generalize run small --weights bit=x --out x": "unknown network with released weights 'bit'",
    "generalize report firts": "did you mean first?",
    "generalize report first": "first holds no benchmark (no study.json). Start one: unbraid generalize run smoke",
    "generalize table firts": "did you mean first?",
    "generalize table third sores": "unknown table 'sores'; did you mean 'scores'",
    "generalize show first": "first holds no benchmark and no run",
    "generalize show third --split extrapolaton": "unknown split 'extrapolaton'; did you mean 'extrapolation'",
    "robustness corrupt second": "did you mean 'corruptions'",
    "robustness corruptions firts": "did you mean first?",
    "robustness corruptions second --suite fgo": "unknown corruption 'fgo'; did you mean 'fog'",
    "robustness corruptions second --suite imagenet-c --severities 6": "the severities 1, 2, 3, 4, 5, got 6",
    "robustness corruptions second --severities one": "write whole numbers with commas",
    "robustness corruptions second --data blob": "unknown data set 'blob'",
    "robustness noise second --directions gausian": "did you mean 'gaussian'",
    "robustness adversarial second --norms l3 --eps 1": "unknown norm 'l3'",
    "robustness adversarial first": "first holds no run",
    "evaluate first": "first holds no run (no run.json). Start one: unbraid train",
    "evaluate .": "Runs inside it: second",
    "report first": "first holds no run and no study and no population (no run.json, study.json, evolution.json)",
    "explore first": "first holds no run",
    "traverse first": "first holds no run",
    "theory inspect first": "first holds no run",
    "theory eigen first": "first holds no run",
    "evolve status first": "first holds no population",
    "study status first": "first holds no study",
    "study report first": "first holds no study",
    "theory rotat": "did you mean 'rotation'",
    "theory inspect firts": "did you mean first?",
    "theory eigen firts": "did you mean first?",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, str]:
    """What each wrong command says, all in one process in which torch cannot be imported."""
    there = tmp_path_factory.mktemp("early")
    (there / "first").mkdir()
    (there / "second").mkdir()
    (there / "second" / "run.json").write_text("{}")
    (there / "third").mkdir()
    (there / "third" / "study.json").write_text("{}")
    (there / "nets.toml").write_text('data = "blobs16"\nsteps = 1\n[objectives.regressor]\nnet = ["mlp", "cn"]\n')
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], input="\n".join(WRONG), cwd=there, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    parts = done.stderr.split("ended with 2\n")
    return dict(zip(WRONG, parts, strict=False))


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_name_is_answered_without_torch(told, line):
    assert WRONG[line] in told[line]


@pytest.mark.parametrize("preset", RECURSIONS)
def test_options_are_checked_against_the_objective_of_the_preset(preset):
    assert RECURSIONS[preset] == recursion_preset(preset)[0].root.objective
