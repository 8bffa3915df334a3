"""The report of a generalisation benchmark: its page, and one model's predictions as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.generalization.markdown import write_markdown as write_markdown
    from unbraid.report.generalization.page import benchmark_page as benchmark_page
    from unbraid.report.generalization.page import write_benchmark as write_benchmark
    from unbraid.report.generalization.picture import draw_panels as draw_panels
    from unbraid.report.generalization.truth_panels import panels_of as panels_of

_HOMES = {
    "benchmark_page": "page",
    "draw_panels": "picture",
    "panels_of": "truth_panels",
    "write_benchmark": "page",
    "write_markdown": "markdown",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
