"""A run turned into its entangled twin: the same pictures from codes that mix everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from unbraid.data import counter_rng
from unbraid.errors import UsageError
from unbraid.theory.bijection import Bijection, bijection
from unbraid.theory.marginals import empirical
from unbraid.theory.orthogonal import MatrixName
from unbraid.training import Run

__all__ = ["EntangledRun", "entangle"]


class EntangledRun(Run):
    """A run whose encoder is followed, and whose decoder is preceded, by a bijection and its inverse.

    ``encode`` gives ``f(r(x))`` and ``decode`` shows ``dec(f^-1(z))``, so reconstructions are those of the run, while
    scores that look for one factor per code collapse. ``model`` is the run's network, unchanged. The turned posterior
    has no diagonal covariance: a KL per latent no longer exists and ``describe`` leaves it out.
    """

    def __init__(self, run: Run, f: Bijection) -> None:
        super().__init__(run.path, run.info, str(run.device))
        self.run, self.f = run, f
        # Share the networks: a second load would double the memory.
        self.model = run.model

    @property
    def discrete_codes(self) -> bool:
        """Never: turned codes mix the values of several latents."""
        return False

    def encode(
        self, images: np.ndarray, *, kind: Literal["mean", "sampled"] = "mean", seed: int = 0, batch_size: int = 256
    ) -> np.ndarray:
        """f of the run's codes, float64 ``[n, d]``."""
        return self.f(self.run.encode(images, kind=kind, seed=seed, batch_size=batch_size))

    def decode(self, codes: np.ndarray, *, batch_size: int = 256) -> np.ndarray:
        """Images of entangled codes ``[n, d]``."""
        return self.run.decode(self.f.inverse(codes), batch_size=batch_size)

    def describe(self, images: np.ndarray, *, seed: int = 0, batch_size: int = 256) -> dict[str, np.ndarray]:
        """The run's quantities that survive: reconstruction and the like, and the turned mean code."""
        found = self.run.describe(images, seed=seed, batch_size=batch_size)
        kept = {key: value for key, value in found.items() if key not in ("kl_per_latent", "logvar")}
        if "mean" in kept:
            kept["mean"] = self.f(kept["mean"])
        return kept

    def __repr__(self) -> str:
        return f"<EntangledRun of {self.run!r} by {self.f!r}>"


def entangle(
    run: Run,
    f: Bijection | None = None,
    *,
    matrix: MatrixName | ArrayLike = "random",
    alpha: float = 0.3,
    marginals: Literal["normal", "empirical"] | Sequence[Any] = "normal",
    codes: ArrayLike | None = None,
    seed: int = 0,
) -> EntangledRun:
    """The entangled twin of a run, by an own bijection ``f`` or one made of ``matrix`` and ``marginals``.

    ``"normal"`` marginals are those of the prior: f is then the matrix itself, the prior stays what it was, and the
    distribution of generated images is unchanged exactly. ``"empirical"`` marginals are read off ``codes`` (otherwise
    off 10,000 images of the run's data set), and keep the law of each code over the data; the joint law is kept as far
    as codes are independent, which :func:`unbraid.theory.check` tells.
    """
    if f is None:
        latents = run.encode(np.zeros((1, *run.info["data"]["shape"]), np.uint8)).shape[1]
        if isinstance(marginals, str) and marginals == "empirical":
            laws: Any = empirical(_codes(run, seed) if codes is None else codes)
        else:
            laws = marginals
        f = bijection(latents, matrix=matrix, alpha=alpha, marginals=laws, seed=seed)
    entangled = EntangledRun(run, f)
    shape = entangled.encode(np.zeros((1, *run.info["data"]["shape"]), np.uint8)).shape
    if shape[1] != f.dimensions:
        raise UsageError(f"f has {f.dimensions} dimensions, the run's codes {shape[1]}")
    return entangled


def _codes(run: Run, seed: int, images: int = 10_000) -> np.ndarray:
    data = run.data()
    rng = counter_rng(seed, 0)
    index = data.sample_index(images, rng)
    return np.concatenate([run.encode(data.images(part, rng)) for part in np.array_split(index, -(-images // 1000))])
