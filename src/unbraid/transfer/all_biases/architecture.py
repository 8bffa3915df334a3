"""Biases that change the network."""

from dataclasses import replace

from unbraid.errors import UsageError
from unbraid.options import parse_name
from unbraid.transfer.recipes import Recipe, register

__all__ = ["binarised", "coordinates", "rotation_equivariant", "spatial_transformer"]

THRESHOLD = 0.5
OTHERS = ("coordconv", "rotation-eq", "spatial-transformer")
"""Networks that take the vanilla one's place or look at the image before it does; one of them at a time."""


@register("binarised", kind="architecture", own=("linf",))
def binarised(recipe: Recipe) -> Recipe:
    """Pixels are compared with 0.5 first, in training and in the test, with gradients straight through."""
    return replace(recipe.wrapped(f"binarised:net={recipe.net}"), threshold=THRESHOLD)


@register("coordinates", kind="architecture", own=("extrapolation", "geometry"), cost=1.2)
def coordinates(recipe: Recipe) -> Recipe:
    """The network is told where each pixel is, by two more channels (CoordConv; Liu et al., 2018)."""
    return _inner(recipe, "coordconv:net={}")


@register("rotation-equivariant", kind="architecture", own=("extrapolation", "geometry"), cost=1.6, asking=1.5)
def rotation_equivariant(recipe: Recipe) -> Recipe:
    """Every filter looks in several directions; a network of its own, not the vanilla one with a change."""
    return _inner(recipe, "rotation-eq")


@register("spatial-transformer", kind="architecture", own=("extrapolation", "geometry"), cost=5.0, asking=4.0)
def spatial_transformer(recipe: Recipe) -> Recipe:
    """The image is turned, scaled and moved by a small network before the vanilla one (Jaderberg et al., 2015)."""
    return _inner(recipe, "spatial-transformer:net={}")


def _inner(recipe: Recipe, form: str) -> Recipe:
    """Change the vanilla network inside whatever threshold is around it."""
    outer, inner = "", recipe.net
    if inner.startswith("binarised:net="):
        outer, inner = "binarised:net=", inner.removeprefix("binarised:net=")
    if inner and parse_name(inner)[0] in OTHERS:
        raise UsageError(f"{parse_name(inner)[0]} has changed it already, and a model has one network")
    return recipe.wrapped(outer + form.format(inner))
