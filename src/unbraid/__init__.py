"""unbraid: representations that come apart into the factors behind the data.

Learn them (:func:`train`), open them (:func:`open_run`), measure them (:func:`evaluate`). The packages ``data``,
``nets``, ``objectives``, ``metrics`` and ``training`` hold the parts. torch is imported only when something needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.metrics import evaluate as evaluate
    from unbraid.training import Run as Run
    from unbraid.training import open_run as open_run
    from unbraid.training import train as train

__all__ = ["Run", "evaluate", "open_run", "train"]

_HOMES = {"Run": "training", "evaluate": "metrics", "open_run": "training", "train": "training"}

__getattr__ = lazily(__name__, _HOMES)
