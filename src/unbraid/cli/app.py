"""The command ``unbraid``: finds the sub-command, lets tyro read its options, and prints errors for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal, Union

import tyro
from tyro.conf import OmitArgPrefixes, OmitSubcommandPrefixes, Suppress, subcommand

from unbraid import objectives
from unbraid.cli.attack import robustness_attack
from unbraid.cli.claims import claims_judge, claims_list, claims_report, claims_run, claims_show
from unbraid.cli.data import data_get, data_list, data_show
from unbraid.cli.evaluate import evaluate_command
from unbraid.cli.evolve import evolve_run
from unbraid.cli.explore import explore_command
from unbraid.cli.generalize import generalize_report, generalize_run, generalize_show, generalize_table
from unbraid.cli.invariance import (
    invariance_interpolate,
    invariance_metamers,
    invariance_nuisance,
    invariance_planes,
    invariance_report,
    invariance_theorem,
    invariance_toy,
)
from unbraid.cli.listing import (
    list_attacks,
    list_augmentations,
    list_biases,
    list_corruptions,
    list_data,
    list_measures,
    list_metrics,
    list_nets,
    list_objectives,
    list_penalties,
    list_scenarios,
    list_streams,
    list_trackers,
)
from unbraid.cli.metrics import metrics_lab
from unbraid.cli.recursion import evolve_compare, evolve_status
from unbraid.cli.report import report_command
from unbraid.cli.robustness import robustness_adversarial, robustness_corruptions, robustness_noise
from unbraid.cli.selftest import selftest_command
from unbraid.cli.sparse_theory import (
    theory_collapse,
    theory_dimensionality,
    theory_identifiability,
    theory_rotation,
)
from unbraid.cli.study import study_choose, study_report, study_run, study_status
from unbraid.cli.surroundings import check_text, in_one_line, plain_warnings, tolerant_streams
from unbraid.cli.theory import theory_impossibility
from unbraid.cli.theory_inspect import theory_beta_range, theory_inspect, theory_theorem
from unbraid.cli.theory_perturb import theory_eigen, theory_perturb
from unbraid.cli.theory_planes import theory_planes
from unbraid.cli.theory_study import theory_study
from unbraid.cli.track import track_command
from unbraid.cli.train import train_command
from unbraid.cli.transfer import transfer_card, transfer_combine, transfer_report, transfer_run
from unbraid.cli.transitions import data_transitions
from unbraid.cli.traverse import traverse_command
from unbraid.cli.zoo import zoo_get, zoo_list, zoo_read
from unbraid.errors import UsageError, unknown_name
from unbraid.plugins import import_file

__all__ = ["main"]

Tree = dict[str, "Callable[..., None] | Tree"]

DESCRIPTION = """Representations that come apart into the factors behind the data: learn, measure, look.

Start: unbraid train beta-vae --data sprites32 --beta 4 --steps 2000 --seed 0 --out runs/first

