"""What else is asked of a run that was attacked: whether to believe it, and what it sees in noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars
import torch

from unbraid.errors import UsageWarning
from unbraid.robustness import attacks
from unbraid.robustness.budgets import DISTAL_STEPS
from unbraid.robustness.distances import nearest_of
from unbraid.robustness.from_noise import distal
from unbraid.robustness.masking import Doubt, masking_doubts
from unbraid.robustness.smallest import BLOCK, Asked, blocks_of, share_blocks
from unbraid.robustness.synthesis import calibrate

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.training import Run

__all__ = ["attack_doubts", "distal_blocks"]

LONGER = 4
"""So many times as many steps must not find much more."""


def attack_doubts(
    run: Run,
    data: ImageDataset,
    blocks: polars.DataFrame,
    budget: str = "quick",
    *,
    folder: str | Path,
    images: int = 100,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Doubt]]:
    """Reasons not to believe the distances of :func:`~unbraid.robustness.attack_blocks`, by norm.

    In l2 and linf, where attacks with gradients should be the better ones. Whether BIM with four times as many steps
    still comes nearer than all attacks, and how steep the loss is, is asked of the first block of images; the rest is
    known.
    """
    asked = Asked(run, data, budget, folder=Path(folder), images=images, seed=seed)
    doubts = {}
    for (norm,), part in blocks.group_by(["norm"], maintain_order=True):
        if norm not in ("l2", "linf"):
            continue
        found = {str(name): each["distance"].to_numpy() for (name,), each in part.group_by(["attack"])}
        needs = {name: attacks.get(name).needs for name in found}
        white = {name: found[name] for name in sorted(found) if needs[name] == "gradient"}
        black = {name: found[name] for name in sorted(found) if needs[name] in ("decision", "scores")}
        usual, by_steps = int(attacks.bim.options["steps"]), {}
        if "bim" in white:
            (longer,) = share_blocks(blocks_of(asked, str(norm), "bim", {"steps": LONGER * usual}, most=1), say)
            # Whether more steps come nearer than all that was found, which the table is about.
            before = nearest_of(white)[:BLOCK]
            by_steps = {usual: before, LONGER * usual: np.minimum(before, longer["distance"].to_numpy())}
        doubts[str(norm)] = masking_doubts(white, black, by_steps, _slopes(asked))
    return doubts


def _slopes(asked: Asked) -> np.ndarray:
    classify, rows = asked.models[0], slice(0, BLOCK)
    pixels, truth = attacks.float_images(asked.examples.read(rows), asked.labels[rows])
    x = classify.place(pixels)
    return classify.slopes(x, attacks.Misclassified(truth.to(x.device))).cpu().numpy()


def distal_blocks(
    run: Run,
    data: ImageDataset,
    budget: str = "quick",
    *,
    folder: str | Path,
    count: int = 10,
    images: int = 100,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[polars.DataFrame, list[str]]:
    """Climbs from noise, one row each: label, success, confidence, steps, picture; and what to know of them.

    Classes take turns. Probabilities are calibrated on the images that are attacked, as Schott et al. (2019) do:
    their median confidence is 0.9. The result is stored in ``folder`` like those of attacks.
    """
    asked = Asked(run, data, budget, folder=Path(folder), images=images, seed=seed)
    place = asked.place("distal", images=len(asked.examples), steps=DISTAL_STEPS[budget])

    def compute() -> polars.DataFrame:
        judge = asked.judge
        pixels, _ = attacks.float_images(asked.examples.read(slice(None)), asked.labels)
        x = judge.place(pixels)
        scores = torch.cat([judge.scores(part) for part in x.split(BLOCK)]).cpu().numpy()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UsageWarning)
            calibration = calibrate(scores, asked.labels)
        labels = np.arange(count) % scores.shape[1]
        found = distal(
            judge, x.shape[1:], labels.tolist(), calibration=calibration, steps=DISTAL_STEPS[budget], seed=seed
        )
        pictures = found.images.mul(255).round().byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()
        return polars.DataFrame(
            {
                "label": labels,
                "success": found.success,
                "confidence": found.confidence,
                "steps": found.steps,
                "alpha": calibration.alpha,
                "eta": calibration.eta,
                "note": "; ".join(str(one.message) for one in told),
                "picture": [image.tobytes() for image in pictures],
            }
        )

    (found,) = share_blocks([(place / f"{count:06d}.parquet", "climbing from noise", compute)], say)
    return found, [note for note in found["note"].unique().to_list() if note]
