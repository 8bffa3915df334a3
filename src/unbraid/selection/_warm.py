"""Imported once by the fork server, so that a fresh worker process starts with everything heavy in memory."""

import torch

import unbraid.data
import unbraid.metrics
import unbraid.objectives
import unbraid.training  # noqa: F401

torch.set_num_threads(1)
