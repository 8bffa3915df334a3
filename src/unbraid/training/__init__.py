"""The training loop and the run folders it leaves."""

from unbraid.training.loop import Diverged, Hook, Loop, Moment
from unbraid.training.run import Run, open_run
from unbraid.training.session import train
from unbraid.training.summary import ACTIVE, Summary, summarise
from unbraid.training.together import train_together

__all__ = [
    "ACTIVE",
    "Diverged",
    "Hook",
    "Loop",
    "Moment",
    "Run",
    "Summary",
    "open_run",
    "summarise",
    "train",
    "train_together",
]
