"""How much is drawn for an evaluation: for a quick look, as the published study, or more where it costs little."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from unbraid.errors import unknown_name

__all__ = ["PRESETS", "STUDY", "Preset", "PresetName", "counting_bias", "preset_named"]

PresetName = Literal["fast", "study", "full"]


@dataclass(frozen=True)
class Preset:
    """Numbers of images, groups and labels; a number that is given beside a preset wins over its own."""

    train: int = 10_000
    """Images that estimators are fitted on."""
    test: int = 5_000
    """Images that they are judged on."""
    batch: int = 64
    """Images of a group of the interventional scores."""
    points: tuple[int, int] | None = None
    """Groups to learn from and to judge on; without, as many as images."""
    counted: int | None = None
    """Images of the scores that count (MIG and its family, modularity, IRS, InfoMEC, MED); without, ``train``."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of single scores."""


STUDY = Preset()
"""The numbers of Locatello et al. (2019)."""

PRESETS: dict[PresetName, Preset] = {
    "fast": Preset(
        2_000, 1_000, 32, (500, 250), options={"downstream": {"sizes": (10, 100, 1000), "learners": ("gbt",)}}
    ),
    "study": STUDY,
    "full": Preset(counted=100_000),
}


def preset_named(name: str) -> Preset:
    """The preset of this name, or an error that has them all."""
    if name not in PRESETS:
        raise unknown_name("preset", name, get_args(PresetName))
    return PRESETS[name]


def counting_bias(sizes: Any, samples: int, bins: int = 20) -> np.ndarray:
    """By how much counts overestimate a code's information about factors of these sizes, as a share of their entropy.

    An independent code in ``bins`` bins seems to know about ``(bins - 1)(size - 1) / (2 samples)`` nats (the first term
    of Miller's and Madow's series). It holds within a tenth where there are many samples per cell; where there are few
    it exceeds the truth, and is cut at 1.

    >>> counting_bias((3, 6, 40), 10_000).round(4)
    array([0.0017, 0.0027, 0.01  ])
    """
    values = np.asarray(sizes, dtype=np.float64)
    nats = (bins - 1) * (values - 1) / (2 * samples)
    return np.minimum(nats / np.log(values), 1.0)
