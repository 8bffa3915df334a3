"""unbraid robustness corruptions | noise | adversarial"""

from __future__ import annotations

import json as json_module
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from unbraid.cli.early import check_data, check_folder
from unbraid.cli.robustness_tables import print_adversarial, print_corruptions, print_noise
from unbraid.errors import UsageError
from unbraid.progress import Progress

if TYPE_CHECKING:
    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = [
    "Runs",
    "check_runs",
    "command_line",
    "each_answer",
    "open_runs",
    "plain",
    "robustness_adversarial",
    "robustness_corruptions",
    "robustness_noise",
    "run_names",
    "status",
    "tell",
    "words",
]

Runs = Positional[Annotated[tuple[Path, ...], arg(metavar="RUN")]]


def robustness_corruptions(
    runs: Runs,
    *,
    suite: str = "mnist-c",
    severities: Annotated[str | None, arg(metavar="1,3,5")] = None,
    images: int = 1000,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    reference: Annotated[Path | None, arg(metavar="RUN")] = None,
    factor: str = "",
    seed: int = 0,
    out: Path = Path("robustness/corruptions"),
    again: bool = False,
    json: bool = False,
) -> None:
    """How often classifiers are right on corrupted images: a table here, and a page with pictures.

    Every image is corrupted once and shown to all runs. The page has a heat map of models by corruptions, accuracy over
    severity, and the wrong answers that each model was surest of. Answers are stored with the runs: the same command
    again reads them, and one that was stopped goes on where it was. Corruptions that a run was shown in training, by
    its augmentations, are marked.

    Start: `unbraid train classifier --data mnist --out runs/digits`, then
    `unbraid robustness corruptions runs/digits --data mnist:split=test`.

    Args:
        runs: Runs that name classes.
        suite: mnist-c (15 corruptions, one setting each), imagenet-c (15 in five severities), imagenet-c-holdout (4),
            or names such as fog,snow; `unbraid list corruptions` has them all.
        severities: Which severities, 1 is the mildest (otherwise all).
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        reference: A run by whose errors those of the others are divided.
        factor: Factor whose values are the classes (otherwise what the runs were trained for).
        seed: Which images, and what corruptions draw.
        out: Folder of the page report.html.
        again: Measure anew what is stored.
        json: Print the result as JSON.
    """
    folders = [*runs, *([] if reference is None else [reference])]
    check_runs(folders, data)
    from unbraid.robustness import Corruptions

    asked = Corruptions(suite.replace(",", "+"), _numbers(severities), images, factor)
    opened, dataset, notes = open_runs(folders, data)
    from unbraid.evaluation import class_names, measure_together
    from unbraid.report.robustness import corruption_page, write_page
    from unbraid.robustness import table_of

    names = run_names(folders)
    with status(json) as say:
        answers = measure_together(list(opened.values()), dataset, asked, seed=seed, again=again, progress=say)
    found = dict(zip(opened, answers, strict=True))
    tables = [table_of(found[path], opened[path], dataset, names[path]) for path in dict.fromkeys(runs)]
    base = None if reference is None else table_of(found[reference], opened[reference], dataset, names[reference])
    classes = {
        names[path]: class_names(run, dataset, run.predict(dataset.images([0])).shape[1], factor)
        for path, run in opened.items()
    }
    text = corruption_page(
        tables, dataset, classes, reference=base, seed=seed, notes=notes, made_by=command_line("robustness corruptions")
    )
    page = write_page(text, out)
    if not json:
        print_corruptions(tables, base)
        tell(page, notes)
        return
    models = {
        one.model: {
            "clean": one.clean,
            "mean": one.mean(),
            "standard_error": one.mean_error(),
            "top5": one.top5,
            "relative_errors": None if base is None else one.mce(base),
            "corruptions": {name: one.accuracy(name) for name in one.corruptions},
            "trained_on": sorted(one.trained_on),
        }
        for one in tables
    }
    print(json_module.dumps({"report": str(page), "data": dataset.name, "images": tables[0].images, "models": models}))


