"""Names that are known before any table is read."""

__all__ = ["TABLES"]

TABLES = (
    *("scores", "factors", "baselines", "modularity", "attribution", "towards", "trust", "parts"),
    "similarity",
)
"""The tables of a benchmark."""
