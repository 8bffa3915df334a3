"""The published settings of the experiments on alignment (Zietlow, 2022, table 3.1), by data set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from unbraid.data import Dataset
from unbraid.errors import UsageError, unknown_name
from unbraid.objectives import AE, VAE, BetaVAE, FullBetaVAE, Objective, options_of
from unbraid.paths import quoted

__all__ = ["MODELS", "PRESETS", "Preset", "preset"]

MODELS = ("beta-vae", "vae", "ae", "full-beta-vae", "random")
"""The columns of table 3.3; ``random`` is an untrained decoder."""
BATCH_SIZE = 128
"""Not published."""


@dataclass(frozen=True)
class Preset:
    """How models of one data set were trained."""

    data: str
    net: str
    latents: int
    epochs: int
    beta: float
    """In units of the published data; see :meth:`objective`."""
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    likelihood: str = "bernoulli"
    """Not published: cross-entropy for pictures and squared errors for vectors."""
    train: int = 0
    """Number of images in an epoch."""
    models: tuple[str, ...] = MODELS
    """Those of table 3.3 that were reported for it."""
    small_epochs: float = 1.0
    """Epochs at a size for one core."""

    def objective(self, model: str, data: Dataset | None = None) -> Objective:
        """The objective of a column of table 3.3; ``random`` is that of the autoencoder, not to be trained.

        Synthetic vectors are scaled into [0, 1], and beta with their variance: ``data`` knows by how much.
        """
        shared: dict[str, Any] = {
            "net": self.net,
            "latents": self.latents,
            "likelihood": self.likelihood,
            "optimizer": self.optimizer,
            "learning_rate": self.learning_rate,
        }
        beta = self.beta * getattr(data, "scale", 1.0) ** 2
        if model == "beta-vae":
            return BetaVAE(beta=beta, **shared)
        if model == "full-beta-vae":
            return FullBetaVAE(beta=beta, **shared)
        if model == "vae":
            return VAE(**shared)
        if model in ("ae", "random"):
            return AE(**shared)
        raise unknown_name("model", model, MODELS)

    def steps(self, epochs: float | None = None) -> int:
        """Steps of so many epochs (otherwise the published number)."""
        count = self.epochs if epochs is None else epochs
        if not count > 0:
            raise UsageError(f"epochs must be positive, got {epochs}")
        return math.ceil(count * self.train / BATCH_SIZE)

    def command(self, model: str, out: str) -> str:
        """The same training as a command; synthetic data need their scaled beta, which is left to :meth:`objective`."""
        made = self.objective(model)
        named = ("beta", "net", "latents", "likelihood", "optimizer", "learning_rate")
        given = {name: value for name, value in options_of(made).items() if name in named}
        words = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
        data = f"--data {self.data} --batch-size {BATCH_SIZE} --steps {self.steps()}"
        return f"unbraid train {made.name} {data} {words} --out {quoted(out)}"


def _digits(data: str, epochs: int) -> Preset:
    net = "mlp:encoder=400,decoder=500+500,activation=relu,decoder_activation=tanh"
    models = tuple(name for name in MODELS if name != "beta-vae")  # no factors, so there was nothing to choose beta by
    return Preset(data, net, 6, epochs, 1.0, "adagrad", 1e-2, train=60_000, models=models, small_epochs=10)


_VECTORS = tuple(name for name in MODELS if name != "vae")
PRESETS = {
    "dsprites": Preset("dsprites", "fc", 5, 50, 4.0, "adagrad", 1e-2, train=589_824),
    "mnist": _digits("mnist", 400),
    "fashion-mnist": _digits("fashion-mnist", 500),
    "synth-linear": Preset(
        "synth-linear", "linear", 2, 600, 1e-4, likelihood="gaussian", train=40_000, models=_VECTORS, small_epochs=30
    ),
    "synth-nonlinear": Preset(
        "synth-nonlinear",
        "mlp:encoder=60+40+20,decoder=60+40+20,activation=tanh",
        2,
        600,
        1e-3,
        likelihood="gaussian",
        train=40_000,
        models=_VECTORS,
        small_epochs=30,
    ),
    # Its convolutions are those of slow; published is a first layer of 64 units for the decoder, slow has 256.
    "celeba": Preset("celeba", "slow", 32, 50, 4.0, learning_rate=1e-4, train=162_079, models=("beta-vae",)),
}
"""Rows of the table. An epoch is 80 % of the images; of the digits and clothes the 60,000 that are meant for it."""


def preset(data: str) -> Preset:
    """The published settings for a data set.

    >>> preset("mnist").steps()
    187500
    """
    if data not in PRESETS:
        raise unknown_name("data set with published settings", data, PRESETS)
    return PRESETS[data]
