"""Run folders of the disentangling VAEs that Dubois released, so that they are opened and measured as any run.

A release is a folder with ``specs.json`` and ``model.pt``: VAE, beta-VAE, annealed VAE, FactorVAE or beta-TCVAE with
the networks of Burgess et al. (2018) on MNIST, dSprites, CelebA or chairs.
"""

from __future__ import annotations

import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from unbraid import nets, objectives
from unbraid.data import ImageDataset, load
from unbraid.errors import UsageError, unknown_name
from unbraid.files import write_json
from unbraid.objectives import Objective
from unbraid.paths import user_path
from unbraid.reading import read_json
from unbraid.training.checkpoint import save_checkpoint
from unbraid.training.described import problem_of
from unbraid.training.folder import identity, make_folder
from unbraid.training.run import CHECKPOINT, INFO, Run
from unbraid.training.zoo.archive import check_free

__all__ = ["SPECS", "WEIGHTS", "read_release"]

SPECS, WEIGHTS = "specs.json", "model.pt"
_FORM = {
    "loss": str,
    "img_size": [int],
    "latent_dim": int,
    "model_type": str,
    "lr": float,
    "batch_size": int,
    "epochs": int,
    "seed": int,
    "rec_dist?": str,
}
_LOSSES = {
    "VAE": ("vae", {}),
    "betaH": ("beta-vae", {"beta": "betaH_B"}),
    "betaB": ("annealed-vae", {"gamma": "betaB_G", "c_max": "betaB_finC", "anneal_steps": "reg_anneal"}),
    "factor": ("factor-vae", {"gamma": "factor_G"}),
    "btcvae": ("beta-tcvae-sampled", {"beta": "btcvae_B"}),
}
"""Their names of losses: objective, and which of its options stands under which name there."""


def read_release(folder: str | Path, data: str | ImageDataset, out: str | Path) -> Run:
    """Write a run folder ``out`` with the weights of a released VAE; no code in the release is run.

    ``data`` is what it was trained on, or data of the same size to look at it on; the release does not say how its
    images were made. The record names the objective here that has the released loss and its strength; the release
    also lets regularisers grow over the first steps, which is not in it. The run can be opened and measured, and
    started from by ``parts``, but not trained on.
    """
    place = user_path(folder, "folder")
    specs = read_json(place / SPECS, _FORM, remedy="is it the folder of a release?")
    _check_counts(specs, place)
    objective = _objective(specs, place)
    dataset = load(data) if isinstance(data, str) else data
    channels, height, width = specs["img_size"]
    if tuple(dataset.shape) != (height, width, channels):
        raise UsageError(
            f"{place / SPECS} is of images {height}x{width}x{channels}, and data {dataset.name!r} has "
            f"{'x'.join(map(str, dataset.shape))}; give the data it was trained on"
        )
    encoder, decoder = nets.read_released_vae(place / WEIGHTS)
    model = objective.make_model(problem_of(dataset), torch.Generator().manual_seed(specs["seed"]))
    for mine, theirs in ((model.get_submodule("encoder"), encoder), (model.get_submodule("decoder"), decoder)):
        found = theirs.state_dict()
        if {k: v.shape for k, v in mine.state_dict().items()} != {k: v.shape for k, v in found.items()}:
            raise UsageError(f"{place / WEIGHTS} has other images or latents than {SPECS} says; was one replaced?")
        mine.load_state_dict(found)
    steps = specs["epochs"] * math.ceil(len(dataset) / specs["batch_size"])
    check_free(user_path(out, "out"))
    target = make_folder(user_path(out, "out"))
    save_checkpoint(target / CHECKPOINT, model, {}, {"step": steps, "sums": {}, "counts": {}, "first_loss": {}})
    asked = identity(objective, dataset, specs["seed"], specs["batch_size"], steps, own_stream=False)
    record: dict[str, Any] = {
        "format": 1,
        **asked,
        "start": None,
        "status": "finished",
        "step": steps,
        "seconds": 0.0,
        "command": sys.argv,
        "versions": {"unbraid": version("unbraid"), "torch": torch.__version__},
        "budget": {"steps": steps, "minutes": None},
        "released": specs,
    }
    write_json(target / INFO, record)  # last: before that it is no run
    return Run.open(target)


def _check_counts(specs: dict[str, Any], place: Path) -> None:
    """Refuse what would make a broken record: counts below 1 (a seed below 0), and images that are none."""
    for name, least in (("latent_dim", 1), ("batch_size", 1), ("epochs", 1), ("seed", 0)):
        if isinstance(specs[name], bool) or specs[name] < least:
            raise UsageError(f"{place / SPECS}: {name} must be a whole number from {least} on, got {specs[name]!r}")
    shape = specs["img_size"]
    if len(shape) != 3 or any(isinstance(side, bool) or side < 1 for side in shape):
        raise UsageError(f"{place / SPECS}: img_size must be channels, height and width, got {shape!r}")


def _objective(specs: dict[str, Any], place: Path) -> Objective:
    """The objective here that has the loss of the release."""
    if specs["loss"] not in _LOSSES:
        raise unknown_name(f"loss in {place / SPECS}", specs["loss"], _LOSSES)
    alone = f"unbraid.nets.read_released_vae({str(place / WEIGHTS)!r}) reads the networks alone"
    if specs["model_type"] != "Burgess" or specs.get("rec_dist", "bernoulli") != "bernoulli":
        raise UsageError(
            f"{place / SPECS} must be of networks 'Burgess' and pixels 'bernoulli', got {specs['model_type']!r} and "
            f"{specs.get('rec_dist')!r}"
        )
    if specs["loss"] == "btcvae" and (specs.get("btcvae_A", 1), specs.get("btcvae_G", 1)) != (1, 1):
        raise UsageError(
            f"{place / SPECS} weighs parts of the KL divergence (btcvae_A, btcvae_G) as no objective here does; {alone}"
        )
    name, known = _LOSSES[specs["loss"]]
    options = {"net": "burgess", "latents": specs["latent_dim"], "learning_rate": float(specs["lr"])}
    for option, theirs in known.items():
        if isinstance(specs.get(theirs), bool) or not isinstance(specs.get(theirs), int | float):
            raise UsageError(f"{place / SPECS} has no number {theirs}, the option {option} of {name}; was it edited?")
        options[option] = specs[theirs]
    extra = {"sampling": "stratified"} if name == "beta-tcvae-sampled" else {}
    return objectives.make(name, {**options, **extra})
