"""unbraid list KIND: everything that goes by a name, those of plugins included."""

from __future__ import annotations

import json as json_module

from unbraid.registry import summary

__all__ = [
    "list_attacks",
    "list_augmentations",
    "list_biases",
    "list_corruptions",
    "list_data",
    "list_measures",
    "list_metrics",
    "list_nets",
    "list_objectives",
    "list_penalties",
    "list_scenarios",
    "list_streams",
    "list_trackers",
]


def list_objectives(json: bool = False) -> None:
    """List what models can be trained by: `unbraid train NAME`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import objectives

    _show([_row(name, title=objectives.title(name), about=objectives.about(name)) for name in objectives.names()], json)


def list_nets(json: bool = False) -> None:
    """List the networks, for `unbraid train OBJECTIVE --net NAME`: encoders with decoders, predictors, bijections.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import nets
    from unbraid.nets import bijections, predictors

    pairs = [_row(name, kind="encoder and decoder", about=summary(nets.get(name))) for name in nets.names()]
    others = [_row(name, kind="predictor", about=summary(predictors.get(name))) for name in predictors.names()]
    whole = [_row(name, kind="bijection", about=summary(bijections.get(name))) for name in bijections.names()]
    _show(pairs + others + whole, json)


def list_data(json: bool = False) -> None:
    """List the data sets; `unbraid data list` says more of each.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import data

    entries = [data.entry(name) for name in data.names()]
    _show([_row(entry.name, size=entry.size, title=entry.card.title) for entry in entries], json)


def list_metrics(json: bool = False) -> None:
    """List the scores of codes: `unbraid evaluate RUN --metrics NAME,NAME`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.metrics import METRICS

    _show([_row(entry.name, title=entry.title, about=entry.about) for entry in METRICS.values()], json)


def list_measures(json: bool = False) -> None:
    """List what can be asked of a finished run: `unbraid evaluate RUN --measures NAME`, and in study files.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import evaluation

    found = {name: evaluation.get(name) for name in evaluation.names()}
    _show([_row(name, title=cls.title, about=summary(cls)) for name, cls in found.items()], json)


def list_augmentations(json: bool = False) -> None:
    """List what can be done to training batches: `unbraid train OBJECTIVE --augment NAME:option=value`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.objectives import augment

    found = {name: augment.get(name) for name in augment.names()}
    _show([_row(name, about=summary(cls)) for name, cls in found.items()], json)


def list_penalties(json: bool = False) -> None:
    """List what can be added to a loss: `unbraid train OBJECTIVE --penalties NAME:weight=value`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.objectives import penalties

    found = {name: penalties.get(name) for name in penalties.names()}
    _show([_row(name, about=summary(cls)) for name, cls in found.items()], json)


def list_corruptions(json: bool = False) -> None:
    """List what images can be spoiled by: `unbraid data show NAME --corruptions` shows all of them.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.corruptions import SUITES

    found = [corruption for suite in SUITES.values() for corruption in suite.values()]
    _show(
        [
            _row(each.full_name, category=each.category, severities=str(len(each.severities)), about=each.about)
            for each in found
        ],
        json,
    )


def list_attacks(json: bool = False) -> None:
    """List the attacks on classifiers, for `unbraid.robustness.attacks.get(NAME)(model, images, labels)`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.robustness import attacks

    found = {name: attacks.get(name) for name in attacks.names()}
    _show([_row(name, norms=", ".join(a.norms), needs=a.needs, about=a.about) for name, a in found.items()], json)


def list_scenarios(json: bool = False) -> None:
    """List the ways of leaving the training domain: `unbraid transfer card RUN --scenarios NAME,NAME`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import transfer

    found = {name: transfer.get_scenario(name) for name in transfer.scenarios()}
    _show(
        [_row(name, unit=cls.unit, needs=", ".join(cls.wants), about=summary(cls)) for name, cls in found.items()], json
    )


def list_biases(json: bool = False) -> None:
    """List the biases, for `unbraid transfer run PRESET --biases NAME,NAME`; a + joins several.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import transfer

    found = [transfer.get_bias(name) for name in transfer.biases()]
    _show([_row(one.name, kind=one.kind, own=", ".join(one.own), about=one.about) for one in found], json)


def list_trackers(json: bool = False) -> None:
    """List the experiment trackers, for `unbraid train ... --track NAME` and `unbraid track RUN --to NAME`.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid.training import tracking

    _show([_row(name, about=tracking.about(name)) for name in tracking.names()], json)


def list_streams(json: bool = False) -> None:
    """List the kinds of batches that an objective can ask for.

    Args:
        json: Print one JSON array instead of a table.
    """
    from unbraid import data

    _show([_row(name, about=summary(data.get_stream(name))) for name in data.stream_names()], json)


def _row(name: str, **columns: str) -> dict[str, str]:
    return {"name": name} | {key: text.replace("``", "") for key, text in columns.items()}


def _show(rows: list[dict[str, str]], json: bool) -> None:
    if json or not rows:
        print(json_module.dumps(rows, indent=2, ensure_ascii=False) if json else "none yet")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    *narrow, last = rows[0]
    for key in narrow:
        table.add_column(no_wrap=True, style="bold" if key == "name" else "")
    table.add_column(last, overflow="fold")
    for row in rows:
        table.add_row(*("" if key == "title" and text == row["name"] else text for key, text in row.items()))
    console = Console(highlight=False, markup=False)
    (console if console.is_terminal else Console(highlight=False, markup=False, width=160)).print(table)
