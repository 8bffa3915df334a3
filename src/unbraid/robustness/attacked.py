"""What else is asked of a run that was attacked: whether to believe it, and what it sees in noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars
import torch

from unbraid.errors import UsageError, UsageWarning
from unbraid.robustness import attacks
from unbraid.robustness.budgets import DISTAL_STEPS, SCORE_STEPS
from unbraid.robustness.distances import nearest_of
from unbraid.robustness.from_noise import Along, distal
from unbraid.robustness.masking import Doubt, masking_doubts
from unbraid.robustness.smallest import BLOCK, Task, blocks_of, share_blocks
from unbraid.robustness.synthesis import binary_bound, calibrate, lower_bounds

if TYPE_CHECKING:
    from unbraid.robustness.target import Target

__all__ = ["attack_doubts", "bound_blocks", "distal_blocks"]

LONGER = 4
"""So many times as many steps must not find much more."""


def attack_doubts(
    target: Target, blocks: polars.DataFrame, *, say: Callable[[str], None] = lambda _: None
) -> dict[str, list[Doubt]]:
    """Reasons not to believe the distances of :func:`~unbraid.robustness.attack_blocks`, by norm.

    Attacks with gradients should be the better ones; in l0 one pixel more is no worse. In l2 and linf it is asked
    of the first block of images whether BIM with four times as many steps still comes nearer than all attacks, and how
    steep the loss is; the rest is known.
    """
    doubts: dict[str, list[Doubt]] = {}
    slopes = None if set(blocks["norm"].unique()) <= {"l0"} else _slopes(target)
    for (norm,), part in blocks.group_by(["norm"], maintain_order=True):
        found = {str(name): each["distance"].to_numpy() for (name,), each in part.group_by(["attack"])}
        needs = {name: attacks.get(name).needs for name in found}
        white = {name: found[name] for name in sorted(found) if needs[name] == "gradient"}
        black = {name: found[name] for name in sorted(found) if needs[name] in ("decision", "scores")}
        if norm == "l0":  # whole numbers, and small ones: 2 pixels instead of 3 tell nothing
            black = {name: each + 1 for name, each in black.items()}
        usual, by_steps = int(attacks.bim.options["steps"]), {}
        if "bim" in white:
            (longer,) = share_blocks(blocks_of(target, str(norm), "bim", {"steps": LONGER * usual}, most=1), say)
            # Whether more steps come nearer than all that was found, which the table is about.
            before = nearest_of(white)[:BLOCK]
            by_steps = {usual: before, LONGER * usual: np.minimum(before, longer["distance"].to_numpy())}
        doubts[str(norm)] = masking_doubts(white, black, by_steps, slopes)
    return doubts


def _slopes(target: Target) -> np.ndarray:
    classify, rows = target.models[0], slice(0, BLOCK)
    pixels, truth = attacks.float_images(target.examples.read(rows), target.labels[rows])
    x = classify.place(pixels)
    return classify.slopes(x, attacks.Misclassified(truth.to(x.device))).cpu().numpy()


def distal_blocks(
    target: Target, count: int = 10, *, say: Callable[[str], None] = lambda _: None
) -> tuple[polars.DataFrame, list[str]]:
    """Climbs from noise, one row each: label, success, confidence, steps, picture, along; and what to know of them.

    Classes take turns. Climbs follow the probability, and of models whose posterior may be flat on noise, those that
    search and the nearest neighbour, others follow the class's own score (``along``). Probabilities are calibrated on
    the images that are attacked, as Schott et al. (2019) do: their median confidence is 0.9. Models that search are
    climbed by way of a short search, and the whole one decides. The result is stored like those of attacks.
    """
    ways: tuple[Along, ...] = ("probability", "score") if target.dear else ("probability",)
    found = polars.concat(
        [_climbs(target, count, way, say).with_columns(polars.lit(way).alias("along")) for way in ways]
    )
    return found, [note for note in found["note"].unique().to_list() if note]


def _climbs(target: Target, count: int, along: Along, say: Callable[[str], None]) -> polars.DataFrame:
    steps = DISTAL_STEPS[target.budget] if along == "probability" else SCORE_STEPS
    more = {"climbed": "short search"} if target.search is not None else {}
    more |= {"along": along} if along == "score" else {}
    place = target.place("distal", images=len(target.examples), steps=steps, **more)

    def compute() -> polars.DataFrame:
        classify, verify = target.models
        judge = target.judge
        pixels, _ = attacks.float_images(target.examples.read(slice(None)), target.labels)
        x = judge.place(pixels)
        scores = torch.cat([judge.scores(part) for part in x.split(BLOCK)]).cpu().numpy()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UsageWarning)
            calibration = calibrate(scores, target.labels)
        labels = np.arange(count) % scores.shape[1]
        asked: dict[str, Any] = {"calibration": calibration, "steps": steps, "seed": target.seed, "along": along}
        found = distal(classify, x.shape[1:], labels.tolist(), verify=verify, **asked)
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
    return found


def bound_blocks(target: Target, *, say: Callable[[str], None] = lambda _: None) -> polars.DataFrame:
    """What images may at least be moved by before an ABS run changes its mind: image, label, right, l2, coupled, linf.

    These are :func:`~unbraid.robustness.synthesis.lower_bounds`, with their assumption. Those of Binary ABS tell how
    many pixels must be put across the threshold at least, and what the nearest of them cost; for it, ``l0`` is that
    number, and ``seen_l2`` and ``seen_coupled`` are the bounds of the thresholded image that they follow from. Stored
    like the results of attacks.
    """
    if target.search is None or target.search.likelihood != "gaussian":
        raise UsageError(f"bounds are for ABS runs with a Gaussian likelihood, and {target.run.path} is none")
    more = {"seen": True} if target.threshold is not None else {}
    count, place = len(target.examples), target.place("bounds", **more)

    def task(start: int) -> Task:
        rows = np.arange(start, min(start + BLOCK, count))
        name = f"{count:06d}-{start:06d}.parquet"
        return place / name, f"bounds, image {start} of {count}", lambda: _bounds(target, rows)

    return polars.concat(share_blocks([task(start) for start in range(0, count, BLOCK)], say))


def _bounds(target: Target, rows: np.ndarray) -> polars.DataFrame:
    images, labels = target.examples.read(rows), target.labels[rows]
    about = {"image": target.examples.index[rows], "label": labels}
    if target.threshold is None:
        found = lower_bounds(target.run, images, labels, linf=True)
        numbers = {"l2": found.l2, "coupled": found.coupled, "linf": found.linf}
        return polars.DataFrame({**about, "right": found.right, **numbers}).cast({polars.Float32: polars.Float64})
    binary = (images >= 255 * target.threshold).astype(np.uint8) * 255
    found = lower_bounds(target.run, binary, labels, scales=target.scales)
    assert found.coupled is not None
    pixels = images / 255
    numbers = {
        "l2": binary_bound(pixels, found.l2, target.threshold),
        "coupled": binary_bound(pixels, found.coupled, target.threshold),
        "linf": binary_bound(pixels, found.coupled, target.threshold, norm="linf"),
        "l0": binary_bound(pixels, found.coupled, target.threshold, norm="l0"),
        "seen_l2": np.asarray(found.l2, dtype=np.float64),
        "seen_coupled": np.asarray(found.coupled, dtype=np.float64),
    }
    return polars.DataFrame({**about, "right": found.right, **numbers})
