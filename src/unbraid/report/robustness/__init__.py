"""Pages about how classifiers bear corruptions, noise and adversaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.report.robustness.attacked import Attacked as Attacked
    from unbraid.report.robustness.attacked import attack_page as attack_page
    from unbraid.report.robustness.pages import adversarial_page as adversarial_page
    from unbraid.report.robustness.pages import corruption_page as corruption_page
    from unbraid.report.robustness.pages import noise_page as noise_page
    from unbraid.report.robustness.pages import write_page as write_page

_HOMES = {
    "Attacked": "attacked",
    "adversarial_page": "pages",
    "attack_page": "attacked",
    "corruption_page": "pages",
    "noise_page": "pages",
    "write_page": "pages",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
