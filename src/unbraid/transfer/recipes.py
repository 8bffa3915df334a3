"""Recipes of training that compose: what a bias changes, and what two of them may change at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from unbraid.errors import UsageError
from unbraid.options import parse_name
from unbraid.registry import Registry, import_modules, summary
from unbraid.transfer.domains import Domain

__all__ = [
    "KINDS",
    "VANILLA",
    "Bias",
    "Budget",
    "Recipe",
    "asking_of",
    "biases",
    "canonical",
    "cost_of",
    "get",
    "names",
    "own_scenarios",
    "recipe",
    "register",
    "twin_of",
]

Kind = Literal["vanilla", "representation", "loss", "inference", "data", "architecture", "reading"]
KINDS: tuple[Kind, ...] = ("vanilla", "representation", "loss", "inference", "data", "architecture", "reading")
"""In the order in which names are written: what is trained, what happens to batches, the network, how it is asked."""
VANILLA = "vanilla"
CODED = ("readout", "verified")
"""Ways of being asked that read codes of an encoder."""


@dataclass(frozen=True)
class Budget:
    """How long models are trained."""

    steps: int = 2000
    batch_size: int = 64
    adversary: int = 10
    """Steps of the adversary in adversarial training."""
    warmup: float = 0.0
    """Part of the steps over which the radius of adversarial training grows."""
    latents: int = 10
    rate: float = 0.0
    """Learning rate of classifiers; 0 leaves it to the objective."""
    encoder_rate: float = 0.0
    """Learning rate of encoders; 0 leaves it to the objective."""
    drop: float = 0.0
    """Part of the steps after which the learning rate of classifiers is divided by ten; 0 for never."""
    drawing: float = 1.0
    """Steps of analysis by synthesis in units of those of others: with too few it is hardly a classifier."""
    encoding: float = 1.0
    """Steps of encoders in units of those of others: with too few their codes hardly tell classes apart."""
    autoencoder: str = ""
    """Networks of encoders that are trained with a decoder; empty leaves them to the objective."""
    weighed: bool = False
    """Whether their reconstruction weighs as on images of the size that the domain names."""
    anneal: float = 0.5
    """Part of the steps of analysis by synthesis over which the weight of its divergence falls."""
    search: int = 500
    """Random latents that analysis by synthesis begins its search from."""
    iterations: int = 20
    """Passes of that search."""
    blocks: int = 2
    """Couplings of a bijection in each stage."""


@dataclass(frozen=True)
class Recipe:
    """What is trained, and how the trained model is asked."""

    domain: Domain
    budget: Budget
    objective: str
    options: Mapping[str, Any] = field(default_factory=dict)
    net: str = ""
    """The predictor's network; empty where the objective brings its own."""
    augment: tuple[tuple[str, float], ...] = ()
    """Augmentations, each with its share of the batch when it is alone."""
    reading: str = ""
    """How the trained run is asked: by its own predictions, or through something that is built on it."""
    start: str = ""
    """Data that the model is trained on first."""
    threshold: float | None = None
    """At which the model turns pixels black or white, for attacks to know."""

    def changed(self, **options: Any) -> Recipe:
        """With other options of the objective."""
        return replace(self, options={**self.options, **options})

    def augmented(self, text: str, share: float = 0.5) -> Recipe:
        """With one more augmentation; several share what one alone would have."""
        return replace(self, augment=(*self.augment, (text, share)))

    def wrapped(self, net: str) -> Recipe:
        """With another network around, or in the place of, the vanilla one."""
        if not self.net:
            raise UsageError(f"objective {self.objective!r} brings networks of its own, which cannot be changed so")
        return replace(self, net=net)

    @property
    def augmentations(self) -> list[str]:
        """As the option ``augment`` of objectives has them."""
        found = []
        for text, share in self.augment:
            part = round(share / len(self.augment), 6)
            found.append(f"{text}{',' if ':' in text else ':'}share={part:g}")
        return found

    @property
    def steps(self) -> int:
        """Steps of training."""
        longer = self.budget.drawing if self.objective == "abs" else self.budget.encoding if self.encodes else 1
        return round(self.budget.steps * longer)

    @property
    def encodes(self) -> bool:
        """Whether it is trained without classes, and asked by way of its codes."""
        return self.reading in CODED

    def trained(self) -> dict[str, Any]:
        """All that decides the trained weights, but for data and seed; what is only asked otherwise is left out."""
        options = {**self.options, **self._pace(), **({"net": self.net} if self.net else {})}
        options |= {"augment": self.augmentations} if self.augment else {}
        about = {"objective": self.objective, "options": options, "steps": self.steps}
        about |= {"batch_size": self.budget.batch_size}
        return about | ({"start": self.start} if self.start else {})

    def _pace(self) -> dict[str, Any]:
        """How fast the budget wants it to learn: a network of the domain, or an encoder; others have their own pace."""
        budget = self.budget
        if self.net:
            rate = {"learning_rate": budget.rate} if budget.rate else {}
            return rate | ({"drop_at": (round(budget.drop * budget.steps),)} if budget.drop else {})
        return {"learning_rate": budget.encoder_rate} if budget.encoder_rate and self.encodes else {}


@dataclass(frozen=True)
class Bias:
    """One change of recipe, by name."""

    name: str
    kind: Kind
    own: tuple[str, ...]
    """The scenarios that it was made for."""
    change: Callable[[Recipe], Recipe]
    cost: float = 1.0
    """Time of its training in units of the vanilla one's."""
    asking: float = 1.0
    """Time of asking it in units of the vanilla one's."""
    twin: str = VANILLA
    """The recipe that it is one change of."""

    @property
    def about(self) -> str:
        return summary(self.change)


