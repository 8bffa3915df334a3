"""What random numbers are drawn for: the third key of the counter-based generator, all in one place.

Draws for different purposes never share a block of numbers, so that adding one changes no other. The numbers are part
of what makes a run repeatable and never change.
"""

from enum import IntEnum, unique

__all__ = ["GamePurpose", "Purpose"]


@unique
class Purpose(IntEnum):
    """The purposes of :func:`unbraid.data.counter_rng`."""

    STREAM = 0
    """Images of a batch; also the images that are drawn to look at a run, at step 0."""
    INIT = 1
    """Initial weights."""
    NOISE = 2
    """What an objective draws in a step."""
    SECOND = 3
    """The second batch beside the first."""
    LABELLED = 4
    """Which few images have known factors."""
    PAIRS = 5
    """Pairs and sequences."""
    PREPARED = 6
    """What is drawn before a step: weights and noise of a player that begins anew."""
    MATRICES = 7
    """Matrices to reason about."""
    VALIDATED = 8
    """Which few images have known factors to choose a model by."""
    FOUND = 21
    """Hyperparameters of a population's first members."""
    SELECT = 22
    """Who replaces whom in a population, and how its hyperparameters change."""
    SCORED = 31
    """The images by which members of a population are scored."""
    SCORED_LABELS = 32
    """Which of them have known factors."""
    CORRUPTED = 41
    """What a corruption draws for an image."""
    DIRECTION = 51
    """The noise whose smallest harmful strength is looked for, of an image."""
    RESAMPLED = 52
    """Images drawn again for an interval."""
    ATTACK = 53
    """Where attacks begin."""
    GENERATOR = 54
    """Weights, batches and noise of a generator that is trained against a finished model."""
    SURROGATE = 77
    """The images of surrogate scores."""


@unique
class GamePurpose(IntEnum):
    """Those of the game in which a perturbation is found (:func:`unbraid.theory.train_perturbation`), a world apart."""

    MOVES = 1
    # 2 is the noise of the training loop, on which the game runs.
    HELD_OUT = 3
    INIT = 4
    NOISE = 5
    WARM_UP = 6
