"""MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.errors import UsageError
from unbraid.training.tracking.base import Tracker, flat_scores, register, settings_of

__all__ = ["MLflow"]

STATUS = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}


@register("mlflow")
class MLflow(Tracker):
    """MLflow, where MLFLOW_TRACKING_URI says; without it MLflow's own choice, a file in the current folder.

    The experiment is MLFLOW_EXPERIMENT_NAME, or ``unbraid``.
    """

    def __init__(self) -> None:
        try:
            import mlflow
            from mlflow.entities import Metric, Param
        except ImportError as error:
            raise UsageError("MLflow is not installed: pip install 'unbraid[mlflow]'") from error
        self._metric, self._param = Metric, Param
        self._client = mlflow.MlflowClient

    def start(self, folder: Path, record: Mapping[str, Any], before: str | None) -> str:
        self.client = self._client()
        if before is not None:
            self.id = before
            self.client.update_run(before, status="RUNNING")
            return before
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "unbraid")
        known = self.client.get_experiment_by_name(name)
        experiment = self.client.create_experiment(name) if known is None else known.experiment_id
        self.id = str(self.client.create_run(experiment, run_name=folder.resolve().name).info.run_id)
        settings = [self._param(key, str(value)) for key, value in settings_of(record).items()]
        for begin in range(0, len(settings), 100):  # as many as a server takes at once
            self.client.log_batch(self.id, params=settings[begin : begin + 100])
        return self.id

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        now = int(1000 * time.time())
        found = [self._metric(name, value, now, step) for name, value in scalars.items()]
        for begin in range(0, len(found), 1000):
            self.client.log_batch(self.id, metrics=found[begin : begin + 1000])

    def picture(self, name: str, file: Path) -> None:
        self.client.log_artifact(self.id, str(file), "pictures")

    def scores(self, table: Sequence[Mapping[str, Any]], step: int) -> None:
        self.log(step, flat_scores(table))
        self.client.log_dict(self.id, {"rows": [dict(row) for row in table]}, "scores.json")

    def finish(self, status: str) -> None:
        self.client.set_terminated(self.id, STATUS[status])
