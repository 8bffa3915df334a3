"""unbraid invariance metamers | interpolate | planes | nuisance | theorem | report | toy"""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from unbraid.cli.early import check_data, check_folder
from unbraid.cli.generalize_tables import print_table
from unbraid.cli.robustness import Runs, check_runs, command_line, each_answer, open_runs, plain, run_names
from unbraid.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.data import Dataset
    from unbraid.training import Run

__all__ = [
    "invariance_interpolate",
    "invariance_metamers",
    "invariance_nuisance",
    "invariance_planes",
    "invariance_report",
    "invariance_theorem",
    "invariance_toy",
]

RunFolder = Positional[Annotated[Path, arg(metavar="RUN")]]
Name = Annotated[str | None, arg(metavar="NAME")]
Oracle = Annotated[Path | None, arg(metavar="RUN")]


def invariance_metamers(
    run: RunFolder,
    *,
    data: Name = None,
    images: int = 256,
    oracle: Oracle = None,
    shown: int = 12,
    seed: int = 0,
    out: Path = Path("invariance/metamers.png"),
    json: bool = False,
) -> None:
    """Inputs with the very logits of one image and all else from another, of another class; a table and a picture.

    Start: `unbraid train firevnet --data mnist --out runs/bijective`.

    Args:
        run: A run of firevnet or ice.
        data: Another data set than it was trained on, such as mnist:split=test.
        images: So many images, drawn at random.
        oracle: A run that names classes and stands in for the truth; spheres have their own.
        shown: Columns of the picture; vectors have none.
        seed: Which images, and whose nuisance each gets.
        out: The picture.
        json: Print the result as JSON.
    """
    opened, dataset, x, labels = _inputs(run, data, images, seed)
    from unbraid import invariance

    found = invariance.metamers(opened, x, labels=labels, seed=seed)
    assert found.donors is not None
    result: dict[str, Any] = {"images": len(x), "residual": float(found.residual.max())}
    judge = _oracle(opened, dataset, oracle)
    if judge is not None:
        result |= asdict(invariance.metamer_report(found, x, judge, proxy=oracle is not None))
    if len(dataset.shape) == 3:
        from unbraid.report import metamer_sheet

        few = slice(0, shown)
        rows = (x[few], found.x[few], x[found.donors[few]])
        sources, made, donors = (invariance.to_pictures(opened, row) for row in rows)
        metamer_sheet(sources, made, donors, out)
        result["picture"] = str(out)
    _show(result, json)


def invariance_interpolate(
    run: RunFolder,
    *,
    data: Name = None,
    images: int = 8,
    steps: int = 9,
    seed: int = 0,
    out: Path = Path("invariance/interpolation.png"),
) -> None:
    """The way from images to their metamers at constant logits, as columns of a picture.

    Args:
        run: A run of firevnet or ice on images.
        data: Another data set than it was trained on.
        images: Columns.
        steps: Images in each, from the image itself to its metamer.
        seed: Which images, and whose nuisance each gets.
        out: The picture.
    """
    opened, dataset, x, labels = _inputs(run, data, max(images, 2), seed)
    dataset.need_pictures("interpolation")
    import numpy as np

    from unbraid import invariance
    from unbraid.report import interpolation_sheet

    donors = invariance.metamers(opened, x, labels=labels, seed=seed).donors
    path = invariance.interpolate(opened, x, x[donors], steps=steps)
    pictures = np.stack([invariance.to_pictures(opened, points) for points in path.x])
    interpolation_sheet(pictures, invariance.to_pictures(opened, x[donors]), path.t.tolist(), out)
    print(f"logits differ by at most {float(path.residual.max()):.2g} along the way; wrote {out}")


def invariance_planes(
    run: RunFolder, *, data: Name = None, seed: int = 0, out: Path = Path("invariance/planes.png"), json: bool = False
) -> None:
    """Decisions on spheres in a plane of two random points, and in that of a point and its metamer on the other sphere.

    Args:
        run: A run of firevnet or ice on spheres.
        data: Other spheres than it was trained on, such as spheres:seed=1.
        seed: Which points.
        out: The picture.
        json: Print the result as JSON.
    """
    opened, dataset = _opened(run, data)
    from unbraid.invariance import sphere_planes, unlike_published
    from unbraid.report import draw_decisions

    planes = sphere_planes(opened, dataset, seed=seed)
    draw_decisions(list(planes.values()), list(planes), out)
    stats = {title: {name: asdict(each) for name, each in plane.stats.items()} for title, plane in planes.items()}
    note = unlike_published(planes)
    _show({"picture": str(out), **stats, **({"note": note} if note else {})}, json)


