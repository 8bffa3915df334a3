"""Portraits from a flow: a stand-in for CelebGlow (Schott et al., 2022).

CelebGlow decodes faces by a Glow trained on photographs, from identities ``z ~ N(0, 0.3² I)`` to which multiples of
three shared directions are added: smile, blond hair and age. Here a small random flow (affine couplings after a
rotation) takes the place of Glow, and its numbers are drawn as a portrait. Directions are straight in the latent space
and bent by the flow, so that a smile also changes a little of everything else, and of each person in another way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.data.dataset import Card, FactorDataset
from unbraid.data.registry import register
from unbraid.data.render.portrait import TRAITS, portraits
from unbraid.data.space import FactorSpace, check_index

__all__ = ["COEFFICIENTS", "CelebFlow", "Flow"]

COEFFICIENTS = -1 + 2 * 0.8 * np.arange(6) / 5
"""How much of a direction is added at each value: (-1, -0.68, -0.36, -0.04, 0.28, 0.6)."""
PERSONS, SIGMA, ATTRIBUTES = 1000, 0.3, ("smile", "blond", "age")
SPACE = FactorSpace(("person", *ATTRIBUTES), (PERSONS, 6, 6, 6), ("categorical", "ordinal", "ordinal", "ordinal"))
_LAYERS, _BEND, _GAIN = 4, 0.25, 2.2
"""Couplings, how far they bend, and how much wider identities spread in the traits that are no attribute."""

CARD = Card(
    title="CelebFlow: portraits from a flow",
    source="Drawn here from the latent numbers when asked for.",
    licence="MIT, as unbraid",
    citation="Protocol after: Schott et al., Visual representation learning does not generalize strongly within the "
    "same domain, ICLR 2022; Kingma and Dhariwal, Glow, NeurIPS 2018",
    traps=(
        "Person is an unordered number: no model can regress it for a person it has never seen.",
        "Directions are shared, what they do is not: a smile at value 3 is another one in every face.",
    ),
    stands_in_for="CelebGlow: same grid, identities, coefficients and image format; drawn faces of a random flow "
    "instead of Glow's, so numbers are not comparable with published ones",
)


class Flow:
    """A smooth invertible map of R^24: a rotation, then couplings that scale and shift every other number."""

    def __init__(self, seed: int = 0, size: int = len(TRAITS)) -> None:
        rng = np.random.default_rng([seed, 1])
        self.rotation = np.linalg.qr(rng.standard_normal((size, size)))[0]
        self.layers = [rng.standard_normal((2, size // 2, size // 2)) / np.sqrt(size // 2) for _ in range(_LAYERS)]

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Traits before they are squashed, of latents ``[n, 24]``."""
        u = z @ self.rotation.T
        for k, (scale, shift) in enumerate(self.layers):
            kept, moved = u[:, k % 2 :: 2], u[:, 1 - k % 2 :: 2]
            u = u.copy()
            u[:, 1 - k % 2 :: 2] = moved * np.exp(_BEND * np.tanh(kept @ scale)) + _BEND * np.tanh(kept @ shift)
        return u

    def inverse(self, u: np.ndarray) -> np.ndarray:
        """The latents that lead to these."""
        for k, (scale, shift) in reversed(list(enumerate(self.layers))):
            kept, moved = u[:, k % 2 :: 2], u[:, 1 - k % 2 :: 2]
            u = u.copy()
            u[:, 1 - k % 2 :: 2] = (moved - _BEND * np.tanh(kept @ shift)) * np.exp(-_BEND * np.tanh(kept @ scale))
        return u @ self.rotation


@register("celeb-flow")
class CelebFlow(FactorDataset):
    """1,000 drawn persons with six degrees each of smile, blond hair and age, 64 x 64 in colour."""

    name = "celeb-flow"
    card = CARD
    space = SPACE
    shape = (64, 64, 3)

    def __init__(self, seed: int = 0) -> None:
        """``seed`` decides the persons and the flow."""
        self.flow = Flow(seed)
        self.persons = SIGMA * np.random.default_rng([seed, 0]).standard_normal((PERSONS, len(TRAITS)))
        origin = self.flow(np.zeros((1, len(TRAITS))))
        wanted = origin + np.eye(len(TRAITS))[: len(ATTRIBUTES)]
        self.directions = self.flow.inverse(wanted) - self.flow.inverse(origin)
        """Latent directions ``[3, 24]``, one for each attribute: from the origin they lead to one unit more of it."""

    def latents(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """The latents ``[n, 24]`` of the images at these positions."""
        factors = self.space.factors(check_index(index, len(self)))
        return self.persons[factors[:, 0]] + COEFFICIENTS[factors[:, 1:]] @ self.directions

    def traits(self, index: np.ndarray | Sequence[int]) -> np.ndarray:
        """What is drawn, ``[n, 24]`` in (-1, 1); ``unbraid.data.render.portrait.TRAITS`` names them."""
        u = self.flow(self.latents(index))
        u[:, len(ATTRIBUTES) :] *= _GAIN
        return np.tanh(u)

    def images(self, index: np.ndarray | Sequence[int], rng: np.random.Generator | None = None) -> np.ndarray:
        return portraits(self.traits(index), self.shape[0])
