"""Learning curves of short trainings, by which the presets' network, rate, weight and strengths are chosen.

python docs/studies/pilots/run.py runs/pilots                  all of them, one after the other; again goes on
python docs/studies/pilots/run.py runs/pilots --share 1/2      every second one, beside another process with 2/2
python docs/studies/pilots/run.py runs/pilots --only 'sprites-*'
python docs/studies/pilots/run.py runs/pilots --collect        writes curves.csv beside this script
python docs/studies/pilots/run.py runs/pilots --final          reads finished models with 10,000 + 5,000 images

Every so many steps the mean codes of 3,000 images are read by boosted trees, fitted on 2,000 and judged on 1,000 of
them: R2 of ordinal factors (of sine and cosine where they are periodic), accuracy of categorical ones. Time is the CPU
time of training alone.
"""

import argparse
import csv
import fnmatch
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score

from unbraid import objectives
from unbraid.data import ImageDataset, load
from unbraid.metrics import mig
from unbraid.training import Hook, Moment, open_run, train

HERE = Path(__file__).parent
DATA = {
    "rooms": "rooms3d-32",
    "lines": "rooms3d-32:floor_hue=0:7,wall_hue=0:7,object_hue=0:7",
    "sprites": "sprites32:orientation=0:10",
    "eighth": "sprites32:orientation=0:6,x=::2,y=::2",
    "wide": "sprites32:orientation=0:10,y=8:24",
}
DISCRIMINATOR = {"discriminator_width": 256, "discriminator_learning_rate": 1e-3}
TRAIN, TEST = 2000, 1000


@dataclass(frozen=True)
class Pilot:
    """One training; the name of its data comes first in its own."""

    name: str
    objective: str = "beta-tcvae"
    options: dict[str, Any] = field(default_factory=dict)
    net: str = "light"
    rate: float = 1e-3
    reference_size: int = 64
    steps: int = 12_000
    seed: int = 0

    @property
    def data(self) -> str:
        return DATA[self.name.partition("-")[0]]


def pilots() -> Iterator[Pilot]:
    """The most informative first."""
    yield Pilot("lines-light-tc4", options={"beta": 4})
    yield Pilot("wide-light-tc6", options={"beta": 6})
    yield Pilot("lines-light-vae4", "beta-vae", {"beta": 4})
    yield Pilot("sprites-light-vae8", "beta-vae", {"beta": 8})
    yield Pilot("rooms-light-vae4", "beta-vae", {"beta": 4})
    yield Pilot("wide-light-vae8", "beta-vae", {"beta": 8})
    yield Pilot("rooms-light-factor30", "factor-vae", {"gamma": 30, **DISCRIMINATOR})
    yield Pilot("sprites-light64-tc4", options={"beta": 4}, net="light:channels=64,hidden=256")
    yield Pilot("rooms-light-tc8", options={"beta": 8})
    yield Pilot("sprites-light-tc8", options={"beta": 8})
    yield Pilot("rooms-light-vae8", "beta-vae", {"beta": 8})
    yield Pilot("eighth-light-tc6", options={"beta": 6})
    both = ("rooms", "sprites")
    for data in both:
        yield Pilot(f"{data}-light-vae1", "beta-vae", {"beta": 1})
    for data in both:
        yield Pilot(f"{data}-light-factor10", "factor-vae", {"gamma": 10, **DISCRIMINATOR})
        yield Pilot(f"{data}-light-annealed100", "annealed-vae", {"c_max": 100, "gamma": 100, "anneal_steps": 4000})
        yield Pilot(f"{data}-light-dipi1", "dip-vae-i", {"lambda_od": 1})
        yield Pilot(f"{data}-light-dipii1", "dip-vae-ii", {"lambda_od": 1})
    for data in both:
        yield Pilot(f"{data}-light-tc4", options={"beta": 4}, steps=16_000)
        yield Pilot(f"{data}-light-tc4-unweighed", options={"beta": 4}, reference_size=0)
        yield Pilot(f"{data}-light-tc4-2e3", options={"beta": 4}, rate=2e-3)
    yield Pilot("sprites-light-vae4", "beta-vae", {"beta": 4})
    for data in both:
        yield Pilot(f"{data}-conv-tc4", options={"beta": 4}, net="conv", steps=8000)
        yield Pilot(f"{data}-mlp-tc4", options={"beta": 4}, net="mlp")
        yield Pilot(f"{data}-light-tc4-5e4", options={"beta": 4}, rate=5e-4)
        yield Pilot(f"{data}-light-annealed25", "annealed-vae", {"c_max": 25, "gamma": 100, "anneal_steps": 4000})
    for seed in (1, 2, 3):  # the first impression: how often does it come apart?
        for data in ("lines", "rooms"):
            yield Pilot(f"{data}-light-tc4-seed{seed}", options={"beta": 4}, seed=seed)


