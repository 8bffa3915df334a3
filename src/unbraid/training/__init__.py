"""The training loop and the run folders it leaves."""

from unbraid.training.amounts import check_amounts, check_batch
from unbraid.training.checkpoint import WrongWeights
from unbraid.training.classify import Classify
from unbraid.training.described import describe_data, problem_of
from unbraid.training.forked import GRACE, cause_of_death
from unbraid.training.loop import Diverged, Hook, Loop, Moment
from unbraid.training.memory import MemoryStream
from unbraid.training.mixed_adam import load_kernel
from unbraid.training.run import CHECKPOINT, EVALUATIONS, HISTORY, INFO, Run, open_run, read_info
from unbraid.training.single import train
from unbraid.training.together import train_together

__all__ = [
    "CHECKPOINT",
    "EVALUATIONS",
    "GRACE",
    "HISTORY",
    "INFO",
    "Classify",
    "Diverged",
    "Hook",
    "Loop",
    "MemoryStream",
    "Moment",
    "Run",
    "WrongWeights",
    "cause_of_death",
    "check_amounts",
    "check_batch",
    "describe_data",
    "load_kernel",
    "open_run",
    "problem_of",
    "read_info",
    "train",
    "train_together",
]
