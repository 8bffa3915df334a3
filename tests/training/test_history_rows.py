"""What a run's history holds at its end, and what happens when somebody cut it."""

import pytest

import unbraid
from unbraid.errors import UsageError
from unbraid.objectives import VAE


def train(dots, out, steps, **options):
    return unbraid.train(VAE(net="mlp:width=8"), dots, steps=steps, out=out, log_every=10, progress="none", **options)


def test_the_last_row_is_of_the_last_step_and_leaves_no_trace_when_the_run_goes_on(dots, tmp_path):
    short = train(dots, tmp_path / "a", 7)
    assert short.history()["step"].to_list() == [7]
    for steps, rows in ((7, [7]), (25, [10, 20, 25]), (30, [10, 20, 30])):
        assert train(dots, tmp_path / "a", steps).history()["step"].to_list() == rows
    whole = train(dots, tmp_path / "b", 30)
    assert (short.path / "history.csv").read_bytes() == (whole.path / "history.csv").read_bytes()


@pytest.mark.parametrize("left", [b"", b"step,los", None])
def test_a_history_that_was_cut_is_refused_and_left_alone(dots, tmp_path, left):
    file = train(dots, tmp_path, 20).path / "history.csv"
    file.unlink() if left is None else file.write_bytes(left)
    with pytest.raises(UsageError, match=r"history.csv is shorter than its checkpoint remembers.*--fresh"):
        train(dots, tmp_path, 30)
    assert (file.read_bytes() if file.exists() else None) == left
    assert train(dots, tmp_path, 30, fresh=True).history().height == 3


def test_a_history_that_is_no_table_is_said_to_be_damaged(dots, tmp_path):
    run = train(dots, tmp_path, 20)
    (run.path / "history.csv").write_bytes(b"step,loss\n1,2\n3,4,5,6\n")
    with pytest.raises(UsageError, match=r"history.csv is damaged"):
        run.history()
