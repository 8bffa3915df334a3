"""The measures that come with the library, held against the same numbers by hand."""

import json

import numpy as np
import pytest
import torch

from unbraid import objectives
from unbraid.data import IndependentStream, Purpose, counter_rng, from_arrays, load
from unbraid.errors import UsageError
from unbraid.evaluation import (
    Disentanglement,
    Measure,
    Summary,
    get,
    losses_after_training,
    make,
    measure,
    measure_group,
    names,
    settings_of,
    shared_codes,
    summarise,
)
from unbraid.metrics import METRICS, evaluate, udr
from unbraid.training import train

OPTIONS = {"net": "mlp:width=16", "latents": 3}


@pytest.fixture(scope="module")
def data():
    import dots  # noqa: F401 (registers it)

    return load("dots")


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    objective = objectives.make("beta-vae", {**OPTIONS, "beta": 3.0, "learning_rate": 1e-3})
    return train(objective, data, out=tmp_path_factory.mktemp("run"), steps=30, batch_size=8, seed=5, progress="none")


def test_losses_after_training_are_those_of_the_batches_that_come_next(run, data):
    found = losses_after_training(run, data, batches=2)
    # By hand: batches 30 and 31 of the stream of seed 5, with the noise that belongs to these steps.
    stream = IndependentStream(data, 8, 5)
    rows = []
    for step in (30, 31):
        images = torch.from_numpy(stream(step).images).permute(0, 3, 1, 2).float() / 255
        noise = torch.Generator().manual_seed(int(counter_rng(5, step, Purpose.NOISE).integers(2**63)))
        with torch.no_grad():
            terms = run.objective.loss(run.model, objectives.Inputs(images), step, noise)
        rows.append((terms.terms["reconstruction"].item(), terms.watched["kl"].item()))
    reconstruction, kl = np.mean(rows, axis=0)
    assert found["reconstruction"] == pytest.approx(reconstruction, rel=1e-5)
    assert found["kl"] == pytest.approx(kl, rel=1e-5)
    assert found["elbo"] == pytest.approx(-(reconstruction + kl), rel=1e-5)
    assert found["regularizer"] == pytest.approx(3.0 * kl, rel=1e-4)
    assert found["loss"] == pytest.approx(reconstruction + 3.0 * kl, rel=1e-5)


def test_losses_after_training_of_a_weighed_reconstruction_are_in_nats_per_image(data, tmp_path):
    objective = objectives.make("beta-vae", {**OPTIONS, "beta": 3.0, "reference_size": 64})
    run = train(objective, data, out=tmp_path, steps=1, batch_size=8, progress="none")
    found = losses_after_training(run, data, batches=2)
    weight = 64**2 / (data.shape[0] * data.shape[1])
    assert weight != 1
    assert found["loss"] == pytest.approx(weight * found["reconstruction"] + 3.0 * found["kl"], rel=1e-5)
    assert found["regularizer"] == pytest.approx(3.0 * found["kl"], rel=1e-3)
    assert found["elbo"] == pytest.approx(-(found["reconstruction"] + found["kl"]), rel=1e-6)


def test_steps_without_the_model_are_left_out_of_its_losses(run, data, monkeypatch):
    whole = objectives.BetaVAE.losses

    def every_other(self, model, inputs, step, noise):
        if step % 2 == 0:
            yield from whole(self, model, inputs, step, noise)

    alone, both = losses_after_training(run, data, batches=1), losses_after_training(run, data, batches=2)
    monkeypatch.setattr(objectives.BetaVAE, "losses", every_other)
    assert losses_after_training(run, data, batches=2) == alone != both


def test_losses_after_training_leave_the_model_as_it_is(run, data):
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    losses_after_training(run, data, batches=3)
    assert all(torch.equal(value, before[name]) for name, value in run.model.state_dict().items())


def test_a_run_on_batches_of_ones_own_has_no_next_ones(data, tmp_path):
    objective = objectives.make("vae", OPTIONS)
    stream = IndependentStream(data, 8, 99)
    run = train(objective, data, out=tmp_path, steps=2, batch_size=8, stream=stream, progress="none")
    assert measure(run, data, "losses:batches=1") == {}


def scores_of(run, data, settings, **condition):
    return measure(run, data, Disentanglement(**settings))["disentanglement"].scores(**condition)


def test_scores_are_those_of_evaluate_on_either_representation(run, data):
    plan = {"metrics": ("mig", "modularity"), "train": 200, "test": 100}
    for kind in ("mean", "sampled"):
        expected = evaluate(run, data, metrics=["mig", "modularity"], representation=kind, train=200, test=100)
        found = scores_of(run, data, plan, representation=kind)
        assert {n: float(s) for n, s in found.items()} == {n: float(s) for n, s in expected.items()}
        assert found["mig"].parts["information"].tolist() == expected["mig"].parts["information"].tolist()
    both = [scores_of(run, data, plan, representation=kind)["mig"].value for kind in ("mean", "sampled")]
    assert both[0] != both[1]


