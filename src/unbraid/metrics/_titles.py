"""What scores and their parts are called in headings and on axes."""

from unbraid.metrics._registry import METRICS
from unbraid.metrics.downstream import LEARNERS

__all__ = ["title_of"]


def title_of(column: str, *, short: bool = False) -> str | None:
    """The title of a score, of a part of one or of a downstream task, as columns of tables name them; else ``None``.

    >>> title_of("mig"), title_of("dci_completeness"), title_of("gbt_1000"), title_of("beta_vae", short=True)
    ('MIG', 'DCI completeness', 'GBT, 1000 labels', 'BetaVAE')
    """
    entry = METRICS.get(column)
    if entry is not None and entry.name == column:
        return str(entry.short if short else entry.title)
    for entry in METRICS.values():
        part = column.removeprefix(f"{entry.name}_")
        if part != column and part in entry.parts:
            title = entry.parts[part]
            return entry.short if short and title == entry.title else title
    learner, _, labels = column.partition("_")
    if learner in LEARNERS and labels.isdigit():
        return f"{learner.upper()} {labels}" if short else f"{learner.upper()}, {labels} labels"
    if learner in LEARNERS and labels == "efficiency":
        return f"{learner.upper()} efficiency"
    return None
