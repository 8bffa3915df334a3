"""Biases that change the training images."""

from dataclasses import replace

from unbraid.errors import UsageError
from unbraid.transfer.recipes import Recipe, register

__all__ = ["ant1x1", "ant3x3", "gaussian_noise", "l2_training", "linf_training", "more_data", "speckle", "stylised"]

CORRUPTIONS = ("noise", "blur", "weather", "digital")
OTHER = {
    "affine-digits": "fashion-mnist",
    "mnist": "fashion-mnist",
    "fashion-mnist": "mnist",
}
"""What models of a domain are trained on before, for want of a large set of photographs; of the same shape."""


@register("gaussian-noise", own=CORRUPTIONS)
def gaussian_noise(recipe: Recipe) -> Recipe:
    """Normal noise of standard deviation 0.5 on half of the images (Rusak et al., 2020)."""
    return recipe.augmented("gaussian-noise:sigma=0.5")


@register("speckle", own=CORRUPTIONS)
def speckle(recipe: Recipe) -> Recipe:
    """Noise in proportion to brightness on half of the images (Rusak et al., 2020)."""
    return recipe.augmented("speckle")


@register("ant1x1", own=CORRUPTIONS, cost=2.0)
def ant1x1(recipe: Recipe) -> Recipe:
    """Adversarial noise training: a generator of noise plays against the model (Rusak et al., 2020)."""
    return recipe.augmented("ant:kernel=1,eps=5")


@register("ant3x3", own=CORRUPTIONS, cost=2.5)
def ant3x3(recipe: Recipe) -> Recipe:
    """Adversarial noise training with noise that hangs together over three pixels (Rusak et al., 2020)."""
    return recipe.augmented("ant:kernel=3,eps=5")


@register("linf-training", own=("linf",), cost=8.0)
def linf_training(recipe: Recipe) -> Recipe:
    """Adversarial examples within a linf ball instead of images (Madry et al., 2018)."""
    return _adversarial(recipe, "linf")


@register("l2-training", own=("l2",), cost=8.0)
def l2_training(recipe: Recipe) -> Recipe:
    """Adversarial examples within an l2 ball instead of images (Madry et al., 2018)."""
    return _adversarial(recipe, "l2")


@register("stylised", own=("weather", "digital"), cost=1.1)
def stylised(recipe: Recipe) -> Recipe:
    """Another texture on half of the images, the shape stays: stands in for style transfer (Geirhos et al., 2019)."""
    return recipe.augmented("stylised")


@register("more-data", own=("few-labels", *CORRUPTIONS), cost=2.0)
def more_data(recipe: Recipe) -> Recipe:
    """Trained on another domain first, then here: a surrogate for pre-training on many photographs."""
    other = OTHER.get(recipe.domain.name)
    if other is None:
        raise UsageError(f"no other domain of the shape of {recipe.domain.name} comes with the library to begin from")
    if not recipe.net:
        raise UsageError(f"objective {recipe.objective!r} does not begin from the weights of a classifier")
    return replace(recipe, start=other)


def _adversarial(recipe: Recipe, norm: str) -> Recipe:
    usual = {"linf": 0.3, "l2": 1.5} if recipe.domain.bounds else {"linf": 8 / 255, "l2": 0.5}
    radius = recipe.domain.bounds.get(norm, usual[norm])
    budget = recipe.budget
    grown = f",warmup={round(budget.warmup * budget.steps)}" if budget.warmup else ""
    return recipe.augmented(f"adversarial:norm={norm},radius={radius:g},steps={budget.adversary}{grown}", share=1.0)
