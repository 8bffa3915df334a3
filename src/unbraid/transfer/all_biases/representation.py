"""Biases of representations: an encoder trained without classes, frozen, and a read-out of class and factors."""

from dataclasses import replace
from typing import Any

from unbraid.transfer.recipes import Recipe, register

__all__ = ["ada_gvae", "beta_vae", "pcl", "slow_vae", "verified"]

OWN = ("composition", "interpolation", "extrapolation", "few-labels")


@register("beta-vae", kind="representation", own=OWN, cost=1.2, asking=2.0)
def beta_vae(recipe: Recipe) -> Recipe:
    """Codes of a beta-VAE, with a read-out (Higgins et al., 2017)."""
    return _encoded(recipe, "beta-vae", beta=4.0)


@register("ada-gvae", kind="representation", own=OWN, cost=1.5, asking=2.0)
def ada_gvae(recipe: Recipe) -> Recipe:
    """Codes of an Ada-GVAE, trained on pairs of images that share factors, with a read-out (Locatello et al., 2020)."""
    return _encoded(recipe, "ada-gvae", pairs="protocol=loc")


@register("slow-vae", kind="representation", own=OWN, cost=1.6, asking=2.0)
def slow_vae(recipe: Recipe) -> Recipe:
    """Codes of a SlowVAE, trained on pairs of images that follow each other, with a read-out (Klindt et al., 2021)."""
    return _encoded(recipe, "slow-vae")


@register("pcl", kind="representation", own=OWN, cost=2.0, asking=2.0)
def pcl(recipe: Recipe) -> Recipe:
    """Permutation-contrastive learning: codes that tell pairs in time from others (Hyvärinen & Morioka, 2017)."""
    return _encoded(recipe, "pcl")


@register("verified", kind="reading", own=("l2", "confidence"), asking=10.0)
def verified(recipe: Recipe) -> Recipe:
    """Codes are decoded and compared with the image; where they differ they are searched anew, without the encoder."""
    return replace(recipe, reading="verified")


def _encoded(recipe: Recipe, objective: str, **options: Any) -> Recipe:
    budget = recipe.budget
    common: dict[str, Any] = {"latents": budget.latents}
    if objective != "pcl":  # which draws nothing
        common |= {"net": budget.autoencoder} if budget.autoencoder else {}
        common |= {"reference_size": recipe.domain.reference_size} if budget.weighed else {}
    return replace(recipe, objective=objective, options={**common, **options}, net="", reading="readout")
