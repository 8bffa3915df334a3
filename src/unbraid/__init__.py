"""unbraid: representations that come apart into the factors behind the data.

Learn them (:func:`train`), open them (:func:`open_run`), measure them (:func:`evaluate`). The packages ``data``,
``nets``, ``objectives``, ``metrics`` and ``training`` hold the parts. torch is imported only when something needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.metrics import evaluate as evaluate
    from unbraid.training import Run as Run
    from unbraid.training import open_run as open_run
    from unbraid.training import train as train

__all__ = ["Run", "evaluate", "open_run", "train"]

_HOMES = {"Run": "training", "evaluate": "metrics", "open_run": "training", "train": "training"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"unbraid.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'unbraid' has no attribute {name!r}")
