"""unbraid track RUN..."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from unbraid.cli.early import check_folder
from unbraid.errors import UsageError

__all__ = ["track_command"]


def track_command(
    runs: Positional[tuple[Path, ...]] = (),
    *,
    to: Annotated[str, arg(metavar="NAME")],
    again: bool = False,
    json: bool = False,
) -> None:
    """Send runs to an experiment tracker: settings, history, scores and pictures.

    What a tracker was sent before, also during training (train --track), is not sent again: only what is new, to the
    same run there. The run folder stays the truth; run.json keeps what the tracker knows the run by.

    Args:
        runs: Folders of runs.
        to: tensorboard, wandb, mlflow or an own FILE.py:CLASS (unbraid list trackers); several are separated by commas.
        again: Send everything, to a new run there.
        json: Print what was sent as JSON.
    """
    if not runs:
        raise UsageError("give at least one run folder")
    for path in runs:
        check_folder(path, "run")
    from unbraid.training.tracking import send_run

    sent = [one for path in runs for one in send_run(path, to, again=again)]
    if json:
        print(json_module.dumps([{**vars(one), "run": str(one.run)} for one in sent]))
        return
    for one in sent:
        print(
            f"{one.run}: sent {one.steps} rows, {one.scores} scores and {one.pictures} pictures to {one.to} ({one.id})"
        )
