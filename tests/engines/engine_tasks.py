"""Tasks for the engines' tests."""

import os
import signal
import time
from pathlib import Path


def double(value):
    return 2 * value


def fail(message):
    raise ValueError(message)


def vanish():
    os.kill(os.getpid(), signal.SIGKILL)


def leave(code):
    os._exit(code)


def threads():
    import torch

    return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"]


def unsendable():
    return lambda: None


def process():
    return os.getpid()


def write_when_asked_to_stop(path):
    """Like training: notices the wish to stop, saves, ends."""
    from unbraid.training.loop import stop_requests

    with stop_requests() as stop:
        Path(path).write_text("running")
        while not stop():
            time.sleep(0.01)
        Path(path).write_text("stopped")
