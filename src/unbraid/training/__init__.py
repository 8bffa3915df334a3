"""The training loop and the run folders it leaves."""

from unbraid.training.loop import Diverged, Hook, Loop, Moment
from unbraid.training.run import CHECKPOINT, Run, describe_data, open_run
from unbraid.training.session import train
from unbraid.training.together import train_together

__all__ = [
    "CHECKPOINT",
    "Diverged",
    "Hook",
    "Loop",
    "Moment",
    "Run",
    "describe_data",
    "open_run",
    "train",
    "train_together",
]