def test_all_scores_are_those_of_single_models_in_one_order():
    assert set(Disentanglement().metrics) == {name for name, entry in METRICS.items() if entry.usual} - {"udr"}
    assert set(Disentanglement(metrics=("all", "med")).metrics) == {*Disentanglement().metrics, "med"}
    assert make("disentanglement:metrics=dci+mig").metrics == Disentanglement(metrics=("mig", "dci")).metrics


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metrics": ("mgi",)}, "did you mean 'mig'"),
        ({"representations": ("maen",)}, "did you mean 'mean'"),
        ({"metrics": ("mig",), "options": {"sap": {}}}, "not among the chosen"),
        ({"train": 1}, "train must be at least 2"),
    ],
)
def test_wrong_settings_are_refused_when_they_are_given(settings, words):
    with pytest.raises(UsageError, match=words):
        Disentanglement(**settings)


def test_classes_are_a_factor_and_data_without_any_are_measured_by_the_codes_alone(tmp_path):
    data = load("digits8")
    run = train(objectives.make("vae", OPTIONS), data, out=tmp_path, steps=3, batch_size=8, progress="none")
    plan = {"metrics": ("mig", "gaussian_total_correlation"), "train": 100}
    assert list(scores_of(run, data, plan, representation="mean")) == list(plan["metrics"])
    bare = from_arrays(data.images(range(200)))
    assert list(scores_of(run, bare, plan, representation="mean")) == ["gaussian_total_correlation"]


def test_tracks_are_measured_with_their_factors_in_bins(tmp_path):
    data = load("natural-sprites:size=8,channels=1")
    run = train(objectives.make("pcl", OPTIONS), data, out=tmp_path, steps=3, batch_size=4, progress="none")
    plan = {"metrics": ("mig", "mcc"), "train": 100, "options": {"mig": {"bins": 5}}}
    scores = scores_of(run, data, plan)  # a model without a posterior has the mean alone
    assert list(scores) == ["mig", "mcc"]
    assert scores["mig"].settings["factor_bins"] == 10
    assert len(scores["mcc"].parts["per_factor"]) == 5
    assert len(shared_codes(run, data, images=10, seed=0)[0]) == 10
    assert measure(run, data, "losses:batches=1")["losses"].scores().keys() >= {"loss"}


def test_the_summary_comes_back_from_its_scores(run, data):
    found = measure(run, data, "summary:images=50")["summary"].scores()
    assert Summary.from_scores(found, 50).to_json() == summarise(run, data, images=50).to_json()
    assert found["active"] == len(summarise(run, data, images=50).active)


def test_a_function_has_scores_of_codes_and_no_losses(data):
    def pixels(images):
        return images.reshape(len(images), -1)[:, ::37]

    found = measure(pixels, data, ["disentanglement:metrics=mig,train=100", "losses", "summary"])
    assert list(found) == ["disentanglement"]
    assert [condition for condition, _ in found["disentanglement"].rows] == [{"representation": "mean"}]
    expected = evaluate(pixels, data, metrics="mig", train=100)["mig"]
    assert float(found["disentanglement"].scores()["mig"]) == float(expected)


def test_udr_is_that_of_the_shared_codes(run, data, tmp_path):
    other = train(run.objective, data, out=tmp_path, steps=30, batch_size=8, seed=6, progress="none")
    shares = [shared_codes(one, data, images=40, seed=0) for one in (run, other)]
    expected = udr([codes for codes, _ in shares], [kl for _, kl in shares]).parts["per_model"]
    found = measure_group([run, other], data, "udr:images=40")
    assert [answer.scores()["udr"] for answer in found] == pytest.approx(list(expected))


def test_shared_codes_are_mean_codes_of_the_same_images(run, data):
    codes, kl = shared_codes(run, data, images=40, seed=1)
    again, _ = shared_codes(run, data, images=40, seed=1)
    assert codes.shape == (40, 3)
    assert np.array_equal(codes, again)
    rng = counter_rng(1, 1)
    images = data.images(data.sample_index(40, rng), rng)
    np.testing.assert_allclose(codes, run.encode(images), rtol=1e-5, atol=1e-6)
    assert kl.shape == (3,)
    assert (kl > 0).all()


@pytest.mark.parametrize("name", names())
def test_every_measure_says_what_it_is_and_comes_back_from_its_settings(name):
    cls = get(name)
    assert cls.name == name
    assert cls.title
    assert cls.__doc__
    assert cls.needs or cls.applies is Measure.applies  # whoever is turned away hears why
    settings = json.loads(json.dumps(settings_of(cls())))
    assert make(name, settings) == cls()
    assert cls.__hash__ is not None
