"""Biases of inference and of the loss: classifiers that draw, and bijections."""

from dataclasses import replace
from typing import Any

from unbraid.transfer.recipes import Recipe, register

__all__ = ["abs_bernoulli", "abs_exact", "abs_gaussian", "bijection", "ice"]

OWN = ("l0", "l2", "distal")


@register("abs", kind="inference", own=OWN, cost=4.5, asking=20.0)
def abs_gaussian(recipe: Recipe) -> Recipe:
    """Analysis by synthesis: the class whose generative model explains an image best (Schott et al., 2019)."""
    return _drawing(recipe)


@register("abs-bernoulli", kind="inference", own=OWN, cost=4.5, asking=20.0)
def abs_bernoulli(recipe: Recipe) -> Recipe:
    """Analysis by synthesis with a Bernoulli likelihood of pixels (Schott et al., 2019)."""
    return _drawing(recipe, likelihood="bernoulli")


@register("abs-exact", kind="inference", own=OWN, cost=4.5, asking=20.0)
def abs_exact(recipe: Recipe) -> Recipe:
    """Analysis by synthesis that names no class of images which no class draws well: all scores are equal then."""
    return replace(_drawing(recipe), reading="exact")


@register("ice", kind="loss", own=("metamers",), cost=5.0, asking=5.0, twin="bijection")
def ice(recipe: Recipe) -> Recipe:
    """Independence cross-entropy: a bijection keeps the class out of what it ignores (Jacobsen et al., 2019)."""
    return _bijective(recipe, "ice")


@register("bijection", kind="loss", cost=3.0, asking=5.0)
def bijection(recipe: Recipe) -> Recipe:
    """The same bijection as ice, by cross-entropy alone: what ice is compared with."""
    return _bijective(recipe, "firevnet")


def _bijective(recipe: Recipe, objective: str) -> Recipe:
    net = f"conv:stages=2,blocks={recipe.budget.blocks},width=32"
    return replace(recipe, objective=objective, options={**_factor(recipe), "net": net}, net="")


def _drawing(recipe: Recipe, **options: Any) -> Recipe:
    drawn = replace(recipe, objective="abs", net="")
    budget = recipe.budget
    search = {"samples": budget.search, "iterations": budget.iterations}
    search |= {"anneal_steps": max(1, round(budget.anneal * drawn.steps))}
    return replace(drawn, options={**_factor(recipe), **search, **options})


def _factor(recipe: Recipe) -> dict[str, Any]:
    return {"factor": recipe.domain.factor} if recipe.domain.factor else {}
