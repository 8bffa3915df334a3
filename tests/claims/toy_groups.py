"""Small studies as run groups, on which what is taken over is tested."""

import json
import shutil

from unbraid.claims.group import GROUPS, Recipe
from unbraid.claims.reuse import RECIPES
from unbraid.claims.studies import StudyGroup
from unbraid.engines import InlineEngine

PAIRS = ("blobs16 @ protocol=lap", "blobs16 @ protocol=uni")
STUDY = """\
data = {data}
steps = {steps}
net = "{net}"
[objectives.beta-vae]
beta = [1]
{told}
[measures.losses]
batches = {batches}
"""


def study(name, *, steps=3, batches=1, net="mlp:width=8", told="", asked="", seeds=(100,), data=("blobs16",)):
    text = STUDY.format(steps=steps, batches=batches, net=net, told=told, data=json.dumps(data)) + asked
    recipe = Recipe("blobs", {"study": text}, seeds, 1)
    made = StudyGroup(name, "blobs", {"smoke": recipe, "small": recipe, "paper": recipe})
    GROUPS.pop(name)
    return made


def take(group, out, *places):
    return group.take(out, "smoke", group.cells("smoke"), places)


def run(group, out, *places):
    """What is still to do of a group, after what other places hold."""
    take(group, out, *places)
    todo = group.todo(out, "smoke", group.cells("smoke"), ())
    group.run(out, "smoke", todo, engine=InlineEngine, progress="none")
    group.keep(out, "smoke")
    return group.place(out, "smoke")


def done(group, out):
    return [group.state(out, "smoke", cell)[0] for cell in group.cells("smoke")]


def kept_alone(first, place):
    """The table with its recipes, without runs: what a repository keeps."""
    found = next(path.parent for path in first.glob(f"**/{RECIPES}"))
    place.mkdir()
    for name in ("table.parquet", RECIPES, "study.json"):
        shutil.copy(found / name, place / name)
    return place