def robustness_noise(
    runs: Runs,
    *,
    directions: str = "gaussian,uniform",
    images: int = 1000,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    generators: int = 4,
    steps: int = 1000,
    eps: float = 0.0,
    kernel: int = 1,
    seed: int = 0,
    out: Path = Path("robustness/noise"),
    again: bool = False,
    json: bool = False,
) -> None:
    """How much noise it takes to change the decisions of classifiers: a table here, and a page with curves.

    For every image the smallest noise along one random direction that makes the run name another class, as L2 norm
    after clipping; the table has the median. Learned noise is drawn by small generators that are trained against the
    run, which takes minutes. Answers are stored with the runs.

    Args:
        runs: Runs that name classes.
        directions: Kinds of noise: gaussian, uniform, learned.
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        generators: How many generators learned noise is the mean of.
        steps: Batches that each of them is trained on.
        eps: L2 norm of their noise in training; 0 is that of normal noise of standard deviation 0.5. For digits give
            less than their own norm (5 for MNIST): with more, noise erases them.
        kernel: Size of their kernel, 1 or 3.
        seed: Which images, and what is drawn for them.
        out: Folder of the page report.html.
        again: Measure anew what is stored.
        json: Print the result as JSON.
    """
    check_runs(runs, data)
    from unbraid.robustness import NoiseDistances

    asked = NoiseDistances(words(directions), images, generators, steps, eps, kernel)
    opened, dataset, notes = open_runs(runs, data)
    from unbraid.report.robustness import noise_page, write_page

    answers = each_answer(opened, dataset, asked, seed, again, json)
    names = run_names(runs)
    columns = ["model", "noise", "median L2", "from", "to", "wrong without %", "never wrong %"]
    rows: list[list[Any]] = []
    distances: dict[str, dict[str, Any]] = {name: {} for name in asked.directions}
    missed = 0.0
    for path, answer in answers.items():
        for under, scores in answer.rows:
            score, kind = scores["noise_distance"], str(under["direction"])
            if kind == "learned":
                spread = score.parts["sd"]  # of one generator, or of infinite distances, there is none
                sd = float("nan") if spread is None else float(spread)
                low, high = score.value - sd, score.value + sd
                missed = max(missed, float(max(score.parts["unreached"])))
            else:
                low, high = score.parts["interval"]
            shares = [100 * float(scores[name]) for name in ("misclassified", "unmoved")]
            rows.append([names[path], kind, float(score), float(low), float(high), *shares])
            distances[kind][names[path]] = score.parts["distances"]
    fallen = _fallen(opened, dataset, names, distances, images, seed)
    made_by, erased = command_line("robustness noise"), missed > 0.5
    text = noise_page(distances, rows, columns, dataset, fallen=fallen, erased=erased, notes=notes, made_by=made_by)
    page = write_page(text, out)
    if json:
        keys = ["model", "direction", "median", "low", "high", "misclassified_percent", "unmoved_percent"]
        told = [dict(zip(keys, map(plain, row), strict=True)) for row in rows]
        print(json_module.dumps({"report": str(page), "data": dataset.name, "distances": told}, allow_nan=False))
        return
    print_noise(columns, rows)
    tell(page, notes)


def _fallen(
    opened: dict[Path, Run], data: Dataset, names: dict[Path, str], distances: dict[str, Any], images: int, seed: int
) -> dict[str, Any]:
    """Of each run the images that fall first under the first kind of noise that needs no training."""
    from unbraid.evaluation import class_names
    from unbraid.robustness import Examples, first_to_fall

    kind = next((name for name in distances if name != "learned"), None)
    if kind is None:
        return {}
    examples = Examples(data, images, seed)
    pixels, shown = examples.read(slice(None)), {}
    for path, run in opened.items():
        found = first_to_fall(run, pixels, examples.labels(run), distances[kind][names[path]], kind, seed=seed)
        count = run.predict(pixels[:1]).shape[1]
        shown[names[path]] = (found, class_names(run, data, count))
    return shown


def robustness_adversarial(
    runs: Runs,
    *,
    norms: str = "linf,l2",
    eps: str = "0.1,1.5",
    steps: int = 100,
    step_size: float = 0.0,
    gamma: float = 0.05,
    restarts: int = 1,
    images: int = 1000,
    data: Annotated[str | None, arg(metavar="NAME")] = None,
    seed: int = 0,
    out: Path = Path("robustness/adversarial"),
    again: bool = False,
    json: bool = False,
) -> None:
    """How often classifiers stay right when an adversary may move each image a little: a table here, and a page.

    PGD attacks in linf, DDN in l2. The defaults are those of Rusak et al. (2020) for MNIST; for ImageNet they are
    `--eps 0.001,0.125 --steps 200 --gamma 0.02`. Answers are stored with the runs.

    Args:
        runs: Runs that name classes.
        norms: In which distances: linf, l2.
        eps: How far images may be moved in each, in units of the range [0, 1] of pixels.
        steps: Steps of the attacks.
        step_size: Length of a step of PGD; 0 is a tenth of eps.
        gamma: By which share spheres of DDN shrink and grow.
        restarts: How often PGD begins anew.
        images: At most so many images.
        data: Another data set than the first run was trained on, such as mnist:split=test.
        seed: Which images, and where attacks begin.
        out: Folder of the page report.html.
        again: Measure anew what is stored.
        json: Print the result as JSON.
    """
    check_runs(runs, data)
    from unbraid.robustness import Adversarial

    kinds, radii = words(norms), [_float("eps", word) for word in words(eps)]
    if not kinds:
        raise UsageError("--norms must name at least one of linf, l2, got none")
    if len(kinds) != len(radii):
        raise UsageError(f"--eps {eps} must have a number for each of --norms {norms}")
    asked = [
        Adversarial(norm, radius, steps, step_size, gamma, restarts, images)
        for norm, radius in zip(kinds, radii, strict=True)
    ]
    opened, dataset, notes = open_runs(runs, data)
    from unbraid.report.robustness import adversarial_page, write_page

    names = run_names(runs)
    columns = ["model", "norm", "eps", "clean %", "accuracy %", "from", "to", "images"]
    rows: list[list[Any]] = []
    minimal: dict[str, Any] = {}
    for one in asked:
        for path, answer in each_answer(opened, dataset, one, seed, again, json).items():
            ((_, scores),) = answer.rows
            score = scores["adversarial_accuracy"]
            low, high = score.parts["interval"]
            shares = [100 * float(value) for value in (scores["attacked_clean"], score, low, high)]
            rows.append([names[path], one.norm, one.eps, *shares, int(score.settings["images"])])
            if one.norm == "l2":
                minimal[names[path]] = score.parts["distances"]
    text = adversarial_page(
        rows, columns, minimal, dataset, notes=notes, made_by=command_line("robustness adversarial")
    )
    page = write_page(text, out)
    if json:
        keys = ["model", "norm", "eps", "clean_percent", "accuracy_percent", "low", "high", "images"]
        told = [dict(zip(keys, row, strict=True)) for row in rows]
        print(json_module.dumps({"report": str(page), "data": dataset.name, "accuracies": told}))
        return
    print_adversarial(columns, rows)
    tell(page, notes)


