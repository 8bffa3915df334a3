"""What objectives are called in headings and on axes, and what they minimise in one line."""

from __future__ import annotations

from collections.abc import Mapping

from unbraid.errors import UsageError
from unbraid.objectives.base import find
from unbraid.options import parse_name
from unbraid.registry import summary

__all__ = ["KL", "NLL", "about", "formula", "title"]

NLL = "E[−log p(x|z)]"
KL = "KL(q(z|x) ‖ p(z))"


def title(name: str) -> str:
    """An objective as papers write it; one without a title, or that is not known here, keeps its name.

    >>> title("beta-vae"), title("my-objective")
    ('β-VAE', 'my-objective')
    """
    cls = find(name)
    return name if cls is None else cls.title


def about(name: str) -> str:
    """The first paragraph of its documentation."""
    cls = find(name)
    return "" if cls is None else summary(cls)


def formula(name: str, options: Mapping[str, object]) -> str:
    """What is minimised, with these options put in; empty for an objective that does not say.

    >>> formula("beta-vae", {"beta": 4.0})
    'E[−log p(x|z)] + 4 · KL(q(z|x) ‖ p(z))'
    >>> formula("vae", {"reference_size": 64})
    '64² / (height · width) · E[−log p(x|z)] + KL(q(z|x) ‖ p(z))'
    >>> formula("vae", {"likelihood": "gaussian:scale=0.1"})
    'E[−log p(x|z)] + KL(q(z|x) ‖ p(z)); p(x|z): gaussian, scale 0.1'
    >>> formula("vae", {"penalties": ["hfs:weight=10", "bio:weight=0.5,scale=mean"]})
    'E[−log p(x|z)] + KL(q(z|x) ‖ p(z)); + 10 · factorised support + 0.5 · pixels · non-negativity and energy'
    """
    cls = find(name)
    shown = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in options.items()}
    try:
        line = "" if cls is None else cls.formula.format(**shown)
    except KeyError:  # a record from a version with other options
        return ""
    size = options.get("reference_size")
    line = line.replace(NLL, f"{size}² / (height · width) · {NLL}") if size else line
    if not line:
        return ""
    return line + _penalties(options.get("penalties")) + _likelihood(str(options.get("likelihood", "")))


def _penalties(given: object) -> str:
    """What is added to the loss by a list of penalties; one that is not known here stands as it was written."""
    from unbraid.objectives import penalties

    words = []
    for text in given if isinstance(given, list | tuple) else ():
        try:
            made = penalties.make(str(text))
        except UsageError:  # of a plugin, or a record from a version with other options
            words.append(str(text))
            continue
        words.append(f"{made.weight:g} · {'pixels · ' if made.scale == 'mean' else ''}{made.title}")
    return f"; + {' + '.join(words)}" if words else ""


def _likelihood(text: str) -> str:
    """What a likelihood is other than usual: its options."""
    name, written = parse_name(text)
    return f"; p(x|z): {', '.join([name, *(f'{key} {value}' for key, value in written.items())])}" if written else ""
