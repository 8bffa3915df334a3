"""What every registered objective must do."""

import ast
import dataclasses
import inspect
import itertools
import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

import unbraid
from unbraid import objectives
from unbraid.cli.app import main
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.objectives import VAEObjective
from unbraid.training import Loop, open_run, problem_of

NAMES = [name for name in objectives.names() if objectives.get(name).__module__.startswith("unbraid.")]
SMALL = {
    "net": "mlp:width=32",
    "latents": 3,
    "learning_rate": 1e-3,
    "discriminator_width": 32,
    "discriminator_depth": 2,
    "labels": 50,
    "factor": "x",
    "samples": 20,
    "iterations": 3,
    "edge": (16,),
    "graph": (16,),
}
OWN = {  # bijections are networks of another kind
    name: {"net": "conv:blocks=1,width=8", "nuisance_width": 32, "inner_steps": 2} for name in ("firevnet", "ice")
}
LONGER = {"qlae": 200}
"""Steps until a loss has fallen: at first these codes run away from the values they are rounded to."""
DOCS = Path(__file__).parents[2] / "docs" / "objectives"
STUDY = {
    "beta-vae": ("beta", (1, 2, 4, 6, 8, 16)),
    "annealed-vae": ("c_max", (5, 10, 25, 50, 75, 100)),
    "factor-vae": ("gamma", (10, 20, 30, 40, 50, 100)),
    "dip-vae-i": ("lambda_od", (1, 2, 5, 10, 20, 50)),
    "dip-vae-ii": ("lambda_od", (1, 2, 5, 10, 20, 50)),
    "beta-tcvae": ("beta", (1, 2, 4, 6, 8, 10)),
}


def small(name, **options):
    cls = objectives.get(name)
    known = {field.name for field in dataclasses.fields(cls)}
    return cls(**{key: value for key, value in (SMALL | OWN.get(name, {}) | options).items() if key in known})


def train(name, dots, out, **options):
    return unbraid.train(small(name), dots, out=out, progress="none", log_every=2, batch_size=16, **options)


class Untold:
    """A stream without what is known of all images."""

    def __init__(self, stream):
        self.stream = stream

    def __call__(self, step):
        return dataclasses.replace(self.stream(step), factors=None, labels=None, changed=None)


def first_loss(objective, data, stream):
    model = objective.make_model(problem_of(data), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, stream, 0, torch.device("cpu"), "fp32")
    loop.advance()
    return loop.first_losses


@pytest.mark.parametrize("name", NAMES)
def test_who_says_so_and_nobody_else_sees_labels(name, dots):
    objective, stream = small(name), make_stream(small(name).needs, dots, 16, 0)
    told = first_loss(objective, dots, stream)
    try:
        untold = first_loss(objective, dots, Untold(stream))
    except UsageError:
        untold = None
    by_order = (
        getattr(objective.needs, "name", "") == "by-class"
    )  # images come class by class, and labels need not be given
    assert by_order or (untold != told) == objective.sees_labels
    assert objective.sees_labels or not by_order


def docstrings(cls):
    """The string under each field, as the source has it; a subclass's wins."""
    found = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
        for statement, following in itertools.pairwise(body):
            if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
                found[statement.target.id] = following.value.value
    return found


def test_the_study_is_complete():
    assert {name: objectives.get(name).sweep for name in STUDY} == STUDY
    assert [name for name in NAMES if objectives.get(name).regularisation < 0] == ["annealed-vae"]


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_names_an_option_and_ascends(name):
    cls = objectives.get(name)
    if cls.sweep is None:
        return
    option, values = cls.sweep
    assert list(values) == sorted(values)
    assert [getattr(objectives.make(name, {option: value}), option) for value in values] == list(values)


def outputs(run, images):
    """What the model makes of images, by ability; every one is asked for."""
    found = {}
    if run.can("encode"):
        found["encode"] = run.encode(images)
        assert found["encode"].shape[0] == len(images)
        assert found["encode"].shape[1] == getattr(run.objective, "latents", found["encode"].shape[1])
    if run.can("decode"):
        found["decode"] = run.decode(found["encode"])
        assert found["decode"].shape == images.shape
    if run.can("infer"):
        found["infer"] = run.infer(images)
        assert found["infer"].shape == (len(images), run.objective.latents)
    if run.can("invert"):
        found["invert"] = run.invert(found["encode"])
        assert found["invert"] == pytest.approx(images / 255, abs=1e-3)
    if run.can("predict"):
        found["predict"] = run.predict(images)
        assert len(found["predict"]) == len(images)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_trains_does_what_it_says_and_comes_back_from_its_folder(name, dots, tmp_path):
    run = train(name, dots, tmp_path / "run", steps=3)
    assert run.finished
    images = dots.images(np.arange(5))
    found = outputs(run, images)
    assert set(found) == run.objective.abilities()
    described = run.describe(images)
    assert described
    for values in (*found.values(), *described.values()):
        assert len(values) == 5
        assert np.isfinite(values).all()
    again = open_run(tmp_path / "run")
    assert again.objective == small(name)
    for ability, values in outputs(again, images).items():
        assert (values == found[ability]).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_model_cannot_do_is_refused(name, dots, tmp_path):
    run = train(name, dots, tmp_path / "run", steps=1)
    images = dots.images(np.arange(2))
    calls = {"encode": (run.encode, images), "predict": (run.predict, images)}
    calls["decode"] = (run.decode, np.zeros((2, getattr(run.objective, "latents", 3))))
    for ability, (call, argument) in calls.items():
        if not run.can(ability):
            with pytest.raises(UsageError, match=f"a model trained by '{name}' does not {ability}"):
                call(argument)
    with pytest.raises(UsageError, match="unknown ability 'paint'"):
        run.can("paint")