class Probe:
    """What the mean codes of a model tell about the factors, and when."""

    def __init__(self, data: ImageDataset, record: Path) -> None:
        rng = np.random.default_rng(0)
        index = rng.choice(len(data), TRAIN + TEST, replace=False)
        self.images = torch.from_numpy(data.images(index, rng)).permute(0, 3, 1, 2)
        self.factors, self.record = data.factors(index), record
        self.about = list(zip(data.factor_names, data.factor_kinds, data.factor_sizes or (), strict=True))
        self.known = json.loads(record.read_text()) if record.exists() else {"step": 0, "cpu": 0.0}
        """What the last look found, maybe of another process."""
        folder = record.with_suffix("") / "run.json"
        self.begun = json.loads(folder.read_text())["step"] if folder.exists() else 0
        self.clock = time.process_time()

    def __call__(self, moment: Moment) -> dict[str, float]:
        # By the step: after a stop, the steps between the last look and the stop were another process's.
        each = (time.process_time() - self.clock) / (moment.step - self.begun)
        cpu = self.known["cpu"] + each * (moment.step - self.known["step"])
        row = {"cpu": cpu, **self.look(moment)}
        self.known = {"step": moment.step, **row}
        self.record.write_text(json.dumps(self.known))
        self.begun, self.clock = moment.step, time.process_time()
        return row

    def look(self, moment: Moment) -> dict[str, float]:
        noise = torch.Generator().manual_seed(0)
        with torch.no_grad():
            parts = [moment.objective.describe(moment.model, x.float() / 255, noise) for x in self.images.split(500)]
        told = {name: torch.cat([part[name] for part in parts]).double().numpy() for name in parts[0]}
        codes, kl = told["mean"], told["kl_per_latent"]
        row = {
            "reconstruction": float(told["reconstruction"].mean()),
            "kl": float(kl.sum(1).mean()),
            "active": float((kl.mean(0) > 0.05).sum()),
        }
        for k, (name, kind, size) in enumerate(self.about):
            row[name] = read_out(codes, self.factors[:, k], kind, size)
        score = mig(codes, self.factors)
        row["mig"] = score.value
        for (name, _, _), gap in zip(self.about, score.parts["per_factor"], strict=True):
            row[f"{name} gap"] = float(gap)
        return row


def read_out(codes: np.ndarray, factor: np.ndarray, kind: str, size: int, fitted: int = TRAIN) -> float:
    """Accuracy or R2 of boosted trees, fitted on the first points, on the others."""
    known, unknown = slice(fitted), slice(fitted, None)
    if kind == "categorical":
        classes = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.2, random_state=0)
        return float((classes.fit(codes[known], factor[known]).predict(codes[unknown]) == factor[unknown]).mean())
    angle = 2 * np.pi * factor / size
    scores = []
    for target in (np.cos(angle), np.sin(angle)) if kind == "periodic" else (factor,):
        trees = HistGradientBoostingRegressor(max_iter=100, learning_rate=0.15, random_state=0)
        scores.append(r2_score(target[unknown], trees.fit(codes[known], target[known]).predict(codes[unknown])))
    return float(np.mean(scores))


def final(pilot: Pilot, out: Path) -> dict[str, float]:
    """A finished model's read-outs and MIG with as many points as the study takes."""
    data, rng = load(pilot.data), np.random.default_rng(1)
    index = data.sample_index(15_000, rng)
    codes, factors = open_run(out / pilot.name).encode(data.images(index, rng)).astype(float), data.factors(index)
    about = enumerate(zip(data.factor_names, data.factor_kinds, data.factor_sizes or (), strict=True))
    found = {name: read_out(codes, factors[:, k], kind, size, 10_000) for k, (name, kind, size) in about}
    return {"mig": mig(codes, factors).value, **found}


def run(pilot: Pilot, out: Path, every: int) -> bool:
    """Train it, or go on with it; whether it is finished."""
    options = {**pilot.options, "net": pilot.net, "learning_rate": pilot.rate, "reference_size": pilot.reference_size}
    data = load(pilot.data)
    probe = Probe(data, out / f"{pilot.name}.json")
    trained = train(
        objectives.make(pilot.objective, options),
        data,
        out=out / pilot.name,
        steps=pilot.steps,
        seed=pilot.seed,
        progress="none",
        hooks=[Hook(probe, every)],
    )
    return bool(trained.info["status"] == "finished")


def collect(out: Path) -> None:
    """All curves of a folder as one long table and one picture."""
    rows: list[dict[str, Any]] = []
    for pilot in pilots():
        file = out / pilot.name / "evaluations.csv"
        if not file.exists():
            continue
        options = " ".join(f"{key}={value}" for key, value in pilot.options.items())
        about = {
            "pilot": pilot.name,
            "data": pilot.data,
            "objective": pilot.objective,
            "options": options,
            "net": pilot.net,
            "rate": pilot.rate,
            "reference_size": pilot.reference_size,
            "seed": pilot.seed,
        }
        moments: dict[int, dict[str, Any]] = {}
        with file.open() as lines:
            for line in csv.DictReader(lines):
                moments.setdefault(int(line["step"]), {})[line["name"]] = round(float(line["value"]), 4)
        rows += [{**about, "step": step, **found} for step, found in moments.items()]
    with (HERE / "curves.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="*", help="pilots whose name matches this pattern")
    parser.add_argument("--share", default="1/1", help="K/N: the K-th of N processes")
    parser.add_argument("--every", type=int, default=2000, help="steps between two looks")
    parser.add_argument("--collect", action="store_true", help="train nothing, write the table")
    parser.add_argument("--final", action="store_true", help="train nothing, read what is finished")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.collect:
        collect(arguments.out)
        return
    chosen = [pilot for pilot in pilots() if fnmatch.fnmatch(pilot.name, arguments.only)]
    if arguments.final:
        for pilot in chosen:
            if (arguments.out / pilot.name / "checkpoint.safetensors").exists():
                print(pilot.name, {name: round(value, 3) for name, value in final(pilot, arguments.out).items()})
        return
    number, processes = map(int, arguments.share.split("/"))
    for pilot in chosen[number - 1 :: processes]:
        if not run(pilot, arguments.out, arguments.every):
            return
        print(pilot.name, (arguments.out / f"{pilot.name}.json").read_text(), flush=True)


if __name__ == "__main__":
    main()
