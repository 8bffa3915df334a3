"""The page of a matrix, and its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.transfer.cards import card_page as card_page
    from unbraid.report.transfer.page import matrix_page as matrix_page
    from unbraid.report.transfer.page import write_matrices as write_matrices
    from unbraid.report.transfer.picture import draw_matrix as draw_matrix

_HOMES = {"card_page": "cards", "draw_matrix": "picture", "matrix_page": "page", "write_matrices": "page"}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