Own objectives, networks, data sets, metrics and measures: --plugin FILE.py with any command.
Completion: unbraid completion bash|zsh|fish. Version: unbraid --version"""

LISTS = ("--augment", "--group", "--option", "--penalties", "--reuse", "--search")
"""Options that take several values, at once or by being given again."""

SHELLS = ("bash", "zsh", "fish")

GROUPS = {
    "train": "Train an objective on a data set into a run folder, or go on with it.",
    "claims": "What was published, held to runs at three scales: list, show, run, judge, report.",
    "data": "Data sets: list, show, get, transitions.",
    "evolve": "Populations that copy their best members, alone or recursively: run, status, compare.",
    "generalize": "Which factors models know outside their training images: run, report, table, show.",
    "invariance": "What bijective classifiers ignore: metamers, interpolate, planes, nuisance, theorem, report, toy.",
    "list": "What there is by name, plugins included: objectives, nets, data, metrics, measures and more.",
    "metrics": "Scores themselves under test: lab.",
    "robustness": "What classifiers bear that training did not show: corruptions, noise, adversarial, attack.",
    "study": "Many runs as one experiment: run, status, report, choose.",
    "transfer": "What biases buy outside the training domain: run, report, card, combine.",
    "zoo": "Trained runs that can be opened by name: list, get; read released ones.",
    "theory": "Theorems one can run: impossibility without a bias, why VAEs align, identifiability by sparse steps.",
}


def commands() -> Tree:
    """All sub-commands."""
    return {
        "train": {name: train_command(objectives.get(name)) for name in objectives.names()},
        "evaluate": evaluate_command,
        "traverse": traverse_command,
        "track": track_command,
        "evolve": {"run": evolve_run, "status": evolve_status, "compare": evolve_compare},
        "explore": explore_command,
        "generalize": {
            "run": generalize_run,
            "report": generalize_report,
            "table": generalize_table,
            "show": generalize_show,
        },
        "invariance": {
            "metamers": invariance_metamers,
            "interpolate": invariance_interpolate,
            "planes": invariance_planes,
            "nuisance": invariance_nuisance,
            "theorem": invariance_theorem,
            "report": invariance_report,
            "toy": invariance_toy,
        },
        "metrics": {"lab": metrics_lab},
        "report": report_command,
        "claims": {
            "list": claims_list,
            "show": claims_show,
            "run": claims_run,
            "judge": claims_judge,
            "report": claims_report,
        },
        "robustness": {
            "corruptions": robustness_corruptions,
            "noise": robustness_noise,
            "adversarial": robustness_adversarial,
            "attack": robustness_attack,
        },
        "selftest": selftest_command,
        "data": {"list": data_list, "show": data_show, "get": data_get, "transitions": data_transitions},
        "list": {
            "objectives": list_objectives,
            "nets": list_nets,
            "data": list_data,
            "metrics": list_metrics,
            "measures": list_measures,
            "augmentations": list_augmentations,
            "penalties": list_penalties,
            "corruptions": list_corruptions,
            "attacks": list_attacks,
            "streams": list_streams,
            "scenarios": list_scenarios,
            "biases": list_biases,
            "trackers": list_trackers,
        },
        "study": {"run": study_run, "status": study_status, "report": study_report, "choose": study_choose},
        "theory": {
            "impossibility": theory_impossibility,
            "inspect": theory_inspect,
            "beta-range": theory_beta_range,
            "theorem": theory_theorem,
            "eigen": theory_eigen,
            "perturb": theory_perturb,
            "planes": theory_planes,
            "study": theory_study,
            "identifiability": theory_identifiability,
            "collapse": theory_collapse,
            "dimensionality": theory_dimensionality,
            "rotation": theory_rotation,
        },
        "transfer": {
            "run": transfer_run,
            "report": transfer_report,
            "card": transfer_card,
            "combine": transfer_combine,
        },
        "zoo": {"list": zoo_list, "get": zoo_get, "read": zoo_read},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for something the user can mend)."""
    words = list(sys.argv[1:] if argv is None else argv)
    tolerant_streams()
    with plain_warnings():
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        check_text(words)
        words = _gather_lists(_import_plugins(words))
        if words == ["--version"]:
            print("unbraid", version("unbraid"))
            return 0
        if words[:1] == ["completion"]:
            words = ["--tyro-print-completion", _shell(words[1:])]
        tree = commands()
        _check_words(tree, words)
        tyro.cli(
            _parser(tree),
            prog="unbraid",
            description=DESCRIPTION,
            args=words,
            config=(OmitSubcommandPrefixes, OmitArgPrefixes),
        )
    except UsageError as error:
        print(f"unbraid: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("unbraid: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except (OSError, MemoryError, RuntimeError) as error:
        told = in_one_line(error)
        if told is None:
            raise
        print(f"unbraid: {told}", file=sys.stderr)
        return 2
    return 0


def _shell(words: Sequence[str]) -> str:
    shell = words[0] if words else "bash"
    if shell not in SHELLS:
        raise unknown_name("shell", shell, SHELLS)
    return shell


def _parser(tree: Tree) -> Any:
    choices = []
    for name, node in tree.items():
        if isinstance(node, dict):
            choices.append(Annotated[_parser(node), subcommand(name, description=GROUPS[name])])
        else:
            choices.append(Annotated[Any, subcommand(name, constructor=node)])
    if len(choices) == 1:
        # A union of one is no union, and a group of one command would lose its name: a hidden second keeps it.
        choices.append(Annotated[Literal["nothing"], Suppress])
    return Union[tuple(choices)]  # noqa: UP007 (built at run time)


def _check_words(tree: Tree, words: Sequence[str], path: str = "unbraid") -> None:
    """A wrong sub-command gets the nearest right one; everything else is tyro's to judge."""
    if not words or words[0].startswith("-"):
        return
    if words[0] not in tree:
        kind = {"unbraid train": "objective", "unbraid list": "kind"}.get(path, "command")
        raise unknown_name(kind, words[0], tree, f"See `{path} --help`")
    node = tree[words[0]]
    if isinstance(node, dict):
        _check_words(node, words[1:], f"{path} {words[0]}")


def _import_plugins(words: list[str]) -> list[str]:
    """Import the files named by ``--plugin`` (what they register has a name from then on)."""
    rest: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--plugin" or word.startswith("--plugin="):
            if word == "--plugin":
                position += 1
                if position == len(words):
                    raise UsageError("--plugin needs a Python file")
            import_file(words[position].removeprefix("--plugin="))
        else:
            rest.append(word)
        position += 1
    return rest


def _gather_lists(words: list[str]) -> list[str]:
    """Put all values of a list together, at the end: of one that is given again the parser would keep the last only.

    >>> _gather_lists(["--augment", "a", "b", "--seed", "1", "--augment=c"])
    ['--seed', '1', '--augment', 'a', 'b', 'c']
    """
    rest: list[str] = []
    lists: dict[str, list[str]] = {}
    values = rest
    for word in words:
        name, equals, value = word.partition("=")
        if name in LISTS:
            values = lists.setdefault(name, [])
            values += [value] * bool(equals)
        elif word.startswith("-"):
            values = rest
            rest.append(word)
        else:
            values.append(word)
    return rest + [word for name, found in lists.items() for word in (name, *found)]