_BIASES: Registry[Bias] = Registry("bias")
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


def register(
    name: str,
    *,
    kind: Kind = "data",
    own: Sequence[str] = (),
    cost: float = 1.0,
    asking: float = 1.0,
    twin: str = VANILLA,
) -> Callable[[Callable[[Recipe], Recipe]], Callable[[Recipe], Recipe]]:
    """Decorator: a function from the vanilla recipe to a changed one becomes a bias, known to matrix, command and page.

    >>> from unbraid.transfer import register_bias
    >>> @register_bias("painted-over", own=("strokes",))
    ... def painted_over(recipe):
    ...     '''A rectangle of half of the images is painted over.'''
    ...     return recipe.augmented("random-erasing")
    """

    def keep(change: Callable[[Recipe], Recipe]) -> Callable[[Recipe], Recipe]:
        if kind not in KINDS:
            raise UsageError(f"kind of bias {name!r} must be one of {', '.join(KINDS)}, got {kind!r}")
        if "+" in name:
            raise UsageError(f"the name of a bias must not hold '+', which joins several, got {name!r}")
        _BIASES.add(name, Bias(name, kind, tuple(own), change, cost, asking, twin), home=change)
        return change

    return keep


def names() -> list[str]:
    """All registered biases."""
    _shipped()
    return _BIASES.names()


def get(name: str) -> Bias:
    """A single bias by name."""
    _shipped()
    return _BIASES[name]


def biases(name: str) -> list[Bias]:
    """The parts of a name such as ``gaussian-noise+binarised``, in the order in which they are applied.

    ``vanilla`` may be said and changes nothing. Two of a kind that can be there once are refused, and all that does not
    go together, with the reason.
    """
    words = [word.strip() for word in str(name).split("+")]
    found = {part.name: part for part in (get(word) for word in words)}
    if len(found) < len(words):
        raise UsageError(f"bias {name!r} names a part twice")
    parts = [part for part in found.values() if part.name != VANILLA]
    for kind in ("representation", "loss", "inference", "reading"):
        same = [part.name for part in parts if part.kind == kind]
        if len(same) > 1:
            raise UsageError(f"{' and '.join(same)} cannot be combined: a model has one {_WORDS[kind]}")
    bases = [part.name for part in parts if part.kind in ("representation", "loss", "inference")]
    if len(bases) > 1:
        raise UsageError(f"{' and '.join(bases)} cannot be combined: each is another objective of training")
    return sorted(parts, key=lambda part: (_ORDER[part.kind], part.name)) or [get(VANILLA)]


def canonical(name: str) -> str:
    """One name for all orders of the same parts.

    >>> canonical("vanilla+binarised+gaussian-noise")
    'gaussian-noise+binarised'
    """
    return "+".join(part.name for part in biases(name))


def own_scenarios(name: str) -> tuple[str, ...]:
    """The own scenarios of all parts that the twin does not have."""
    shared = {part.name for part in biases(twin_of(name))}
    parts = [part for part in biases(name) if part.name not in shared]
    return tuple(dict.fromkeys(scenario for part in parts for scenario in part.own))


def twin_of(name: str) -> str:
    """The recipe without the change: of a way to ask a model, the model asked plainly; of all others mostly vanilla.

    >>> twin_of("slow-vae+verified"), twin_of("gaussian-noise+binarised"), twin_of("ice")
    ('slow-vae', 'vanilla', 'bijection')
    """
    parts = biases(name)
    if parts[-1].kind == "reading" and len(parts) > 1:
        return "+".join(part.name for part in parts[:-1])
    return parts[0].twin


def cost_of(name: str) -> float:
    """Time of training in units of the vanilla one's."""
    return math.prod(part.cost for part in biases(name))


def asking_of(name: str) -> float:
    """Time of asking in units of the vanilla one's."""
    return math.prod(part.asking for part in biases(name))


def recipe(name: str, domain: Domain, budget: Budget | None = None) -> Recipe:
    """The recipe of a bias, or of several joined by ``+``, on a domain."""
    chosen = budget or Budget()
    factors = not domain.tests and (domain.held is None or domain.held.has_factors)
    options = {"factor": domain.factor} if domain.factor else {}
    found = Recipe(domain, chosen, "supervised" if factors else "classifier", options, net=domain.net)
    for part in biases(name):
        try:
            found = part.change(found)
        except UsageError as error:
            raise UsageError(f"bias {name!r}: {part.name}: {error}") from error
        if not isinstance(found, Recipe):
            raise UsageError(f"bias {part.name!r} must return a recipe, got {type(found).__name__}")
    _check(name, found)
    return found


def _check(name: str, found: Recipe) -> None:
    if found.reading == "verified" and not _decodes(found.objective):
        raise UsageError(
            f"bias {name!r}: verified compares an image with its decoding, and {found.objective!r} does not decode; "
            "combine it with beta-vae, ada-gvae or slow-vae"
        )
    for text, _ in found.augment:
        if parse_name(text)[0] == "adversarial" and found.reading == "readout":
            raise UsageError(
                f"bias {name!r}: adversarial examples are found against the loss of a classifier, and a representation "
                "is trained without classes"
            )


def _decodes(objective: str) -> bool:
    from unbraid import objectives

    return "decode" in objectives.make(objective).abilities() and objective not in ("firevnet", "ice")


def _shipped() -> None:
    """Import the biases that come with the library."""
    import_modules("unbraid.transfer.all_biases")


_WORDS = {
    "representation": "representation",
    "loss": "loss",
    "inference": "way of inference",
    "reading": "way of being asked",
}
