"""A run, a study and a population so small that tests make them in passing, and the commands that make them."""

from pathlib import Path

from unbraid.cli.app import main
from unbraid.plugins import import_file
from unbraid.study import begin_study, read_study
from unbraid.study.stages import evaluate_index, train_index

PLUGIN = str(Path(__file__).with_name("dots.py"))
VAE = "train vae --data dots --net mlp:width=8 --latents 2 --log-every 2 --batch-size 8 --progress none"
POPULATION = (
    "evolve run --data dots --members 2 --images 16 --option net=mlp:width=8 latents=2 --search beta=1,2 batch_size=8 "
    "--score udr --models 2 --workers 1 --progress none"
)
STUDY = """
data = ["dots"]
seeds = 2
steps = 4
batch_size = 8
net = "mlp:width=8"
[objectives.vae]
latents = 2
[evaluation]
metrics = ["mig"]
train = 60
test = 30
batches = 2
images = 20
"""


def make_study(place: Path) -> Path:
    """A study of two runs, measured, beside its file ``study.toml``."""
    import_file(PLUGIN)
    (place / "study.toml").write_text(STUDY)
    begin_study(place / "study", read_study(place / "study.toml"))
    for index in range(2):
        train_index(str(place / "study"), index)
        evaluate_index(str(place / "study"), index)
    return place / "study"


def make_population(place: Path) -> Path:
    """A population of two members after one generation."""
    out = place / "population"
    assert main(["--plugin", PLUGIN, *POPULATION.split(), "--generations", "1", "--out", str(out)]) == 0
    return out
