"""The in-domain generalisation benchmark (Schott et al., 2022): models x splits x seeds as a study, and its tables.

Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.lazy import lazily

if TYPE_CHECKING:
    from unbraid.study.generalization.augmentation import augmentation_effects as augmentation_effects
    from unbraid.study.generalization.beside import beside_published as beside_published
    from unbraid.study.generalization.beside import imitates as imitates
    from unbraid.study.generalization.disentanglement import (
        disentanglement_correlations as disentanglement_correlations,
    )
    from unbraid.study.generalization.findings import Finding as Finding
    from unbraid.study.generalization.findings import judge_findings as judge_findings
    from unbraid.study.generalization.models import KINDS as KINDS
    from unbraid.study.generalization.models import LIKE as LIKE
    from unbraid.study.generalization.models import STANDS_FOR as STANDS_FOR
    from unbraid.study.generalization.models import Model as Model
    from unbraid.study.generalization.models import model_of as model_of
    from unbraid.study.generalization.models import models_of as models_of
    from unbraid.study.generalization.names import TABLES as TABLES
    from unbraid.study.generalization.own import benchmark as benchmark
    from unbraid.study.generalization.presets import BENCHMARKS as BENCHMARKS
    from unbraid.study.generalization.presets import left_out as left_out
    from unbraid.study.generalization.presets import read_benchmark as read_benchmark
    from unbraid.study.generalization.results import Benchmark as Benchmark
    from unbraid.study.generalization.results import read_tables as read_tables
    from unbraid.study.generalization.selection import unmeasured as unmeasured
    from unbraid.study.generalization.statements import judge_statements as judge_statements
    from unbraid.study.generalization.tables import BINS as BINS
    from unbraid.study.generalization.tables import collect as collect
    from unbraid.study.generalization.tables import tabulate as tabulate
    from unbraid.study.generalization.trained import Trained as Trained
    from unbraid.study.generalization.trained import plain_data as plain_data
    from unbraid.study.generalization.trained import split_kind as split_kind
    from unbraid.study.generalization.trained import trained_runs as trained_runs

_HOMES = {
    "BENCHMARKS": "presets",
    "BINS": "tables",
    "Benchmark": "results",
    "Finding": "findings",
    "KINDS": "models",
    "LIKE": "models",
    "Model": "models",
    "STANDS_FOR": "models",
    "TABLES": "names",
    "Trained": "trained",
    "augmentation_effects": "augmentation",
    "benchmark": "own",
    "beside_published": "beside",
    "collect": "tables",
    "disentanglement_correlations": "disentanglement",
    "imitates": "beside",
    "judge_findings": "findings",
    "judge_statements": "statements",
    "left_out": "presets",
    "model_of": "models",
    "models_of": "models",
    "plain_data": "trained",
    "read_benchmark": "presets",
    "read_tables": "results",
    "split_kind": "trained",
    "tabulate": "tables",
    "trained_runs": "trained",
    "unmeasured": "selection",
}

__all__ = sorted(_HOMES)

__getattr__ = lazily(__name__, _HOMES)
