"""unbraid evaluate RUN..."""

from __future__ import annotations

import hashlib
import json as json_module
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from tyro.conf import Positional, arg

from unbraid.cli.early import check_data, check_folder
from unbraid.cli.score_tables import print_head, print_kept, print_metrics, print_rows, print_scores, print_summary
from unbraid.errors import UsageError
from unbraid.progress import Progress, ProgressKind

if TYPE_CHECKING:
    from unbraid.data import ImageDataset
    from unbraid.evaluation import Measure, Measured
    from unbraid.metrics import Score
    from unbraid.training import Run

__all__ = ["evaluate_command"]

USUAL = ("summary", "disentanglement", "accuracy", "r2")
"""What is measured unless told otherwise, where it applies."""
MATRICES = {"information (nats)": ("mig", "information"), "importance (boosted trees)": ("dci", "importance")}
"""Title, score and part of the matrices that are drawn."""
_GIVE_FACTORS = "put an array 'factors' [n, K] beside the images of an npz file, or name other data by --data."


def evaluate_command(
    runs: Positional[tuple[Path, ...]] = (),
    *,
    measures: Annotated[str | None, arg(metavar="NAME,NAME:KEY=VALUE")] = None,
    corruptions: Annotated[tuple[str, ...] | None, arg(metavar="[SUITE|NAME ...]")] = None,
    severities: Annotated[tuple[int, ...], arg(metavar="INT ...")] = (),
    codes: Annotated[Path | None, arg(metavar="PATH")] = None,
    metrics: str = "all",
    representation: Literal["mean", "sampled"] = "mean",
    preset: Literal["fast", "study", "full"] = "study",
    train: Annotated[int | None, arg(metavar="INT")] = None,
    test: Annotated[int | None, arg(metavar="INT")] = None,
    points: Annotated[int | None, arg(metavar="INT")] = None,
    data: Annotated[str | None, arg(metavar="STR")] = None,
    seed: int = 0,
    again: bool = False,
    json: bool = False,
) -> None:
    """Measure runs: reconstruction, KL and active latents, and every disentanglement score its data allows.

    Without factors these are the scores of the codes alone. Models that predict are judged by their predictions.

    Answers are kept in the run's scores/ and read again as long as settings, data and weights are the same. Writes
    factors.png (which code knows which factor) into each run folder, and scores.json, in which earlier answers stay as
    long as weights, data and seed are the same.

    Args:
        runs: Folders of runs.
        measures: Ask these instead, with settings (unbraid list measures has them all); udr compares those of the runs
            that differ in the seed alone.
        corruptions: Ask which factor breaks under which corruption: suites (imagenet-c unless given; mnist-c) or names
            (unbraid list corruptions), several in a row joined by then ("fog:severity=3 then contrast:severity=2").
        severities: Severities of corruptions that do not say theirs (1 3 5 unless given).
        codes: Score codes from anywhere instead: an npz file with codes [n, d] and, for most scores, factors [n, K].
        metrics: all (the usual ones), none, or names separated by commas, also beside all: all,med,unified
            (unbraid evaluate --metrics help lists them).
        representation: The mean code, or one drawn from the posterior.
        preset: How much is drawn: fast (2,000 and 1,000 points, 500 and 250 groups of 32 images, for a quick look),
            study (10,000 and 5,000 points and groups, of 64 images, as Locatello et al., 2019), full (the study's, and
            100,000 points for the scores that count). Numbers below win over it.
        train: Points that estimators are fitted on.
        test: Points that they are judged on.
        points: Training groups of the interventional scores, and half as many again to test (otherwise those of the
            preset; as many as train and test is the study's setting, which encodes nearly the whole data set).
        data: Data set to measure on (otherwise the one it was trained on).
        seed: Decides which points are drawn.
        again: Compute anew what was computed before.
        json: Print what scores.json has then, as JSON.
    """
    if metrics == "help":
        print_metrics()
        return
    names = metrics if metrics in ("all", "none") else [name.strip() for name in metrics.split(",")]
    if codes is not None:
        if runs:
            raise UsageError("give runs or --codes, not both")
        _score_file(codes, names, seed, json)
        return
    if not runs:
        raise UsageError("give at least one run folder, or --codes FILE.npz")
    for path in runs:
        check_folder(path, "run")
    check_data(data)
    spoiled, usual = _corruptions(corruptions, severities), measures is None and corruptions is None
    numbers = {"preset": preset, "train": train, "test": test, "points": points}
    asked = [] if measures is None and spoiled else _asked(measures, names, representation, numbers)
    asked += spoiled
    results = [_evaluate_run(path, asked, usual, names, representation, data, seed, again, json) for path in runs]
    _compare(runs, asked, data, seed, results, json)
    if json:
        print(json_module.dumps(results if len(results) > 1 else results[0], allow_nan=False))


