"""``make demo``: the main job from data to pictures, by the same commands a user types."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from unbraid.cli import main as unbraid

__all__ = ["main"]

DATA = "rooms3d-32"
COMMANDS = (
    f"data show {DATA} --out {{out}}/data.png",
    f"train ada-gvae --data {DATA} --pairs protocol=uni,changes=1 --beta 4 --reference-size 64 --learning-rate 1e-3 "
    "--steps 5000 --seed 1 --out {out}/run",
    "evaluate {out}/run --points 1000",
    "traverse {out}/run --active-only --image 249424",
)
"""Pairs of rooms differ in one factor, nobody says in which. The last one starts from a large cylinder."""


def main(out: Path) -> int:
    """Run the commands one after the other into a folder, and say where to look."""
    for template in COMMANDS:
        command = template.format(out=shlex.quote(str(out)))
        print(f"\n$ unbraid {command}", flush=True)
        code = unbraid(shlex.split(command))
        if code:
            return code
    run = out / "run"
    print("\nLook at:")
    for path, what in (
        (out / "data.png", "the data, one factor at a time"),
        (run / "traversal.png", "what each latent does, most informative first"),
        (run / "traversal.gif", "the same, moving"),
        (run / "factors.png", "which code knows which factor"),
        (run / "scores.json", "every score, with its ceiling and settings"),
    ):
        print(f"  {path}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/demo")))
