"""What the columns of tables over runs are called in headings and on axes."""

from unbraid.evaluation.base import get, names
from unbraid.metrics import title_of

__all__ = ["title"]


def title(column: str, *, short: bool = False) -> str:
    """The title of a score, as the metric or measure that gives it says; ``short`` is for a narrow column.

    >>> title("mig"), title("gbt_1000"), title("kl"), title("my_score")
    ('MIG', 'GBT, 1000 labels', 'KL', 'my_score')
    """
    found = title_of(column, short=short)
    if found is not None:
        return found
    return next((get(name).titles[column] for name in names() if column in get(name).titles), column)