def invariance_nuisance(
    run: RunFolder,
    *,
    data: Name = None,
    test: Name = None,
    images: int = 10_000,
    width: int = 512,
    depth: int = 3,
    steps: int = 2000,
    seed: int = 0,
    json: bool = False,
) -> None:
    """What a new classifier reads off the outputs that the run ignores: errors, and a bound of information in nats.

    Args:
        run: A run of firevnet or ice.
        data: Another data set than it was trained on.
        test: The data set it is judged on, such as mnist:split=test (otherwise half of the images drawn).
        images: At most so many images of each.
        width: Units of each hidden layer of the classifier.
        depth: Its hidden layers.
        steps: Its updates, with batches of 128.
        seed: Which images, and the classifier's weights.
        json: Print the result as JSON.
    """
    check_data(test)
    opened, _, x, labels = _inputs(run, data, images, seed)
    from unbraid import invariance

    other = None if test is None else invariance.draw_inputs(opened, opened.data(test), images, seed)
    parts = invariance.halves(x, labels) if other is None else (x, labels, *other)
    left = invariance.train_nuisance(opened, *parts, width=width, depth=depth, steps=steps, seed=seed)
    names = ("train_error", "test_error", "chance", "information", "entropy")
    _show({name: getattr(left, name) for name in names}, json)


