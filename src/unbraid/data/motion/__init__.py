"""How factors move: laws, transitions, tracks and the pairs made of them. Names are imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.data.motion.laplace import GeneralizedLaplace as GeneralizedLaplace
    from unbraid.data.motion.laplace import latent_pairs as latent_pairs
    from unbraid.data.motion.natural_statistics import Dependence as Dependence
    from unbraid.data.motion.natural_statistics import TransitionFit as TransitionFit
    from unbraid.data.motion.natural_statistics import dependence as dependence
    from unbraid.data.motion.natural_statistics import fit_transitions as fit_transitions

_HOMES = {
    "Dependence": "natural_statistics",
    "GeneralizedLaplace": "laplace",
    "TransitionFit": "natural_statistics",
    "dependence": "natural_statistics",
    "fit_transitions": "natural_statistics",
    "latent_pairs": "laplace",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
