"""Whether a folder holds the run that is asked for."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

import unbraid
from unbraid.data import from_arrays, from_vectors, load, make_stream
from unbraid.errors import UsageError
from unbraid.objectives import AE, register
from unbraid.training import describe_data


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


def test_a_run_goes_on_with_the_labels_factors_and_part_it_began_with(dots, tmp_path):
    # In all of these the images that the fingerprint looks at are the same.
    images, numbers = dots.images(np.arange(144)), np.arange(144)
    labels = numbers % 3
    swapped = labels.copy()
    swapped[[4, 5]] = swapped[[5, 4]]
    plain, order = from_arrays(np.concatenate([images, images])), numbers.copy()
    order[5] += 144 - 1  # the image of 4, from the second half
    for name, data, other, words in (
        ("labels", from_arrays(images, labels=labels), from_arrays(images, labels=swapped), "other factors or labels"),
        ("part", plain.part(numbers), plain.part(order), "other images of the whole"),
    ):
        before = describe_data(data)
        assert before["fingerprint"] == describe_data(other)["fingerprint"]
        train(data, tmp_path / name)
        with pytest.raises(UsageError, match=words):
            train(other, tmp_path / name, steps=7)
        info = json.loads((tmp_path / name / "run.json").read_text())
        del info["data"]["truth"], info["data"]["positions"]  # as earlier versions left it
        (tmp_path / name / "run.json").write_text(json.dumps(info))
        assert train(data, tmp_path / name, steps=7).info["data"] == before
    points, measured = np.zeros((200, 2)), np.linspace(0, 1, 200)[:, None]
    moved = measured.copy()
    moved[5] = 0.5
    truths = {describe_data(from_vectors(points, factors=table))["truth"] for table in (measured, measured, moved)}
    assert len(truths) == 2


def test_data_whose_labels_were_changed_are_not_those_of_the_run(dots, tmp_path):
    images = dots.images(np.arange(144))
    np.savez(tmp_path / "set.npz", images=images, labels=np.arange(144) % 3)
    run = train(load(str(tmp_path / "set.npz")), tmp_path / "run")
    assert len(run.data()) == 144
    np.savez(tmp_path / "set.npz", images=images, labels=np.arange(144) // 48)
    with pytest.raises(UsageError, match=r"the factors or labels of .*set.npz are not those"):
        run.data()


def test_an_objective_that_is_not_registered_trains_and_resumes_all_the_same(dots, tmp_path):
    @dataclass(frozen=True)
    class Unknown(AE):
        net: str = "mlp:width=8"

    train(dots, tmp_path, Unknown())
    assert train(dots, tmp_path, Unknown(), steps=8).info["step"] == 8
