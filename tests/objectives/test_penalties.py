"""What every registered penalty must do, and the noun itself."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import unbraid
from unbraid import objectives
from unbraid.cli.app import main
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.objectives import AutoencoderObjective, Codes, Inputs, Terms, penalties
from unbraid.training import Loop, problem_of, train_together

NAMES = penalties.names()  # before those below are added
MORE = {"klm": ",memory=20", "nhp": ",stages=inner,k=8"}
"""Options that make a penalty do all that it can."""
TEXTS = [f"{name}:weight=2{MORE.get(name, '')}" for name in NAMES]
SMALL = {"net": "mlp:width=16", "latents": 3, "learning_rate": 1e-3}
WITH_DECODER = [
    name
    for name in objectives.names()
    if issubclass(objectives.get(name), AutoencoderObjective) and objectives.get(name).__module__.startswith("unbraid.")
]
PAGE = Path(__file__).parents[2] / "docs" / "penalties.md"


def made(name="vae", *given, **options):
    known = {field.name for field in dataclasses.fields(objectives.get(name))}
    small = (
        SMALL
        | {"labels": 50, "factor": "x" if name == "ivae" else "", "discriminator_width": 8, "discriminator_depth": 1}
        | options
    )
    return objectives.get(name)(**{key: value for key, value in small.items() if key in known}, penalties=given)


def train(objective, data, out, steps=2, **options):
    return unbraid.train(objective, data, out=out, steps=steps, progress="none", log_every=2, batch_size=8, **options)


def files(folder):
    return {name: (folder / name).read_bytes() for name in ("checkpoint.safetensors", "history.csv")}


@pytest.mark.parametrize("text", TEXTS)
def test_it_adds_its_weight_times_its_value(text, dots, tmp_path):
    name = text.partition(":")[0]
    plain = train(made(), dots, tmp_path / "plain", steps=1).history().to_dicts()[0]
    once = train(made("vae", text), dots, tmp_path / "once", steps=1).history().to_dicts()[0]
    twice = train(made("vae", text.replace("weight=2", "weight=4")), dots, tmp_path / "twice", steps=1)
    assert once[name] != 0
    assert once["loss"] == pytest.approx(plain["loss"] + once[name], rel=1e-5)
    assert once["reconstruction"] == plain["reconstruction"]
    assert twice.history()[name][0] == pytest.approx(2 * once[name], rel=1e-5)


@pytest.mark.parametrize("text", TEXTS)
def test_it_falls_when_it_is_all_that_counts(text, dots):
    objective = made("ae", text.replace("weight=2", "weight=1e4,scale=mean"))
    batch = make_stream("images", dots, 16, 0)(0)
    model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, lambda _: batch, 0, torch.device("cpu"), "fp32")
    values = []
    for _ in range(60):
        loop.advance()
        values.append(loop.means.take()[text.partition(":")[0]])
    assert np.mean(values[-10:]) < np.mean(values[:10])


@pytest.mark.parametrize("text", TEXTS)
def test_resuming_ends_with_the_same_bytes(text, dots, tmp_path):
    objective = made("vae", text)
    train(objective, dots, tmp_path / "parts", 3)
    train(objective, dots, tmp_path / "parts", 6)
    train(objective, dots, tmp_path / "whole", 6)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    assert unbraid.open_run(tmp_path / "whole").objective == objective


def test_a_weight_of_zero_leaves_every_byte_as_it_was(dots, tmp_path):
    train(made(), dots, tmp_path / "plain", 4)
    train(made("vae", *(text.replace("weight=2", "weight=0") for text in TEXTS)), dots, tmp_path / "zero", 4)
    assert files(tmp_path / "plain") == files(tmp_path / "zero")


@pytest.mark.parametrize("name", WITH_DECODER)
def test_penalties_go_with_every_objective_that_has_a_decoder(name, dots, tmp_path):
    row = train(made(name, "hfs:weight=3", "bio"), dots, tmp_path).history().to_dicts()[0]
    assert {"hfs", "bio"} <= set(row)
    assert np.isfinite(list(row.values())).all()


def test_they_go_with_augmentations(dots, tmp_path):
    clean = train(made("vae", "bio"), dots, tmp_path / "clean").history()["bio"][0]
    noisy = train(made("vae", "bio", augment=("gaussian-noise:share=1",)), dots, tmp_path / "noisy").history()["bio"][0]
    assert noisy != clean


def test_a_mean_scale_counts_the_numbers_of_an_image(dots, tmp_path):
    summed = train(made("vae", "bio"), dots, tmp_path / "sum", 1).history()["bio"][0]
    mean = train(made("vae", "bio:scale=mean"), dots, tmp_path / "mean", 1).history()["bio"][0]
    assert mean == pytest.approx(16 * 16 * summed, rel=1e-6)


def test_several_of_a_kind_have_names_of_their_own(dots, tmp_path):
    row = train(made("vae", "bio:weight=1", "bio:weight=3"), dots, tmp_path, 1).history().to_dicts()[0]
    assert row["bio'"] == pytest.approx(3 * row["bio"])


def test_differences_are_taken_in_full_precision(dots):
    # In bfloat16, which has three digits, an image's second difference over steps of 0.1 would be off by about 0.1, and
    # the value 1e4 * 0.1^2 = 100 in place of 0.08. Codes, which come from an encoder in bfloat16, differ a little.
    values = {}
    for precision in ("bf16", "fp32"):
        objective = made("ae", "hessian:weight=1e4")
        model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
        loop = Loop(objective, model, make_stream("images", dots, 16, 0), 0, torch.device("cpu"), precision)
        values[precision] = loop.terms_at(0)["model"]["hessian"]
    assert values["bf16"] == pytest.approx(values["fp32"], rel=0.5)


def test_judging_a_model_does_not_fill_its_memory(dots):
    objective = made("vae", "klm:memory=12")
    model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, make_stream("images", dots, 8, 0), 0, torch.device("cpu"), "fp32")
    kept = model.get_submodule("penalties.0")
    loop.terms_at(0)
    assert kept.count == 0
    loop.advance()
    first = kept.codes[:8].clone()
    assert kept.count == 8
    assert first.any(1).all()
    loop.advance()
    assert kept.count == 12
    torch.testing.assert_close(kept.codes[8:], first[:4])  # the newest come first


def test_a_run_may_start_from_one_with_other_penalties(dots, tmp_path):
    train(made("vae", "klm:memory=12"), dots, tmp_path / "donor")
    heir = train(made("vae", "klm:memory=20"), dots, tmp_path / "heir", 4, start=tmp_path / "donor")
    assert heir.info["step"] == 4
    with pytest.raises(UsageError, match="penalties"):
        train(made("vae"), dots, tmp_path / "heir", 6, start=tmp_path / "donor")


def test_models_with_penalties_train_one_by_one(dots, tmp_path):
    with pytest.raises(UsageError, match="cannot be stacked"):
        train_together(made("vae", "bio"), dots, outs=[tmp_path / "a"], seeds=[0], steps=1, way="stacked")
    runs = train_together(made("vae", "bio"), dots, outs=[tmp_path / "b"], seeds=[0], steps=1, processes=1)
    assert "bio" in runs[0].history().columns
    train_together(
        made("vae", "bio:weight=0"), dots, outs=[tmp_path / "c"], seeds=[0], steps=1, way="stacked", processes=1
    )


def test_an_objective_that_does_not_tell_its_codes_is_told_so(dots, tmp_path):
    @objectives.register("test-silent")
    @dataclass(frozen=True)
    class Silent(objectives.AE):
        """Loses its codes."""

        def loss(self, model, inputs, step, noise):
            return Terms(super().loss(model, inputs, step, noise).terms)

    with pytest.raises(UsageError, match="'test-silent' does not tell its codes"):
        train(Silent(**SMALL, penalties=("bio",)), dots, tmp_path)


def test_a_penalty_sees_means_and_what_the_decoder_saw(dots):
    objective = made("vae", "test-spy")
    seen = {}

    @penalties.register("test-spy")
    @dataclass(frozen=True)
    class Spy(penalties.Penalty):
        """Keeps what it was shown."""

        def __call__(self, view, noise):
            seen["codes"] = view.codes
            return view.codes.mean.sum() * 0

    model = objective.make_model(problem_of(dots), torch.Generator().manual_seed(0))
    images = torch.rand(4, 1, 16, 16, generator=torch.Generator().manual_seed(1))
    list(objective.play(model, Inputs(images), 0, torch.Generator().manual_seed(3)))
    posterior = objective.posterior(model, images)
    expected = Codes(posterior.mean, posterior.sample(generator=torch.Generator().manual_seed(3)))
    torch.testing.assert_close(seen["codes"].mean, expected.mean)
    torch.testing.assert_close(seen["codes"].sample, expected.sample)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hessan", "unknown penalty 'hessan'; did you mean 'hessian'"),
        ("hfs:gamma=1", "unknown option of penalty 'hfs': 'gamma'"),
        ("hfs:weight=-1", "weight must be a number that is not negative, got -1"),
        ("hfs:scale=max", "scale of penalty 'hfs'"),
        ("nhp:k=1", "k must be at least 2 directions"),
        ("klm:estimator=released,memory=8", "memory goes with estimator=pairs"),
    ],
)
def test_wrong_penalties_are_refused_before_training(text, message, dots, tmp_path):
    with pytest.raises(UsageError, match=message):
        train(made("vae", text), dots, tmp_path)


@pytest.mark.parametrize(
    ("text", "latents", "message"),
    [
        ("hfs", 1, "latents must be at least 2, got 1"),
        ("klm", 1, "latents must be at least 2, got 1"),
        ("ima", 13, "of 12 latents at most, got 13"),
    ],
)
def test_models_that_a_penalty_cannot_look_at_are_refused(text, latents, message, dots, tmp_path):
    with pytest.raises(UsageError, match=message):
        train(made("vae", text, latents=latents), dots, tmp_path)


def test_a_single_word_is_no_list_of_penalties(dots, tmp_path):
    with pytest.raises(UsageError, match="penalties must be a list of penalties, got 'bio'"):
        train(dataclasses.replace(made(), penalties="bio"), dots, tmp_path)


def test_a_decoder_of_one_layer_has_no_inner_stages(dots, tmp_path):
    with pytest.raises(UsageError, match="nothing inside"):
        train(made("vae", "nhp:stages=inner", net="linear"), dots, tmp_path)


def test_the_command_takes_a_list_and_shows_what_there_is(tmp_path, capsys):
    words = ["train", "vae", "--data", "mini-sprites", "--net", "mlp:width=8", "--latents", "3", "--steps", "1"]
    words += ["--penalties", "hfs:weight=2", "bio", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert unbraid.open_run(tmp_path / "run").objective.penalties == ("hfs:weight=2", "bio")
    capsys.readouterr()
    assert main(["list", "penalties"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)


def test_formulas_show_penalties():
    line = objectives.formula("beta-vae", {"beta": 4.0, "penalties": ["hfs:weight=10", "from-elsewhere:a=1"]})
    assert line.endswith("; + 10 · factorised support + from-elsewhere:a=1")


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained_and_the_page_has_it(name):
    cls = penalties.get(name)
    told = set()
    for base in cls.__mro__[:-1]:
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
        told |= {
            statement.target.id
            for statement, following in itertools.pairwise(body)
            if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr)
        }
    assert {field.name for field in dataclasses.fields(cls)} <= told
    assert "title" in vars(cls)
    assert f"| `{name}` |" in PAGE.read_text()
