"""What a training objective is. Importing this module does not import torch, so that the command line stays quick."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from unbraid.errors import UsageError
from unbraid.objectives.checks import room_for
from unbraid.options import Named, check_options
from unbraid.problem import Problem
from unbraid.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.objectives.augment import Augmentation
    from unbraid.objectives.tasks import Task

__all__ = [
    "ABILITIES",
    "Codes",
    "Inputs",
    "Objective",
    "Problem",
    "Terms",
    "default_options",
    "get",
    "make",
    "names",
    "options_of",
    "register",
]

ABILITIES = ("encode", "decode", "predict", "infer", "invert")
"""What a trained model may be able to do; each is a method of :class:`Objective`."""


Model = Any
"""The ``nn.Module`` that an objective built itself: it may ask more of it than any module has."""


@dataclass(frozen=True)
class Inputs:
    """A batch as networks see it: floats ``[n, c, h, w]`` in [0, 1] on the training device."""

    images: Tensor
    partners: Tensor | None = None
    labels: Tensor | None = None
    """Classes ``[n]``."""
    factors: Tensor | None = None
    index: Tensor | None = None
    partner_factors: Tensor | None = None
    """Factors ``[n, K]`` of the partners."""
    changed: Tensor | None = None
    """Which factors differ between an image and its partner, bool ``[n, K]``."""
    clean: Tensor | None = None
    """The images before augmentation; ``None`` where there was none."""
    clean_partners: Tensor | None = None

    @property
    def targets(self) -> Tensor:
        """The images a model that gives images back is asked for: the clean ones."""
        return self.images if self.clean is None else self.clean

    def take(self, rows: Tensor) -> Inputs:
        """Some of the batch."""
        known = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: value[rows] for name, value in known.items() if value is not None})


@dataclass(frozen=True)
class Codes:
    """The codes behind a loss, ``[n, latents]``: what penalties look at."""

    mean: Tensor
    """Before anything was drawn or rounded: posterior means."""
    sample: Tensor
    """What the decoder saw."""


@dataclass(frozen=True)
class Terms:
    """The scalars of one loss: ``terms`` add up to what is minimised, ``watched`` are recorded only."""

    terms: dict[str, Tensor]
    watched: dict[str, Tensor] = dataclasses.field(default_factory=dict)
    codes: Codes | None = None
    """The codes it is the loss of, where there are some."""

    @property
    def total(self) -> Tensor:
        first, *rest = self.terms.values()
        return sum(rest, first)


@dataclass(frozen=True)
class Objective:
    """A frozen dataclass whose fields are the hyperparameters: the command's options, the record and a sweep's axes.

    A subclass builds its model, says which optimiser updates which part of it, and yields its losses. Everything
    else (data, checkpoints, history, devices) belongs to the training loop.
    """

    name: ClassVar[str] = ""
    needs: ClassVar[Named | str] = "images"
    """The stream it trains on, with options if it takes some; see :func:`unbraid.data.stream_names`."""
    title: ClassVar[str] = ""
    """As papers write it, for headings and axes; without one the name is shown."""
    formula: ClassVar[str] = ""
    """What is minimised, in one line; ``{option}`` stands for the value of an option."""
    sweep: ClassVar[tuple[str, tuple[float, ...]] | None] = None
    """The option that sets the strength of the method and its published values, ascending; the axis of a study."""
    regularisation: ClassVar[int] = 1
    """1 if a larger value of the swept option regularises more, -1 if less."""
    representations: ClassVar[tuple[str, ...]] = ("mean", "sampled")
    """The codes of an image that :meth:`encode` knows: ``("mean",)`` for a model without a posterior to draw from."""
    codes: ClassVar[Literal["continuous", "discrete"]] = "continuous"
    """Whether :meth:`encode` gives numbers of any kind or one of a few values for each latent."""
    predicts: ClassVar[Literal["classes", "factors"]] = "classes"
    """What :meth:`predict` gives, for a model that can; :meth:`tasks` tells of models that answer more."""
    sees_labels: ClassVar[bool] = False
    """Whether training is told something of the class or the factors of every image it sees. (Few labelled images are
    another thing: who learns from those says which by ``labels`` and ``label_seed``.)"""

    augment: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """What is done to shares of every training batch, in order, as in gaussian-noise:sigma=0.5,share=0.5."""

    @property
    def augmentations(self) -> tuple[Augmentation, ...]:
        """The augmentations by name, made."""
        from unbraid.objectives.augment import make

        if isinstance(self.augment, str):
            raise UsageError(f"augment must be a list of augmentations, got {self.augment!r}; write [{self.augment!r}]")
        return tuple(make(text) for text in self.augment)

    def make_model(self, problem: Problem, generator: torch.Generator) -> nn.Module:
        """What :meth:`build` gives, with the networks that augmentations bring inside it."""
        from unbraid.objectives.augment import batch

        augmentations = self.augmentations
        with room_for(self):
            model = self.build(problem, generator)
            batch.attach(augmentations, model, problem, generator)
        return model

    def make_optimizers(self, model: nn.Module) -> dict[str, torch.optim.Optimizer]:
        """What :meth:`optimizers` gives, and the optimisers of players that augmentations bring."""
        from unbraid.objectives.augment import batch

        return batch.optimizers(self, self.augmentations, model)

    def make_ready(
        self,
        model: nn.Module,
        optimizers: dict[str, torch.optim.Optimizer],
        step: int,
        noise: torch.Generator,
        batches: Callable[[int], Inputs],
    ) -> None:
        """What :meth:`prepare` does before a step, then each augmentation; ``batches`` gives the batch of a step."""
        from unbraid.objectives.augment import batch

        self.prepare(model, optimizers, step)
        if self.augment:
            batch.prepare(self, self.augmentations, model, optimizers, step, noise, batches)

    def play(self, model: nn.Module, inputs: Inputs, step: int, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        """The losses of one step of training: :meth:`losses` on the batch as the augmentations leave it."""
        from unbraid.objectives.augment import batch

        if not self.augment:
            return self.losses(model, inputs, step, noise)
        return batch.augmented(self, self.augmentations, model, inputs, step, noise)

    def build(self, problem: Problem, generator: torch.Generator) -> nn.Module:
        """The model, with everything that is trained inside it; all random numbers come from ``generator``."""
        raise UsageError(
            f"objective {self.name!r} does not say how to build its model: define build(problem, generator)"
        )

    def optimizers(self, model: Model) -> dict[str, torch.optim.Optimizer]:
        """One optimiser per player. The default is a single player with Adam."""
        from torch.optim import Adam

        return {"model": Adam(model.parameters(), lr=1e-4)}

    def updates(self, steps: int) -> int:
        """How many updates a budget of ``steps`` means; a method may count otherwise to match published runs."""
        return steps

    def prepare(self, model: Model, optimizers: dict[str, torch.optim.Optimizer], step: int) -> None:
        """Called before every step: the place for schedules, snapshots and restarts.

        What it does must follow from the step, the model and the optimisers alone, which a checkpoint holds: a resumed
        run repeats it. What is to be kept belongs into the model, as a buffer. The default does nothing.
        """

    def losses(self, model: Model, inputs: Inputs, step: int, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        """Yield ``(player, terms)``; after each the loop moves that player's parameters, and those only.

        A game of two players yields twice and may reuse what it computed (detached) for the first one.
        """
        yield "model", self.loss(model, inputs, step, noise)

    def loss(self, model: Model, inputs: Inputs, step: int, noise: torch.Generator) -> Terms:
        """The loss of a single player."""
        raise UsageError(f"objective {self.name!r} has no loss: define loss(model, inputs, step, noise) or losses(...)")

    @classmethod
    def abilities(cls) -> frozenset[str]:
        """What a model trained by it can do, of :data:`ABILITIES`: those of the methods below that the class defines.

        >>> make("pcl").abilities() == {"encode"}
        True
        """
        return frozenset(name for name in ABILITIES if getattr(cls, name) is not getattr(Objective, name))

    def encode(self, model: Model, images: Tensor, noise: torch.Generator | None = None) -> Tensor:
        """Codes ``[n, d]`` of images: the mean representation, or a sampled one when ``noise`` is given."""
        raise UsageError(f"a model trained by {self.name!r} does not encode")

    def decode(self, model: Model, codes: Tensor) -> Tensor:
        """Images ``[n, c, h, w]`` in [0, 1] of codes ``[n, d]``."""
        raise UsageError(f"a model trained by {self.name!r} does not decode")

    def predict(self, model: Model, images: Tensor) -> Tensor:
        """Class scores ``[n, classes]`` of images, or their factors ``[n, K]``, each scaled to [0, 1]."""
        raise UsageError(f"a model trained by {self.name!r} does not predict")

    def tasks(self, problem: Problem) -> tuple[Task, ...]:
        """What a model that predicts is asked of an image, the first by :meth:`predict`; see :meth:`answers`."""
        return ()

    def answers(self, model: Model, images: Tensor) -> dict[str, Tensor]:
        """What the model says to each of its tasks, by name: class scores, or scaled factors."""
        raise UsageError(f"a model trained by {self.name!r} has no tasks by name")

    def infer(self, model: Model, images: Tensor) -> Tensor:
        """Codes ``[n, d]`` of images found by searching for those that explain them best, not by an encoder."""
        raise UsageError(f"a model trained by {self.name!r} does not infer")

    def invert(self, model: Model, outputs: Tensor) -> Tensor:
        """The images ``[n, c, h, w]`` that a one-to-one model maps to these outputs ``[n, d]``."""
        raise UsageError(f"a model trained by {self.name!r} cannot be inverted")

    def describe(self, model: Model, images: Tensor, noise: torch.Generator) -> dict[str, Tensor]:
        """Per-image quantities that judge the model without labels, each ``[n]`` or ``[n, d]``."""
        return {}


_OBJECTIVES: Registry[type[Objective]] = Registry("objective")
Class = TypeVar("Class", bound=type[Objective])


def register(name: str) -> Callable[[Class], Class]:
    """Class decorator: make an objective known by name to the command line, run folders and studies."""

    def add(cls: Class) -> Class:
        if not dataclasses.is_dataclass(cls):
            raise UsageError(f"objective {name!r} must be a dataclass: put @dataclass(frozen=True) under @register")
        _OBJECTIVES.add(name, cls)
        cls.name = name
        cls.title = vars(cls).get("title", name)  # another objective's title and formula are not handed down
        cls.formula = vars(cls).get("formula", "")
        return cls

    return add


def names() -> list[str]:
    """All registered objectives."""
    return _OBJECTIVES.names()


def get(name: str) -> type[Objective]:
    """The class of a registered objective."""
    return _OBJECTIVES[name]


def find(name: str) -> type[Objective] | None:
    """The class registered under exactly this name, if there is one."""
    cls: type[Objective] | None = _OBJECTIVES.get(name)
    return cls if cls is not None and cls.name == name else None


def make(name: str, options: dict[str, Any] | None = None) -> Objective:
    """An objective from its name and hyperparameters.

    >>> make("beta-vae", {"beta": 2}).beta
    2
    """
    cls = get(name)
    found = check_options(f"objective {name!r}", cls, options or {})
    # JSON knows lists only.
    return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in found.items()})


def options_of(objective: Objective) -> dict[str, Any]:
    """The hyperparameters as plain values, as they stand in the run folder."""
    return {name: _plain(value) for name, value in dataclasses.asdict(objective).items()}


def default_options(objective: Objective) -> dict[str, Any]:
    """The same, of what an objective is when nothing is asked for."""
    found = {}
    for field in dataclasses.fields(objective):
        if field.default_factory is not dataclasses.MISSING:
            found[field.name] = _plain(field.default_factory())
        elif field.default is not dataclasses.MISSING:
            found[field.name] = _plain(field.default)
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
