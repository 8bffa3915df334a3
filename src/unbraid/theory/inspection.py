"""Everything the VAE-PCA theory asks of one trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unbraid.data import ImageDataset, as_floats, counter_rng
from unbraid.errors import UsageError
from unbraid.theory.alignment import Alignment, pca_alignment
from unbraid.theory.jacobian import decoder_jacobian, decoder_of
from unbraid.theory.loss_split import LossSplit, split_reconstruction
from unbraid.theory.orthogonality import Orthogonality, distance_to_orthogonality
from unbraid.theory.polarised import Polarisation, polarisation
from unbraid.training import Run

__all__ = ["Inspection", "inspect_run", "self_consistency"]


@dataclass(frozen=True)
class Inspection:
    """What was found; parts a model cannot have are ``None``."""

    images: int
    active: np.ndarray
    """The latents that were judged: all of a plain autoencoder's."""
    polarisation: Polarisation | None
    """Of a model with a posterior."""
    split: LossSplit | None
    """Of a model with a posterior."""
    orthogonality: Orthogonality | None
    """Of a model with an active latent."""
    alignment: Alignment | None
    """Of a model with an active latent."""
    consistency: float
    """Mean squared error of codes drawn from the prior after decoding and encoding, per latent."""

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting the numbers."""
        found = []
        if self.polarisation is not None:
            if len(self.polarisation.disputed):
                names = ", ".join(f"z{j}" for j in self.polarisation.disputed)
                found.append(f"the two tests for active latents disagree on {names}")
            if not self.polarisation.polarised:
                found.append(
                    f"not in the polarised regime: the simplified KL is off by {self.polarisation.kl_error:.1%}, "
                    "more than 3 %"
                )
        if len(self.active) == 0:
            found.append("no code moves with the image: the penalty is too strong, or training too short")
        if len(self.active) == 1:
            found.append("one active latent is orthogonal to nothing: a distance of 0 is no success")
        if self.orthogonality is not None and self.orthogonality.degenerate > 0.1:
            found.append(
                f"degenerate: {self.orthogonality.degenerate:.0%} of the Jacobians have two singular values within 5 % "
                "of each other, which leaves their directions, and the distance, undetermined"
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        parts = {name: getattr(self, name) for name in ("polarisation", "split", "orthogonality", "alignment")}
        return {
            "images": self.images,
            "active": self.active.tolist(),
            **{name: None if part is None else part.to_json() for name, part in parts.items()},
            "consistency": self.consistency,
            "warnings": self.warnings,
        }


def inspect_run(
    run: Run,
    data: ImageDataset,
    *,
    images: int = 1000,
    jacobians: int = 256,
    output: Literal["image", "raw"] = "image",
    seed: int = 0,
) -> Inspection:
    """Judge a run on images drawn from a data set; Jacobians are taken at the codes of the first few of them."""
    if not 2 <= jacobians <= images:
        raise UsageError(f"jacobians must lie between 2 and images, got {jacobians} and {images}")
    rng = counter_rng(seed, 0)
    pixels = data.images(data.sample_index(images, rng), rng)
    found = run.describe(pixels, seed=seed)
    codes = found["mean"] if "mean" in found else run.encode(pixels)
    seen = polarisation(codes, found["logvar"]) if "logvar" in found else None
    active = np.arange(codes.shape[1]) if seen is None else seen.active
    decode = decoder_of(run, output)
    slopes = decoder_jacobian(decode, codes[:jacobians])
    flat = as_floats(pixels).reshape(images, -1)
    split = None
    if seen is not None:
        spread = found["covariance"] if "covariance" in found else np.exp(found["logvar"])
        # Squared error is between images, whatever the Jacobians are taken of.
        same = slopes if output == "image" else None
        split = split_reconstruction(
            decoder_of(run),
            _planes(pixels[:jacobians]),
            codes[:jacobians],
            spread[:jacobians],
            seed=seed,
            jacobians=same,
        )
    orthogonal = aligned = None
    if 0 < len(active) <= min(slopes.shape[1], images - 1):
        orthogonal = distance_to_orthogonality(slopes, active=active)
        columns = slopes[:, :, active].mean(axis=0)
        if np.linalg.norm(columns, axis=0).all():
            *grid, channels = run.info["data"]["shape"]
            # Decoders put channels first, images last; of a vector there is nothing to turn.
            last = np.moveaxis(columns.reshape(channels, *grid, -1), 0, -2).reshape(flat.shape[1], -1)
            aligned = pca_alignment(
                last,
                flat,
                codes=codes[:, active],
                posterior_variances=None if seen is None else seen.variance[active],
            )
    return Inspection(
        images, active, seen, split, orthogonal, aligned, self_consistency(run, codes.shape[1], seed=seed)
    )


def self_consistency(run: Run, latents: int, *, points: int = 512, seed: int = 0) -> float:
    """Mean of ``(mu(Dec(z)) - z)^2`` over codes from the prior and latents: 0 if the encoder inverts the decoder.

    Passive latents come back as 0 and count 1 each.
    """
    codes = np.random.default_rng(seed).standard_normal((points, latents))
    return float(((run.encode(run.decode(codes)) - codes) ** 2).mean())


def _planes(images: np.ndarray) -> np.ndarray:
    """Images as decoders draw them: channels first, in [0, 1]."""
    return np.moveaxis(as_floats(images), -1, 1)
