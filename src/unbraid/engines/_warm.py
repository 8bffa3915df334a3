"""Imported once by the fork server, so that a fresh worker process starts with everything heavy in memory.

Only code: no tensor is computed here, because threads started before a fork would be missing after it.
"""

import scipy.special  # noqa: F401
import torch

import unbraid.data
import unbraid.metrics
import unbraid.objectives
import unbraid.training  # noqa: F401
from unbraid.training import load_kernel

torch.set_num_threads(1)
torch.optim.Adam([torch.empty(1)]).zero_grad()  # makes torch import its compiler, which takes a second
load_kernel()