def _asked(measures: str | None, names: Any, representation: str, numbers: Mapping[str, Any]) -> list[Measure]:
    """The measures to ask; the command's own options are settings of ``disentanglement``."""
    from unbraid import evaluation
    from unbraid.options import Named

    if measures is None:
        named = [Named(name) for name in USUAL if name in evaluation.names()]
    else:
        named = evaluation.read_measures(measures)
    metrics = ["all"] if names == "all" else [] if names == "none" else names
    own = {"metrics": metrics, "representations": [representation], **numbers}
    chosen = []
    for entry in named:
        ours = evaluation.get(entry.name) is evaluation.Disentanglement
        if not (ours and measures is None and names == "none"):
            chosen.append(evaluation.make(entry.name, {**(own if ours else {}), **entry.options}))
    return chosen


def _corruptions(names: tuple[str, ...] | None, severities: tuple[int, ...]) -> list[Measure]:
    """The measure that ``--corruptions`` asks for; names may also be separated by commas."""
    from unbraid.evaluation import FactorsUnderCorruption

    if names is None:
        if severities:
            raise UsageError("--severities are those of --corruptions; give both")
        return []
    chosen = tuple(word for name in names for part in name.split(",") if (word := part.strip()))
    usual = FactorsUnderCorruption()
    return [replace(usual, corruptions=chosen or usual.corruptions, severities=severities or usual.severities)]


def _evaluate_run(
    path: Path,
    asked: Sequence[Measure],
    usual: bool,
    names: Any,
    representation: Literal["mean", "sampled"],
    data: str | None,
    seed: int,
    again: bool,
    quiet: bool,
) -> dict[str, Any]:
    from unbraid.evaluation import Disentanglement, Summary, measure, representations_of
    from unbraid.files import write_json
    from unbraid.metrics import METRICS, allowed_metrics, impossible_metrics
    from unbraid.sharing import last_name
    from unbraid.training import open_run

    run = open_run(path)
    dataset = run.data(data)
    impossible: dict[str, str] = {}
    scored = next((one.representations for one in asked if isinstance(one, Disentanglement)), ())
    if scored and representations_of(run):
        kinds = [kind for kind in scored if kind in representations_of(run)]
        if not kinds:
            raise UsageError(f"{path}: {run.objective.name} has no {scored[0]} codes; give --representation mean")
        representation = cast(Any, representation if representation in kinds else kinds[0])
        impossible = {} if names == "none" else impossible_metrics(names, dataset)
        if names not in ("all", "none") and "all" not in names:
            left = [name for name in names if METRICS[name].name not in impossible]
            allowed_metrics(left or names, dataset, representation, by_name=True)
    with _status(quiet) as clock:
        answers = measure(run, dataset, asked, seed=seed, again=again, progress=clock)
    if asked and not answers:
        needs = "; ".join(f"{one.name} needs {one.lacks(run, dataset)}" for one in asked)
        raise UsageError(f"nothing can be measured of {path} on {dataset.name}: {needs}. Its scores stay as they are")
    for one in asked:
        if one.name not in answers and (not usual or (one.name == "disentanglement" and not run.can("predict"))):
            needs = one.lacks(run, dataset)
            print(f"{one.name} does not apply to {path} on {dataset.name}: it needs {needs}", file=sys.stderr)
    found = answers.get("summary")
    summary = None if found is None else Summary.from_scores(found.scores(), found.measure.images)  # type: ignore[attr-defined]
    rows = answers["disentanglement"].rows if "disentanglement" in answers else ()
    coded = {str(under["representation"]): cast("dict[str, Score]", found) for under, found in rows}
    scores = coded.get(representation, {})
    others = {name: one for name, one in answers.items() if name not in ("summary", "disentanglement") and one.rows}
    stored = dict(others)
    if rest := tuple(row for row in rows if row[0]["representation"] != representation):
        stored["disentanglement"] = replace(answers["disentanglement"], rows=rest)
    # What is written is for sharing, so it does not say where runs and data lay.
    result = _with_earlier(
        path,
        {
            "run": path.resolve().name,
            "step": run.info["step"],
            "representation": representation,
            "data": last_name(dataset.name),
            "seed": seed,
            "fingerprint": _fingerprint(run, dataset),
            "summary": None if summary is None else summary.to_json(),
            "scores": {name: score.to_json() for name, score in scores.items()},
            "measures": {name: _as_json(answer) for name, answer in stored.items()},
        },
    )
    write_json(path / "scores.json", result)
    if not quiet:
        print_head(run, dataset)
        if summary is not None:
            print_summary(summary)
        for kind, of_kind in coded.items():
            kind_heading = f"{kind} codes" if len(coded) > 1 else None
            on = dataset.factor_names, dataset.factor_sizes
            print_scores(of_kind, clock.seconds, kind_heading, impossible, *on)
        for answer in others.values():
            (print_kept if answer.measure.name == "factors-under-corruption" else print_rows)(answer)
        if names == "all" and "disentanglement" in answers:
            _tell_what_needs_factors(dataset, scores)
        print(f"wrote {path / 'scores.json'}")
    _draw_matrices(path, dataset, scores, None if summary is None else summary.kl_per_latent, quiet)
    return result


