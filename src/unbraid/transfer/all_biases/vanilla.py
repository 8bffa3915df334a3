"""The recipe that all others are compared with."""

from unbraid.transfer.recipes import Recipe, register

__all__ = ["vanilla"]


@register("vanilla", kind="vanilla")
def vanilla(recipe: Recipe) -> Recipe:
    """The domain's network, trained by cross-entropy of classes and squared error of factors."""
    return recipe
