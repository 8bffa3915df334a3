"""The training loop and the run folders it leaves."""

from unbraid.training.loop import Diverged, Hook, Loop, Moment
from unbraid.training.run import CHECKPOINT, Run, describe_data, open_run
from unbraid.training.session import train
from unbraid.training.summary import ACTIVE, Summary, summarise
from unbraid.training.together import train_together

__all__ = [
    "ACTIVE",
    "CHECKPOINT",
    "Diverged",
    "Hook",
    "Loop",
    "Moment",
    "Run",
    "Summary",
    "describe_data",
    "open_run",
    "summarise",
    "train",
    "train_together",
]
