"""What to do next with a finished run."""

from __future__ import annotations

from pathlib import Path

from unbraid.paths import quoted

__all__ = ["next_commands"]


def next_commands(path: Path) -> str:
    """Commands for a run that it does not refuse: only one that encodes and decodes images can be traversed."""
    from unbraid.training import open_run

    run = open_run(path)
    drawn = run.can("encode") and run.can("decode") and len(run.info["data"]["shape"]) == 3
    name = quoted(path)
    return f"next: unbraid evaluate {name}   or   unbraid {'traverse' if drawn else 'report'} {name}"
