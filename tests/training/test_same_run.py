"""Whether a folder holds the run that is asked for."""

import json
from dataclasses import dataclass, field

import pytest

import unbraid
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.objectives import AE, register


@register("test-grown")
@dataclass(frozen=True)
class Grown(AE):
    """An objective that got two more options since a run was begun."""

    net: str = "mlp:width=8"
    late: float = 0.5
    names: tuple[str, ...] = field(default=("a", "b"))


def train(dots, out, objective=None, steps=5, **options):
    return unbraid.train(objective or Grown(), dots, steps=steps, out=out, progress="none", **options)


def forget(folder, *keys):
    info = json.loads((folder / "run.json").read_text())
    for key in keys:
        owner = info["objective"]["options"] if key in info["objective"]["options"] else info
        del owner[key]
    (folder / "run.json").write_text(json.dumps(info))


def test_options_that_a_stored_run_does_not_have_are_at_their_defaults(dots, tmp_path):
    run = train(dots, tmp_path)
    forget(run.path, "late", "names", "start", "stream")
    assert train(dots, tmp_path, steps=7).info["step"] == 7
    with pytest.raises(UsageError, match=r"objective.options.late = None, now asked for 0.25"):
        train(dots, tmp_path, Grown(late=0.25), steps=9)
    with pytest.raises(UsageError, match=r"options.names"):
        train(dots, tmp_path, Grown(names=("a",)), steps=9)


def test_an_option_that_is_a_tuple_is_the_same_after_a_way_through_json(dots, tmp_path):
    train(dots, tmp_path, Grown(names=("x", "y", "z")))
    assert train(dots, tmp_path, Grown(names=("x", "y", "z")), steps=8).info["step"] == 8


def test_a_run_on_an_own_stream_says_so_and_needs_it_again(dots, tmp_path):
    stream = make_stream("images", dots, 64, 9)
    run = train(dots, tmp_path / "own", stream=stream)
    assert run.info["stream"] == "own"
    with pytest.raises(UsageError, match=r"holds a run on an own stream, which a folder cannot hold.*stream=\.\.\."):
        train(dots, tmp_path / "own", steps=8)
    assert train(dots, tmp_path / "own", steps=8, stream=stream).info["step"] == 8
    assert train(dots, tmp_path / "usual").info["stream"] == "usual"
    with pytest.raises(UsageError, match="on the objective's usual batches, now asked for an own stream"):
        train(dots, tmp_path / "usual", steps=8, stream=stream)


def test_an_objective_that_is_not_registered_trains_and_resumes_all_the_same(dots, tmp_path):
    @dataclass(frozen=True)
    class Unknown(AE):
        net: str = "mlp:width=8"

    train(dots, tmp_path, Unknown())
    assert train(dots, tmp_path, Unknown(), steps=8).info["step"] == 8
