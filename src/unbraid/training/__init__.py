"""The training loop and the run folders it leaves."""

from unbraid.training.loop import Diverged, Hook, Loop, Moment
from unbraid.training.run import CHECKPOINT, Classify, Run, describe_data, open_run, problem_of
from unbraid.training.single import train
from unbraid.training.together import train_together

__all__ = [
    "CHECKPOINT",
    "Classify",
    "Diverged",
    "Hook",
    "Loop",
    "Moment",
    "Run",
    "describe_data",
    "open_run",
    "problem_of",
    "train",
    "train_together",
]
