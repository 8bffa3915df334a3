"""Runs every command of an installed package once; tests/test_wheel.py starts it with the Python that has it."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

COMMANDS = """
list objectives
list nets
list data
list metrics
list measures
list augmentations
list streams
list corruptions
list attacks
list scenarios
list biases
list trackers
list penalties
zoo list
zoo get sprites-beta --out got
zoo read given --data sprites32 --out read
data list
data show blobs16 --out data.png
data get blobs16
data transitions mini-sprites --protocol lap --pairs 5000
train beta-vae --data blobs16 --net mlp:width=16 --latents 3 --steps 10 --log-every 5 --out run
evaluate run --metrics mig,dci --train 200 --test 50
metrics lab --metrics mig --experiments copies --points 200 --out lab.html
traverse run
report run
track run --to tracker.py:Mine
explore run --out explored --sample 100
study run study.toml --out study --workers 1
study status study
study report study
study choose study --by mig --out chosen.toml
report study
explore study --out explored-study --sample 100
generalize run bench.toml --out bench --workers 1
generalize report bench
generalize table bench
generalize show bench --out shown.png
train classifier --data blobs16 --factor x --net mlp:width=8 --steps 5 --out named
robustness corruptions named --suite fog,contrast --images 20
robustness noise named --images 10
robustness adversarial named --images 10 --steps 2
robustness attack named --norms linf --images 2
train firevnet --data digits8 --batch-size 32 --steps 5 --net conv:stages=2,blocks=1,width=8 --out bijective
train classifier --data digits8 --batch-size 32 --steps 5 --net mlp:width=8 --out judge
invariance metamers bijective --images 10 --shown 5 --out metamers.png
invariance interpolate bijective --images 3 --steps 4 --out way.png
invariance nuisance bijective --images 200 --steps 5 --width 16
invariance theorem bijective --images 200 --steps 5 --oracle judge
invariance toy --seeds 1 --steps 3 --out toy --progress none
invariance report bijective --train 100 --images 100 --metamers 20 --shown 4 --proxy judge --out ignored
train firevnet --data spheres:d=30,images=5000 --net fc:width=32 --optimizer adam --precision fp32 \
--steps 120 --out spheres
invariance planes spheres --out planes-of-spheres.png
transfer run smoke --biases gaussian-noise --scenarios iid,noise --steps 5 --workers 1 --out transferred
transfer report transferred
transfer combine gaussian-noise binarised --preset smoke --scenarios iid,noise --steps 5 --workers 1 --out transferred
transfer card judge --scenarios iid,gaussian-distance --images 20 --out card
claims list invariance
claims show invariance/theorem-8
claims run invariance/theorem-8 --workers 1 --progress none --out claimed
claims judge invariance/theorem-8 --scale smoke --out claimed
claims report --out claimed
evolve run --data blobs16 --members 2 --images 64 --generations 1 --workers 1 --out population
evolve status population --draw
evolve compare smoke --seeds 1 --members 2 --images 4000 --generations 1 --workers 1 --out compared \
--option net=mlp:width=16 --search learning_rate=0.01 beta=1
theory impossibility --dimensions 2 --points 300 --metrics mig --out impossibility
theory inspect run --images 64 --jacobians 4
theory beta-range --data blobs16 --net mlp:width=8 --latents 2 --steps 2
theory theorem theorem1 --out theorem.png
theory eigen run --rows 1
train beta-vae --data blobs16 --net mlp:width=16 --latents 3 --steps 10 --seed 1 --out second
theory planes run second --factors x,y --points 200 --out planes.png
selftest --kills 1
theory perturb --data mini-sprites --restarts 2 --net mlp:width=16 --steps 10 --pattern-steps 2 --out moved
theory identifiability --dimensions 2 --seeds 1 --steps 2 --out figures
theory collapse --kappa 0.2 --steps 2 --out figures
theory dimensionality --seen 5 --steps 2 --out figures
theory rotation --out figures
theory study polarised --seeds 1 --steps 2 --out experiments
completion bash
"""
STUDY = """name = "wheel"
data = ["blobs16"]
seeds = 1
steps = 5
net = "mlp:width=8"
[objectives.beta-vae]
beta = [1]
[evaluation]
metrics = ["mig"]
representations = ["mean"]
train = 200
batches = 1
images = 100
"""
TRACKER = """from unbraid.training.tracking import Tracker

class Mine(Tracker):
    def start(self, folder, record, before):
        return "mine"
"""
RELEASED = {
    "model_type": "Burgess", "loss": "betaH", "betaH_B": 4, "rec_dist": "bernoulli", "img_size": [1, 32, 32],
    "latent_dim": 10, "batch_size": 64, "epochs": 30, "lr": 0.0005, "seed": 0, "reg_anneal": 0,
}  # fmt: skip
BENCH = """data = "mini-sprites"
splits = ["random", "extrapolation"]
steps = 5
measures = ["generalization"]
[objectives.regressor]
net = "mlp:width=8"
"""


def leaves(tree: dict, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command as it is typed; the objectives of ``train`` are one command."""
    for name, node in tree.items():
        if isinstance(node, dict) and name != "train":
            yield from leaves(node, (*path, name))
        else:
            yield " ".join((*path, name))


def run(line: str) -> str:
    from unbraid.cli import main

    out = io.StringIO()
    with redirect_stdout(out):
        try:
            code = main(line.split())
        except SystemExit as end:
            code = end.code
    assert not code, f"unbraid {line} ended with {code}: {out.getvalue()[-500:]}"
    return out.getvalue()


if __name__ == "__main__":
    import unbraid
    from released_vae import released
    from unbraid.cli.app import commands

    assert Path(unbraid.__file__).is_relative_to(sys.prefix), f"not the installed package: {unbraid.__file__}"
    lines = [line for line in COMMANDS.splitlines() if line]
    missed = [leaf for leaf in leaves(commands()) if not any(f"{line} ".startswith(f"{leaf} ") for line in lines)]
    assert not missed, f"commands that nobody tries: {missed}"
    Path("study.toml").write_text(STUDY)
    Path("bench.toml").write_text(BENCH)
    Path("tracker.py").write_text(TRACKER)
    Path("given").mkdir()
    Path("given/specs.json").write_text(json.dumps(RELEASED))
    released(Path("given"), 32)
    for line in lines:
        print("$ unbraid", line, flush=True)
        run(line)
    compared = Path("compared/report/README.md").read_text(encoding="utf-8")
    assert "--members 2" in compared, "the page of a comparison does not say how it was made"
    for page in ("explored", "explored-study/runs/00000"):
        names = [path.name for path in Path(page).iterdir()]
        assert {"decoder.js", "index.html"} <= set(names), f"{page} has only {names}"
    history = unbraid.open_run("run").history()
    copied = history.to_pandas()
    assert list(copied.columns) == history.columns
    assert copied["step"].tolist() == history["step"].to_list() == [5, 10]
