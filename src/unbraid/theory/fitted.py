"""Models of seconds, trained in memory and judged at once: what the studies of the theory are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from unbraid.data import Dataset, Purpose, counter_rng
from unbraid.errors import UsageError
from unbraid.metrics import disentanglement_score, mig
from unbraid.nets import Autoencoder
from unbraid.objectives import AutoencoderObjective, Objective, Problem
from unbraid.theory.alignment import Alignment, pca_alignment
from unbraid.theory.jacobian import Decoder, decoder_jacobian, unclipped
from unbraid.theory.orthogonality import Orthogonality, distance_to_orthogonality
from unbraid.theory.polarised import Polarisation, polarisation, polarisation_of, polarised_share
from unbraid.training import Loop, MemoryStream, Moment, numerics

__all__ = ["Fitted", "fit"]

LOOK = 100
"""Steps between two looks at the losses."""


@dataclass(frozen=True)
class Fitted:
    """A trained model and what it makes of images drawn from its data set."""

    model: torch.nn.Module
    factors: np.ndarray | None
    """True factors of the images, ``[n, K]``; ``None`` of data that have none."""
    points: np.ndarray
    """The images as vectors in [0, 1], ``[n, pixels]``, channels first."""
    codes: np.ndarray
    """Their mean codes, ``[n, d]``."""
    seen: Polarisation | None
    """What the posteriors say; ``None`` for models without."""
    jacobians: np.ndarray
    """Of the decoder at the first 256 codes."""
    kl_errors: list[float] = field(default_factory=list)
    """Error of the simplified KL during training, if it was watched."""
    kinds: Sequence[str] | None = None
    """Of the factors; without them all are ordinal."""

    @property
    def active(self) -> np.ndarray:
        """Latents that carry something: all of a model without posterior."""
        return np.arange(self.codes.shape[1]) if self.seen is None else self.seen.active

    @property
    def orthogonality(self) -> Orthogonality | None:
        """Of the active columns; ``None`` if fewer than two are active, since one column is orthogonal to nothing."""
        return distance_to_orthogonality(self.jacobians, active=self.active) if len(self.active) > 1 else None

    @property
    def aligned(self) -> Alignment:
        """The active columns of the mean Jacobian against the principal directions of the data."""
        return pca_alignment(self.jacobians[:, :, self.active].mean(axis=0), self.points)

    def to_row(self, *, seed: int = 0) -> dict[str, Any]:
        """Everything the studies tabulate, as plain values; ``None`` where a model has no such number."""
        found, factors = self.orthogonality, self.factors

        def score(mode: Literal["bounded", "literal"]) -> float | None:
            if factors is None:
                return None
            return float(disentanglement_score(self.codes, factors, mode=mode, kinds=self.kinds, seed=seed))

        return {
            "active": len(self.active),
            "active_by_variance": None if self.seen is None else len(self.seen.active_by_variance),
            "distance": None if found is None else found.mean,
            "contrast": None if found is None else float(found.contrast.mean()),
            "degenerate": None if found is None else found.degenerate,
            "angle": float(self.aligned.angles.max()) if 0 < len(self.active) <= self.points.shape[1] else None,
            "ds": score("bounded"),
            "ds_literal": score("literal"),
            "mig": None if factors is None else float(mig(self.codes, factors)),
            "kl_error": None if self.seen is None else self.seen.kl_error,
            "polarised_share": polarised_share(self.kl_errors) if self.kl_errors else None,
        }


def fit(
    objective: Objective,
    data: Dataset,
    *,
    steps: int,
    polish: int = 0,
    batch_size: int = 128,
    watch: int = 0,
    images: int = 1000,
    seed: int = 0,
) -> Fitted:
    """Train for ``steps``, then ``polish`` more at a tenth of the step size, and judge the model on some images.

    It is judged on ``images`` draws, or on each image once if there are no more, so that restarts on a small data
    set can be compared. The whole data set is held in memory as floats, nothing is written, and only some steps are
    checked, which is quicker where a step is a millisecond. Every player of a game learns. With ``watch`` the error of
    the simplified KL is measured every so many steps. No steps at all give a random model.
    """
    if min(steps, polish, watch) < 0:
        raise UsageError(f"steps, polish and watch must not be negative, got {steps}, {polish} and {watch}")
    numerics.setup()
    generator = torch.Generator().manual_seed(int(counter_rng(seed, 0, Purpose.INIT).integers(2**62)))
    model = objective.make_model(Problem(data.shape, len(data)), generator)
    pixels = numerics.to_tensor(data.images(np.arange(len(data))))
    stream = MemoryStream(pixels, batch_size, seed)
    loop = Loop(objective, model, stream, seed, torch.device("cpu"), precision="fp32", check_every=LOOK)
    index = np.arange(len(data))
    if len(data) > images:
        index = np.random.default_rng(seed).choice(index, images)
    errors = []
    for step in range(steps + polish):
        if step == steps:
            for group in (group for optimizer in loop.optimizers.values() for group in optimizer.param_groups):
                group["lr"] /= 10
        loop.advance()
        if watch and (step + 1) % watch == 0:
            moment = Moment(step + 1, objective, model, torch.device("cpu"))
            errors.append(polarisation_of(moment, data.images(index)).kl_error)
    model.eval()
    with torch.no_grad():
        found = objective.describe(model, pixels[index], generator)
        codes = objective.encode(model, pixels[index]).double().numpy()
    return Fitted(
        model,
        data.factors(index) if data.has_factors else None,
        pixels[index].flatten(1).double().numpy(),
        codes,
        polarisation(codes, found["logvar"].numpy()) if "logvar" in found else None,
        decoder_jacobian(_decoder(objective, model), codes[:256]),
        errors,
    )


def _decoder(objective: Objective, model: torch.nn.Module) -> Decoder:
    if isinstance(objective, AutoencoderObjective) and isinstance(model, Autoencoder):
        return unclipped(objective, model)
    return model.get_submodule("decoder")
