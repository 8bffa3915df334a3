"""The order in which a matrix is shown: biases by what they change, scenarios by how they leave the training domain."""

from __future__ import annotations

from unbraid.transfer import IID, Matrix, get_bias, twin_of

__all__ = ["columns_of", "rows_of"]

_SCENARIOS = {
    "": (IID,),
    "unseen factors": ("composition", "interpolation", "extrapolation", "identity"),
    "corruptions": ("noise", "blur", "weather", "digital", "strokes", "geometry"),
    "smallest change": ("gaussian-distance", "l0", "l2", "linf"),
    "trust, labels": ("distal", "invariance", "metamers", "confidence", "few-labels"),
}
_KINDS = {
    "data": "training data",
    "architecture": "architecture",
    "representation": "representation",
    "inference": "inference",
    "reading": "inference",
    "loss": "loss",
}
_TOGETHER, _OTHERS = "two at once", "others"


def columns_of(found: Matrix) -> list[tuple[str, list[str]]]:
    """Scenarios with at least one cell, by group; what comes from plugins stands last."""
    asked = [one for one in found.scenarios if any(one in row for row in found.effects.values())]
    groups = {title: [one for one in asked if one in members] for title, members in _SCENARIOS.items()}
    grouped = {one for members in groups.values() for one in members}
    groups[_OTHERS] = [one for one in asked if one not in grouped]
    return [(title, members) for title, members in groups.items() if members]


def rows_of(found: Matrix) -> list[tuple[str, list[str]]]:
    """Biases with effects, by what they change; several at once stand last."""
    groups: dict[str, list[str]] = {title: [] for title in (*_KINDS.values(), _OTHERS, _TOGETHER)}
    for bias in found.effects:
        shared = twin_of(bias).split("+")
        parts = [get_bias(name) for name in bias.split("+") if name not in shared]
        groups[_KINDS.get(parts[0].kind, _OTHERS) if len(parts) == 1 else _TOGETHER].append(bias)
    return [(title, members) for title, members in groups.items() if members]
