"""One thread per process everywhere: several test processes share the machine."""

import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dots import Dots


@pytest.fixture
def dots() -> Dots:
    return Dots()
