"""unbraid: representations that come apart into the factors behind the data.

Learn them (:func:`train`), open them (:func:`open_run`), measure them (:func:`evaluate`). The packages ``data``,
``nets``, ``objectives``, ``metrics`` and others hold the parts; ``unbraid.data`` imports its package when it is first
used, and torch is imported only when something needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid import corruptions as corruptions
    from unbraid import data as data
    from unbraid import engines as engines
    from unbraid import evaluation as evaluation
    from unbraid import invariance as invariance
    from unbraid import metrics as metrics
    from unbraid import nets as nets
    from unbraid import objectives as objectives
    from unbraid import report as report
    from unbraid import robustness as robustness
    from unbraid import selection as selection
    from unbraid import study as study
    from unbraid import theory as theory
    from unbraid import training as training
    from unbraid.metrics import evaluate as evaluate
    from unbraid.training import Run as Run
    from unbraid.training import open_run as open_run
    from unbraid.training import train as train

_PACKAGES = (
    *("corruptions", "data", "engines", "evaluation", "invariance", "metrics", "nets", "objectives", "report"),
    *("robustness", "selection", "study", "theory", "training"),
)
_HOMES = {"Run": "training", "evaluate": "metrics", "open_run": "training", "train": "training"}

__all__ = [
    "Run",
    "corruptions",
    "data",
    "engines",
    "evaluate",
    "evaluation",
    "invariance",
    "metrics",
    "nets",
    "objectives",
    "open_run",
    "report",
    "robustness",
    "selection",
    "study",
    "theory",
    "train",
    "training",
]

_find = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name in _PACKAGES else _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