@pytest.mark.parametrize("name", NAMES)
def test_options_survive_the_run_folder(name, dots, tmp_path):
    option, values = objectives.get(name).sweep or ("learning_rate", (0.02,))
    objective = small(name, **{option: values[-1]})
    unbraid.train(objective, dots, out=tmp_path, steps=1, progress="none", batch_size=16)
    stored = json.loads((tmp_path / "run.json").read_text())["objective"]
    assert objectives.make(stored["name"], stored["options"]) == objective


@pytest.mark.parametrize("name", NAMES)
def test_resuming_ends_with_the_same_bytes(name, dots, tmp_path):
    train(name, dots, tmp_path / "parts", steps=3)
    train(name, dots, tmp_path / "parts", steps=6)
    train(name, dots, tmp_path / "whole", steps=6)
    for file in ("checkpoint.safetensors", "history.csv"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_a_fixed_batch_falls(name, dots):
    objective = small(name)
    batch = make_stream(objective.needs, dots, 32, 0)(0)
    model = objective.build(problem_of(dots), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, lambda _: batch, 0, torch.device("cpu"))
    losses = []
    for _ in range(LONGER.get(name, 100)):
        loop.advance()
        losses.append(loop.means.take()["loss"])
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:3])


@pytest.mark.parametrize("name", NAMES)
def test_augmentations_go_with_every_objective(name, dots, tmp_path):
    def losses(folder, **options):
        objective = dataclasses.replace(small(name), **options)
        run = unbraid.train(
            objective, dots, out=tmp_path / folder, steps=2, progress="none", log_every=2, batch_size=16
        )
        assert run.objective == objective
        return run.history()["loss"].to_list()

    noisy = losses("noisy", augment=("gaussian-noise:sigma=0.5",))
    assert np.isfinite(noisy).all()
    assert noisy != losses("clean")


@pytest.mark.parametrize("name", [name for name in NAMES if issubclass(objectives.get(name), VAEObjective)])
def test_the_history_adds_up(name, dots, tmp_path):
    row = train(name, dots, tmp_path, steps=2).history().to_dicts()[0]
    parts = row["reconstruction"] + row["penalty"] + row.get("supervised", 0) + row.get("hfs", 0)
    assert row["loss"] == pytest.approx(parts, rel=1e-5)
    assert row["kl"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained_in_the_help(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # wide ones have boxes side by side
    with pytest.raises(SystemExit):
        main(["train", name, "--help"])
    shown = "".join(capsys.readouterr().out.replace("│", " ").split())  # wherever its lines end
    cls = objectives.get(name)
    told = docstrings(cls)
    missing = [f"a string under the option {f.name!r}" for f in dataclasses.fields(cls) if f.name not in told]
    if ast.get_docstring(ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]) is None:
        missing.insert(0, "a docstring")
    assert not missing, f"give {cls.__name__} {' and '.join(missing)}: the help says nothing else"
    assert "".join(cls.__doc__.split("\n")[0].split()) in shown
    for field in dataclasses.fields(cls):
        assert f"--{field.name.replace('_', '-')}" in shown
        assert "".join(told[field.name].split()) in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_page_tells_the_command_and_the_sweep(name):
    pages = [page.read_text() for page in DOCS.glob("*.md") if f"\nunbraid train {name} " in page.read_text()]
    assert len(pages) == 1, f"docs/objectives needs one page with the command `unbraid train {name} ...`"
    if (sweep := objectives.get(name).sweep) is not None:
        assert f"`{sweep[0]}`: {', '.join(map(str, sweep[1]))}." in pages[0]
    assert f"`{name}`" in (DOCS / "index.md").read_text(), f"the table in docs/objectives/index.md has no `{name}`"


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_title_and_a_formula_with_its_numbers_in_it(name):
    cls = objectives.get(name)
    assert objectives.title(name) == cls.title != name, f"give {cls.__name__} a title as papers write it"
    line = objectives.formula(name, objectives.options_of(objectives.make(name)))
    assert line, f"give {cls.__name__} a formula; {{option}} stands for an option's value"
    assert "{" not in line


def test_a_formula_shows_the_options_that_were_given():
    assert objectives.formula("beta-vae", {"beta": 16.0}).startswith("E[−log p(x|z)] + 16 · KL")
    assert objectives.formula("beta-vae", {"other": 1}) == ""


def test_an_objective_without_title_shows_its_name_and_inherits_no_formula():
    @objectives.register("untitled-vae")
    @dataclasses.dataclass(frozen=True)
    class Untitled(objectives.BetaVAE):
        """A variant."""

    assert objectives.title("untitled-vae") == "untitled-vae"
    assert objectives.formula("untitled-vae", {"beta": 1.0}) == ""
    assert objectives.about("untitled-vae") == "A variant."
    assert objectives.title("nobody-knows") == "nobody-knows"
