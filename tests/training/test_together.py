"""Several models at once are the models that separate training gives."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dots import Dots
from unbraid import nets, objectives
from unbraid.data import make_stream
from unbraid.errors import UsageError
from unbraid.training import Diverged, open_run, train, train_together
from unbraid.training.described import problem_of
from unbraid.training.loop import Loop
from unbraid.training.stacked import Stack, stackable
from unbraid.training.together import _shares

FILE = "checkpoint.safetensors"
CPU = torch.device("cpu")


def make(name="beta-tcvae", **options):
    return objectives.make(name, {"net": "mlp:width=24", "latents": 3, "learning_rate": 1e-3, **options})


def together(folder, way, *, objective=None, models=3, steps=12, **more):
    objective, data = objective or make(), Dots()
    return train_together(
        objective,
        data,
        outs=[folder / way / str(number) for number in range(models)],
        seeds=[10 + number for number in range(models)],
        stream=make_stream(objective.needs, data, 16, 7),
        steps=steps,
        batch_size=16,
        way=way,
        **{"processes": 1, "precision": "fp32", **more},
    )


@pytest.mark.parametrize(
    "objective",
    [
        make(beta=4),
        make("beta-vae", beta=2, likelihood="gaussian", reference_size=64),
        make("beta-tcvae-sampled", beta=3),
        make("beta-tcvae-sampled", beta=3, sampling="stratified"),
        make("dip-vae-i"),
        make("annealed-vae", net="mlp:encoder=20,decoder=16+12,decoder_activation=tanh"),
    ],
    ids=lambda objective: objective.name,
)
def test_stacked_models_are_those_of_separate_training_up_to_rounding(objective, tmp_path):
    stacked, separate = (
        together(tmp_path, way, objective=objective, models=2, steps=100) for way in ("stacked", "sequential")
    )
    for one, other in zip(stacked, separate, strict=True):
        assert one.info["step"] == other.info["step"] == 100
        first, second = one.history(), other.history()
        assert first.columns == second.columns
        assert np.allclose(first["loss"], second["loss"], rtol=1e-5)
        ours, theirs = (load_file(run.path / FILE) for run in (one, other))
        assert ours.keys() == theirs.keys()
        assert all(ours[name].shape == theirs[name].shape for name in ours)
    # Different initial weights and noise: the models of a stack are not copies of each other.
    assert stacked[0].history()["loss"][-1] != stacked[1].history()["loss"][-1]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 2e-3)])
def test_losses_step_by_step_agree(precision, tolerance):
    objective, data = make(beta=8), Dots()

    def loops():
        stream = make_stream("images", data, 16, 0)
        models = [objective.build(problem_of(data), torch.Generator().manual_seed(seed)) for seed in range(5)]
        where = torch.device("cpu")
        return [Loop(objective, model, stream, seed, where, precision) for seed, model in enumerate(models)]

    separate, stack = loops(), Stack(loops())
    for _ in range(50):
        stack.advance()
        for loop in separate:
            loop.advance()
        for one, other in zip(stack.loops, separate, strict=True):
            ours, theirs = one.means.take(), other.means.take()
            assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance)


def test_rounded_copies_follow_the_weights():
    loops = [
        Loop(
            make(),
            make().build(problem_of(Dots()), torch.Generator()),
            make_stream("images", Dots(), 16, 0),
            0,
            CPU,
            "bf16",
        )
        for _ in range(2)
    ]
    stack = Stack(loops)
    layers = [layer for part in stack.model.children() for layer in part.layers if getattr(layer, "copies", ())]
    assert len(layers) >= 2
    before = [layer.weight.detach().clone() for layer in layers]
    for _ in range(3):
        stack.advance()
    for layer, old in zip(layers, before, strict=True):
        assert not layer.weight.equal(old)
        for weight, copy in zip((layer.weight, layer.bias), layer.copies, strict=True):
            assert weight.bfloat16().equal(copy)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_stacked_training_goes_on_from_its_checkpoints_with_the_same_bytes(precision, tmp_path):
    together(tmp_path / "whole", "stacked", steps=20, precision=precision)
    together(tmp_path / "parts", "stacked", steps=8, precision=precision)
    runs = together(tmp_path / "parts", "stacked", steps=20, precision=precision)
    assert all(run.finished for run in runs)
    for number in range(3):
        one, other = (tmp_path / part / "stacked" / str(number) / FILE for part in ("whole", "parts"))
        assert one.read_bytes() == other.read_bytes()


def test_checkpoints_of_different_moments_make_all_begin_anew(tmp_path):
    # As after kill -9 between two of the files: one model is ahead of the others.
    runs = together(tmp_path / "parts", "stacked", steps=8)
    ahead = (runs[0].path / FILE).read_bytes()
    (runs[0].path / FILE).unlink()
    together(tmp_path / "parts", "stacked", steps=12)
    whole = together(tmp_path / "whole", "stacked", steps=12)
    assert (runs[0].path / FILE).read_bytes() == (whole[0].path / FILE).read_bytes() != ahead
    assert (runs[1].path / FILE).read_bytes() == (whole[1].path / FILE).read_bytes()


def test_stacked_models_begin_from_given_runs(tmp_path):
    donors = together(tmp_path, "sequential", steps=10)
    objective = make(learning_rate=1e-2)
    heirs = together(
        tmp_path, "stacked", objective=objective, steps=10, starts=[donors[1].path, donors[0].path, donors[1].path]
    )
    for heir, donor in zip(heirs, (donors[1], donors[0], donors[1]), strict=True):
        ours, theirs = load_file(heir.path / FILE), load_file(donor.path / FILE)
        assert all(ours[name].equal(theirs[name]) for name in theirs)
    assert open_run(heirs[0].path).objective.learning_rate == 1e-2


@pytest.mark.parametrize(
    ("objective", "can"),
    [
        (make(), True),
        (make(net="fc"), True),
        (make(net="conv"), False),
        (make(net="conv-bn"), False),
        (make("factor-vae"), False),
        (objectives.make("linear-vae"), False),
        (objectives.make("ae", {"net": "mlp"}), False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_what_can_be_stacked(objective, can, tmp_path):
    assert stackable(objective, problem_of(Dots())) is can
    if not can:
        with pytest.raises(UsageError, match="cannot be stacked"):
            together(tmp_path, "stacked", objective=objective)


def test_total_correlation_and_its_gradient_are_those_of_the_formula():
    generator = torch.Generator().manual_seed(0)
    mean, logvar, sample = (
        torch.randn(6, 3, dtype=torch.double, generator=generator, requires_grad=True) for _ in range(3)
    )
    pairs = nets.Gaussian(mean, logvar).log_prob(sample[:, None])  # [6, 6, 3]
    expected = (pairs.sum(2).logsumexp(1) - pairs.logsumexp(1).sum(1)).mean()
    assert nets.pairwise_total_correlation(mean, logvar, sample).item() == pytest.approx(expected.item(), rel=1e-12)
    assert torch.autograd.gradcheck(nets.pairwise_total_correlation, (mean, logvar, sample))
    stacked = [torch.stack([part.detach(), 0.5 * part.detach()]) for part in (mean, logvar, sample)]
    both = torch.vmap(nets.pairwise_total_correlation)(*stacked)
    assert both[1].item() == pytest.approx(nets.pairwise_total_correlation(*(part[1] for part in stacked)).item())


@pytest.mark.parametrize(("objective", "same"), [(make(net="conv"), True), (make(), False)], ids=["conv", "mlp"])
def test_two_processes_train_the_models_of_one(objective, same, tmp_path):
    one = together(tmp_path / "one", "auto", objective=objective, models=5)
    two = together(tmp_path / "two", "auto", objective=objective, models=5, processes=2)
    for first, second in zip(one, two, strict=True):
        assert first.finished
        assert second.finished
        if same:  # one after the other in both cases
            assert (first.path / FILE).read_bytes() == (second.path / FILE).read_bytes()
        assert np.allclose(first.history()["loss"], second.history()["loss"], rtol=1e-5)


def test_two_processes_go_on_with_the_same_bytes(tmp_path):
    together(tmp_path / "parts", "stacked", models=3, steps=8, processes=2)
    together(tmp_path / "parts", "stacked", models=3, steps=20, processes=2)
    together(tmp_path / "whole", "stacked", models=3, steps=20, processes=2)
    for number in range(3):
        one, other = (tmp_path / part / "stacked" / str(number) / FILE for part in ("whole", "parts"))
        assert one.read_bytes() == other.read_bytes()


def test_models_that_stand_at_different_steps_go_on_in_other_groups(tmp_path):
    # As after Ctrl-C with two processes, of which one was ahead.
    first = together(tmp_path, "stacked", models=3, steps=8, processes=2)
    together(tmp_path, "stacked", models=2, steps=14, processes=1)
    (first[2].path / "scores.json").write_text("{}")
    runs = together(tmp_path, "stacked", models=3, steps=30, processes=1)
    assert [run.info["step"] for run in runs] == [30] * 3
    assert all(run.finished for run in runs)
    assert (first[2].path / "scores.json").exists()  # nothing began anew
    whole = together(tmp_path / "whole", "stacked", models=3, steps=30)
    for one, other in zip(runs, whole, strict=True):
        assert np.allclose(one.history()["loss"], other.history()["loss"], rtol=1e-4)


def test_a_model_that_was_trained_alone_in_between_is_not_thrown_away(tmp_path):
    runs = together(tmp_path, "stacked", models=2, steps=8)
    data, objective = Dots(), make()
    stream = make_stream("images", data, 16, 7)
    alone = {"out": runs[0].path, "seed": 10, "batch_size": 16, "precision": "fp32", "progress": "none"}
    train(objective, data, steps=12, stream=stream, **alone)
    (runs[0].path / "scores.json").write_text("{}")
    assert [run.info["step"] for run in together(tmp_path, "stacked", models=2, steps=20)] == [20, 20]
    assert (runs[0].path / "scores.json").exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_starts_at_different_steps_end_at_the_same(processes, tmp_path):
    donors = [together(tmp_path / str(steps), "auto", models=1, steps=steps)[0].path for steps in (10, 15)]
    runs = together(tmp_path, "auto", models=2, steps=20, starts=donors, processes=processes)
    assert [run.info["step"] for run in runs] == [20, 20]


def test_names_will_do_and_the_batches_are_those_of_seed_0(tmp_path):
    # No objective of fully connected networks goes by its name alone, so these train one after the other.
    named = train_together("vae", "dots", outs=[tmp_path / "a", tmp_path / "b"], seeds=[0, 4], steps=2, processes=1)
    alone = train("vae", "dots", out=tmp_path / "alone", seed=0, steps=2, progress="none")
    assert (named[0].path / FILE).read_bytes() == (alone.path / FILE).read_bytes()
    assert (named[1].path / FILE).read_bytes() != (alone.path / FILE).read_bytes()
    with pytest.raises(UsageError, match="at least one folder"):
        train_together("vae", "dots", outs=[], seeds=[], steps=2)
    for steps in (0, -3, 2.5):
        with pytest.raises(UsageError, match="steps must be"):
            train_together("vae", "dots", outs=[tmp_path / "c"], seeds=[0], steps=steps)


def test_models_are_shared_out_evenly():
    def sizes(models, count):
        return [len(group) for group in _shares(list(range(models)), count)]

    assert [sizes(5, count) for count in (1, 2, 3, 8)] == [[5], [3, 2], [2, 2, 1], [1] * 5]
    assert sizes(4, 3) == [2, 1, 1]
    assert [model for group in _shares(list(range(7)), 3) for model in group] == list(range(7))


def test_by_default_there_is_a_process_per_core_and_one_inside_a_worker(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("unbraid.training.together.in_processes", asked.append)
    monkeypatch.setattr("unbraid.training.numerics.cores", lambda: 2)
    assert together(tmp_path / "many", "auto", processes=None) == []  # nobody trained
    assert [len(jobs) for jobs in asked] == [2]
    monkeypatch.setattr("unbraid.training.together.why_not_fork", lambda: "it takes Linux")
    assert all(run.finished for run in together(tmp_path / "one", "auto", processes=None))
    with pytest.raises(UsageError, match="processes must be 1 here, got 2: it takes Linux"):
        together(tmp_path / "none", "auto", processes=2)
    with pytest.raises(UsageError, match="processes must be at least 1"):
        together(tmp_path / "none", "auto", processes=0)


def test_an_error_in_one_process_is_raised_here_and_stops_the_others(tmp_path):
    # The second model begins from weights that are not those of its network's make: its own process alone fails.
    good, bad = make(), make(latents=4)
    donor = together(tmp_path, "sequential", objective=bad, models=1)[0]
    friend = together(tmp_path / "friend", "auto", objective=good, models=1)[0]
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"latents|size|shape|mismatch"):
        together(tmp_path, "auto", models=2, steps=10**7, starts=[friend.path, donor.path], processes=2)
    assert time.monotonic() - began < 60
    assert open_run(tmp_path / "auto" / "0").info["status"] == "stopped"


def test_divergence_in_a_process_is_told_as_such(tmp_path):
    with pytest.raises(Diverged, match=r"loss|term"):
        together(tmp_path / "far", "auto", objective=make(learning_rate=1e9), models=2, steps=2000, processes=2)


SCRIPT = """
import sys
from pathlib import Path
from test_together import make, together
net = sys.argv[2]
runs = together(Path(sys.argv[1]), "auto", objective=make(net=net), models=4, steps=10**7, processes=2)
print("stopped", *[run.path.name for run in runs], flush=True)
"""


@pytest.mark.parametrize("net", ["mlp:width=24", "conv"])
@pytest.mark.parametrize("request_to_stop", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_parent_leaves_checkpoints_and_no_processes(request_to_stop, net, tmp_path):
    tests = Path(__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path), net],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
        start_new_session=True,
    )
    # Stacked, all four begin at once; one after the other, the first of each process.
    begun = [0, 1, 2, 3] if net.startswith("mlp") else [0, 2]
    folders = [tmp_path / "auto" / str(number) for number in begun]
    _wait_for(lambda: all(_logged(folder) for folder in folders))
    began = time.monotonic()
    process.send_signal(request_to_stop)
    output, _ = process.communicate(timeout=60)
    assert output == ("" if request_to_stop == signal.SIGKILL else f"stopped {' '.join(map(str, begun))}\n")
    _wait_for(lambda: not _session(process.pid))
    assert time.monotonic() - began < 15  # nobody had to be killed
    assert [open_run(folder).info["status"] for folder in folders] == ["stopped"] * len(folders)
    steps = [open_run(folder).info["step"] for folder in folders]
    assert min(steps) > 0
    assert sorted(int(folder.name) for folder in (tmp_path / "auto").iterdir()) == begun
    if net.startswith("mlp"):
        assert (steps[0], steps[2]) == (steps[1], steps[3])
        runs = together(tmp_path, "auto", models=4, steps=max(steps) + 10, processes=2)
        assert [run.info["step"] for run in runs] == [max(steps) + 10] * 4


def _logged(folder):
    file = folder / "history.csv"
    return file.exists() and file.stat().st_size > 0


def _session(leader):
    """The processes of a session that still run."""
    found = subprocess.run(["ps", "-o", "stat=", "-s", str(leader)], capture_output=True, text=True, check=False)
    return [state for state in found.stdout.split() if not state.startswith("Z")]


def _wait_for(what):
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)