def _fingerprint(run: Run, dataset: ImageDataset) -> str:
    """Of weights and data: parts of a data set go by the same name."""
    from unbraid.evaluation import describe_run, fingerprint_data

    text = json_module.dumps([describe_run(run), fingerprint_data(dataset)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_earlier(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result with what scores.json has of the same weights, data and seed and was not asked this time."""
    from unbraid.reading import read_json

    file = path / "scores.json"
    try:
        form = {"scores?": dict | None, "measures?": dict | None, "summary?": dict | None, "representation?": str}
        earlier = read_json(file, form) if file.exists() else {}
    except UsageError as error:
        print(f"{error}. It is written anew", file=sys.stderr)
        return result
    if any(earlier.get(key) != result[key] for key in ("fingerprint", "seed")):
        return result
    known = earlier.get("scores") or {}
    if not result["scores"]:
        result = {**result, "representation": earlier.get("representation", result["representation"])}
    elif earlier.get("representation") != result["representation"]:
        known = {}
    return {
        **result,
        "summary": result["summary"] or earlier.get("summary"),
        "scores": {**known, **result["scores"]},
        "measures": {**(earlier.get("measures") or {}), **result["measures"]},
    }


def _compare(
    paths: Sequence[Path], asked: Sequence[Measure], data: str | None, seed: int, results: list[Any], quiet: bool
) -> None:
    """Ask the group measures of those runs that differ in the seed alone."""
    from unbraid.evaluation import GroupMeasure, group_runs, measure_group
    from unbraid.files import write_json
    from unbraid.training import open_run

    compared = [one for one in asked if isinstance(one, GroupMeasure)]
    if not compared:
        return
    runs = [open_run(path) for path in paths]
    for group in group_runs(runs):
        members = [runs[position] for position in group]
        dataset = members[0].data(data)
        for one in compared:
            if not all(one.applies(run, dataset) for run in members):
                continue
            if len(group) < 2:
                path = paths[group[0]]
                print(f"{one.name} says nothing of {path}: none of the runs differs in the seed alone", file=sys.stderr)
                continue
            for position, answer in zip(group, measure_group(members, dataset, one, seed=seed), strict=True):
                results[position]["measures"][one.name] = _as_json(answer)
                write_json(paths[position] / "scores.json", results[position])
                if not quiet:
                    print_head(runs[position], dataset)
                    print_rows(answer)


def _as_json(answer: Measured) -> dict[str, Any]:
    from unbraid.evaluation import rows_to_json, settings_of

    return {"settings": settings_of(answer.measure), "rows": rows_to_json(answer.rows)}


def _tell_what_needs_factors(dataset: ImageDataset, scores: Mapping[str, Score]) -> None:
    from unbraid.metrics import has_no_factors, scored_by

    name = dataset.name
    if scored_by(dataset) == "class":
        print(f"Scores compare codes with the one factor that {name} knows: the class of each image.")
    if has_no_factors(dataset):
        others = "The other scores" if scores else "Scores"
        print(f"{others} need factors, and {name} has none that vary: {_GIVE_FACTORS}")


def _draw_matrices(
    path: Path, dataset: ImageDataset, scores: Mapping[str, Score], kl_per_latent: Any, quiet: bool
) -> None:
    from unbraid.report import save_matrices

    matrices = {
        title: scores[name].parts[part]
        for title, (name, part) in MATRICES.items()
        if part in getattr(scores.get(name), "parts", {})
    }
    if matrices and (dataset.has_factors or dataset.has_labels):
        # In a part some factors may stand still; scores leave them out and say which ones they kept.
        kept = next(iter(scores.values())).settings.get("factors", dataset.factor_names or ("class",))
        save_matrices(matrices, kept, path / "factors.png", kl_per_latent)
        if not quiet:
            print(f"wrote {path / 'factors.png'}")


class _Clock:
    """Notes how long lay between one message and the next, and passes them on."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._tell, self._last, self._since = tell, "", time.perf_counter()

    def __call__(self, text: str) -> None:
        now = time.perf_counter()
        self.seconds[self._last] = now - self._since
        self._last, self._since = text, now
        if self._tell is not None:
            self._tell(text)


@contextmanager
def _status(quiet: bool) -> Iterator[_Clock]:
    """Say what is being computed: one changing line on a terminal, elsewhere a line now and then if it takes long."""
    kind: ProgressKind = "none" if quiet else "auto"
    with Progress("evaluating", kind=kind, brief=True) as progress:
        clock = _Clock(lambda text: progress.update(note=text))
        yield clock
        clock("")


def _score_file(path: Path, names: Any, seed: int, json: bool) -> None:
    from unbraid.data.files import array_names, read_array
    from unbraid.metrics import score_codes

    codes = read_array(path, "codes")
    factors = read_array(path, "factors") if "factors" in array_names(path) else None
    clock = _Clock()
    scores = score_codes(codes, factors, metrics=names, seed=seed, progress=clock)
    clock("")
    if json:
        print(json_module.dumps({name: score.to_json() for name, score in scores.items()}, allow_nan=False))
        return
    print_scores(scores, clock.seconds, not_possible=scores.not_possible)
    if names == "all" and factors is None:
        print(f"The other scores need factors: put an array 'factors' [n, K] into {path}.")