def invariance_theorem(
    run: RunFolder,
    *,
    data: Name = None,
    images: int = 4000,
    oracle: Oracle = None,
    steps: int = 1000,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Theorem 8 under a metameric shift: what the logits know before and after, and which assumption is missing.

    All numbers are estimates by trained classifiers; the oracle says the classes before the shift and after it.

    Args:
        run: A run of firevnet or ice.
        data: Another data set than it was trained on.
        images: So many images, drawn at random.
        oracle: A run that names classes and stands in for the truth; spheres have their own.
        steps: Updates of each classifier that bounds an information.
        seed: Which images, donors and weights.
        json: Print the result as JSON.
    """
    opened, dataset, x, _ = _inputs(run, data, images, seed)
    from unbraid import invariance

    judge = _oracle(opened, dataset, oracle)
    if judge is None:
        raise UsageError(f"who labels metamers of {dataset.name}? Give --oracle RUN, a classifier that stands in")
    before = x, invariance.classes_of(judge, x)  # the same judge before and after, or the shift would be his
    shifted = invariance.metameric_shift(opened, x, judge, seed=seed)
    found = invariance.estimated_theorem8(opened, before, shifted, seed=seed, width=128, depth=2, steps=steps)
    if not json:
        print(found)
        return
    facts = {name: getattr(found, name) for name in ("estimated", "premise", "conclusion", "slack", "missing")}
    print(json_module.dumps({"before": asdict(found.before), "after": asdict(found.after), **facts}))


def invariance_report(
    runs: Runs,
    *,
    data: Name = None,
    train: int = 20_000,
    images: int = 10_000,
    metamers: int = 1000,
    width: int = 512,
    updates: int = 10_000,
    proxy: Oracle = None,
    shown: int = 12,
    steps: int = 7,
    seed: int = 0,
    out: Path = Path("invariance"),
    again: bool = False,
    json: bool = False,
) -> None:
    """A page about what runs ignore: errors with and without logits, information, metamers, the ways to them, planes.

    Numbers are those of `unbraid evaluate RUN --measures invariance` and stored with the runs.

    Start: `unbraid invariance report runs/ce runs/ice --data mnist:split=test`.

    Args:
        runs: Runs of firevnet or ice on the same kind of data.
        data: Another data set than the first was trained on, such as mnist:split=test.
        train: At most so many images of its own data that the nuisance classifier of a run learns from.
        images: At most so many images that it is judged on.
        metamers: So many of them get the nuisance of another class.
        width: Units of each hidden layer of the nuisance classifier.
        updates: Its updates at most.
        proxy: A run that says what metamers show (otherwise a small network is trained for it).
        shown: Metamers that are shown of each run.
        steps: Images on the way to each.
        seed: Which images, donors and weights.
        out: Folder of the page report.html.
        again: Measure anew what is stored.
        json: Print the result as JSON.
    """
    check_runs([*runs, *([] if proxy is None else [proxy])], data)
    if shown < 2 or steps < 2:
        raise UsageError(f"shown and steps must be at least 2, got {shown} and {steps}")
    from unbraid.invariance import Invariance, radii_of, show_metamers, sphere_planes, unlike_published

    oracle = "" if proxy is None else str(proxy)
    asked = Invariance(train=train, images=images, metamers=metamers, width=width, steps=updates, proxy=oracle)
    opened, dataset, notes = open_runs(runs, data)
    answers = each_answer(opened, dataset, asked, seed, again, json)
    from unbraid.report import Looked
    from unbraid.report import invariance_report as page_of
    from unbraid.report.robustness import write_page

    names = run_names(runs)
    found = [
        Looked(
            names[path],
            run.objective.title,
            answers[path].rows[0][1],
            show_metamers(run, dataset, count=shown, steps=steps, seed=seed) if dataset.has_pictures else None,
            {} if radii_of(dataset) is None else sphere_planes(run, dataset, seed=seed),
        )
        for path, run in opened.items()
    ]
    notes += [text for one in found if (text := unlike_published(one.planes))]
    page = write_page(page_of(found, dataset, notes=notes, made_by=command_line("invariance report")), out)
    if json:
        models = {one.name: {name: plain(one[name]) for name in one.scores} for one in found}
        print(json_module.dumps({"report": str(page), "data": dataset.name, "models": models}))
        return
    for one in found:
        print(
            f"{one.name}: {one['logit_test_error']:.2%} wrong by logits, {one['nuisance_test_error']:.2%} by all else "
            f"(chance {one['chance_error']:.0%}); metamers show the class of their logits in "
            f"{one['metamer_as_logits']:.0%}, of their donor in {one['metamer_as_donor']:.0%}"
        )
    print(f"wrote {page}")


def _inputs(path: Path, data: str | None, images: int, seed: int) -> tuple[Run, Dataset, Tensor, Tensor]:
    """The run, its data, and inputs with true classes as its bijection sees them."""
    if images < 2:
        raise UsageError(f"images must be at least 2, one to give and one to take, got {images}")
    run, dataset = _opened(path, data)
    from unbraid.invariance import draw_inputs

    return run, dataset, *draw_inputs(run, dataset, images, seed)


def _opened(path: Path, data: str | None) -> tuple[Run, Dataset]:
    check_folder(path, "run")
    check_data(data)
    from unbraid.invariance import as_bijective
    from unbraid.training import open_run

    run = open_run(path)
    as_bijective(run)
    return run, run.data(data)


def _oracle(run: Run, dataset: Dataset, path: Path | None) -> Any:
    """Who says the true class of inputs: another run on pictures of them, or geometry; ``None`` where nobody does."""
    from unbraid.invariance import radii_of, sphere_oracle, to_pictures

    if path is not None:
        check_folder(path, "run")
        import torch

        from unbraid.training import open_run

        other = open_run(path)
        return lambda x: torch.as_tensor(other.predict(to_pictures(run, x)))
    radii = radii_of(dataset)
    return None if radii is None else sphere_oracle(radii)


def _show(result: dict[str, Any], json: bool) -> None:
    if json:
        numbers = {name: None if value != value else value for name, value in result.items()}
        print(json_module.dumps(numbers))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            print(name)
            for who, stats in value.items():
                print(
                    f"  {who:<10} " + ", ".join(f"{key.replace('_', ' ')} {share:.1%}" for key, share in stats.items())
                )
        else:
            print(f"{name.replace('_', ' '):<12} {value:.4g}" if isinstance(value, float) else f"{name:<12} {value}")


def invariance_toy(
    *,
    out: Path,
    seeds: int = 3,
    steps: int = 3000,
    progress: Literal["auto", "bar", "lines", "none"] = "auto",
    json: bool = False,
) -> None:
    """Cross-entropy and iCE where two of six numbers tell the class; some minutes, the same command again goes on.

    Args:
        out: Folder of the runs, and of toy.csv.
        seeds: So many networks of each kind.
        steps: Updates of each, and of the nuisance classifier that is trained afterwards.
        progress: How progress is shown (on stderr).
        json: Print the result as JSON.
    """
    import polars as pl

    from unbraid.files import make_folders, save_table
    from unbraid.invariance import toy_experiment

    found = [one.row() for one in toy_experiment(out, seeds=seeds, steps=steps, progress=progress)]
    table = pl.DataFrame(found)
    make_folders(out)
    save_table(table, out / "toy.csv")
    if json:
        print(json_module.dumps(found))
        return
    print_table(table)
    print(f"wrote {out / 'toy.csv'}")
