"""Images stay packed on disk until the batch: training on all of dSprites needs little memory."""

import subprocess
import sys

SCRIPT = r"""
import re, resource, sys
from pathlib import Path
import unbraid
unbraid.train("beta-vae", "dsprites", steps=20, out=sys.argv[1], progress="none")
status = Path("/proc/self/status")
# Linux hands the parent's peak down as ru_maxrss; the status file has this program's own.
if status.exists():
    print(int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 2**20)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def test_training_on_dsprites_stays_under_one_and_a_half_gigabytes(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run")], capture_output=True, text=True, check=True
    ).stdout
    assert float(told) < 1.5