def check_runs(folders: Sequence[Path], data: str | None) -> None:
    """What can be answered before torch is imported."""
    if not folders:
        raise UsageError(
            "give at least one run that names classes; `unbraid train classifier --data NAME --out RUN` makes one"
        )
    for folder in folders:
        check_folder(folder, "run")
    check_data(data)


def open_runs(folders: Sequence[Path], data: str | None) -> tuple[dict[Path, Run], Dataset, list[str]]:
    """The runs, the data they are asked about, and what to know of these."""
    from unbraid.training import describe_data, open_run

    opened = {path: open_run(path) for path in dict.fromkeys(folders)}
    dataset = next(iter(opened.values())).data(data)
    shape = list(dataset.shape)
    for path, run in opened.items():
        if run.info["data"]["shape"] != shape:
            raise UsageError(
                f"{path} was trained on images {run.info['data']['shape']}, and {dataset.name} has {shape}"
            )
    print_ = describe_data(dataset)["fingerprint"]
    seen = [path.resolve().name for path, run in opened.items() if run.info["data"]["fingerprint"] == print_]
    notes = [f"These are images that {', '.join(seen)} trained on; --data NAME asks about others."] if seen else []
    return opened, dataset, notes


def each_answer(
    opened: dict[Path, Run], data: Dataset, asked: Any, seed: int, again: bool, quiet: bool
) -> dict[Path, Any]:
    """The answer of each run; those that cannot be asked are refused."""
    from unbraid.evaluation import measure

    answers = {}
    for path, run in opened.items():
        if not asked.applies(run, data):
            raise UsageError(f"{path} cannot be asked on {data.name}: it needs {asked.lacks(run, data)}")
        with status(quiet) as say:
            answers[path] = measure(run, data, [asked], seed=seed, again=again, progress=say)[asked.name]
    return answers


def run_names(folders: Sequence[Path]) -> dict[Path, str]:
    """What runs are called: by their folder, with as many around it as tell it from the others."""
    whole = {path: path.resolve().parts for path in dict.fromkeys(folders)}
    names = {}
    for path, parts in whole.items():
        others = [other for other in whole.values() if other != parts]
        shown = 1
        while shown < len(parts) and any(other[-shown:] == parts[-shown:] for other in others):
            shown += 1
        names[path] = "/".join(parts[-shown:])
    return names


def _numbers(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words(text or ""))
    except ValueError as error:
        raise UsageError(f"--severities {text}: write whole numbers with commas between them, such as 1,3,5") from error


def _float(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise UsageError(f"--{name}: {word!r} is no number") from error


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def plain(value: Any) -> Any:
    """Infinity as a word: JSON has none."""
    if not isinstance(value, float) or abs(value) < float("inf"):
        return value
    return None if value != value else "inf" if value > 0 else "-inf"


def tell(page: Path, notes: Sequence[str]) -> None:
    """Where the page is, and what to know of it."""
    for text in notes:
        print(text, file=sys.stderr)
    print(f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB): open it in a browser")


def command_line(what: str) -> str:
    """The command that was given, or, where a program called its function, one such as ``robustness noise RUN...``."""
    words = sys.argv[1:] if sys.argv[1:2] == what.split()[:1] else [*what.split(), "RUN..."]
    return shlex.join(["unbraid", *words]).replace("'RUN...'", "RUN...")


@contextmanager
def status(quiet: bool) -> Iterator[Callable[[str], None]]:
    with Progress("asking", kind="none" if quiet else "auto", brief=True) as progress:
        yield lambda text: progress.update(note=text)
