"""Float vectors as data: spheres, own vectors, pairs of them, and training on them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import unbraid
from unbraid.data import PairStream, SequenceStream, Spheres, from_vectors, load
from unbraid.data.hashing import hash_normal
from unbraid.errors import UsageError
from unbraid.nets import build, likelihood
from unbraid.objectives import AE, BetaVAE, SlowVAE
from unbraid.theory.toys import linear_mixing, pair_toy


def test_points_lie_on_two_spheres_in_all_directions():
    data = Spheres(d=20, radius=3.0, images=4000)
    points, labels = data.images(np.arange(4000)), data.labels()
    assert np.allclose(np.linalg.norm(points, axis=1), np.where(labels == 1, 3.0, 1.0), rtol=1e-5)
    assert abs(labels.mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)
    directions = points / np.linalg.norm(points, axis=1, keepdims=True)
    # A uniform direction has mean 0 and covariance 1/d in every coordinate.
    assert (abs(directions.mean(axis=0)) < 5 / np.sqrt(20 * 4000)).all()
    assert np.allclose(np.cov(directions, rowvar=False), np.eye(20) / 20, atol=5 / 20 / np.sqrt(4000) * 1.5)
    # The square of one coordinate is Beta(1/2, (d - 1)/2) distributed.
    assert stats.kstest(directions[:, 3] ** 2, stats.beta(0.5, 9.5).cdf).pvalue > 1e-3
    # Inner and outer points share no direction, and seeds share no point.
    assert abs(directions[::2] @ directions[1::2].T).max() < 1 - 1e-6
    assert not np.isclose(Spheres(d=20, seed=1).images([0]), points[0]).any()
    with pytest.raises(UsageError, match="radius"):
        Spheres(radius=0.5)


def test_hashed_numbers_are_normal_and_independent_of_their_order():
    counters = np.arange(200_000, dtype=np.uint64)
    drawn = hash_normal(counters, 3)
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 5 / np.sqrt(200_000)
    assert (hash_normal(counters[::-1], 3) == drawn[::-1]).all()


def test_own_vectors_with_factors_classes_and_pairs():
    vectors = np.arange(12.0).reshape(4, 3) - 5
    own = from_vectors(vectors, factors=[[0, 2], [1, 0], [1, 1], [0, 0]], labels=[1, 0, 1, 1], names=["a", "b"])
    assert own.shape == (3,)
    assert own.factor_sizes == (2, 3)
    assert own.space is None
    assert own.factors([1]).tolist() == [[1, 0]]
    assert own.labels().tolist() == [1, 0, 1, 1]
    for ask in (own.images, own.factors, own.labels):
        for outside in (-1, 4):
            with pytest.raises(UsageError, match=r"index must lie in 0\.\.3"):
                ask([outside])
    measured = from_vectors(vectors, factors=vectors[:, :1], pairs=[[0, 2], [1, 3]])
    assert measured.factor_sizes is None
    batch = PairStream(measured, 50, 0)(0)
    assert (batch.partners - batch.images == 6).all()
    assert batch.factors.shape == (50, 1)
    assert (SequenceStream(measured, 8, 0, length=2)(0).partners >= -2).any()
    with pytest.raises(UsageError, match="pairs only"):
        SequenceStream(measured, 8, 0, length=3)
    half = measured.part([0, 2, 3])
    assert (PairStream(half, 20, 0)(0).index == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vectors": [1.0, 2.0]}, "vectors must be"),
        ({"vectors": [[np.nan]]}, "finite"),
        ({"labels": [0, 1]}, r"labels must be integers \[3\]"),
        ({"labels": [0, 1, 2], "classes": ["a", "b"]}, r"labels must lie in 0\.\.1"),
        ({"factors": [[0], [-1], [2]]}, "not be negative"),
        ({"factors": [[0], [1], [2]], "names": ["a", "b"]}, "names has 2 entries"),
        ({"pairs": [[0, 3]]}, "pairs must be positions"),
        ({"pairs": [[0.5, 1]]}, r"pairs must be integers \[m, 2\]"),
    ],
)
def test_wrong_vectors_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        from_vectors(**{"vectors": np.zeros((3, 2)), **options})


def test_networks_and_likelihoods_take_vectors_or_say_why_not():
    import torch

    encoder, decoder = build("mlp:width=8", (5,), 2)
    assert decoder(encoder(torch.zeros(3, 5))[:, :2]).shape == (3, 5)
    for name in ("conv", "conv-bn", "slow"):
        with pytest.raises(UsageError, match=r"vectors of 5 numbers.*mlp"):
            build(name, (5,), 2)
    seen = torch.tensor([[0.0, 3.0]])
    assert likelihood("gaussian").nll(torch.zeros(1, 2), seen).tolist() == [9.0]
    assert likelihood("gaussian").mean(seen).tolist() == [[0.0, 3.0]]
    with pytest.raises(UsageError, match="likelihood gaussian"):
        likelihood("bernoulli").nll(torch.zeros(1, 2), seen)


def test_a_run_on_vectors_encodes_decodes_and_resumes(tmp_path):
    # Points on a line in space: one latent is enough to reconstruct them.
    line = from_vectors(np.linspace(-3, 3, 200)[:, None] * [1.0, 2.0, -1.0])
    objective = AE(latents=1, net="linear", likelihood="gaussian", learning_rate=3e-2)
    options = {"batch_size": 64, "progress": "none", "log_every": 50}
    unbraid.train(objective, line, steps=100, out=tmp_path / "run", **options)
    run = unbraid.train(objective, line, steps=400, out=tmp_path / "run", **options)
    vectors = line.images(np.arange(200))
    again = run.decode(run.encode(vectors))
    assert again.dtype == np.float32
    assert np.abs(again - vectors).max() < 0.1
    assert run.info["data"]["shape"] == [3]
    with pytest.raises(UsageError, match=r"floats \[n, 3\]"):
        run.encode(np.zeros((2, 3), np.uint8))
    # What can never be trained on vectors is refused before there is a run, which would be in the way of the right one.
    with pytest.raises(UsageError, match=r"vectors of 3 numbers.*--likelihood gaussian"):
        unbraid.train(BetaVAE(net="linear"), line, steps=1, out=tmp_path / "other", **options)
    right = BetaVAE(net="linear", likelihood="gaussian")
    with pytest.raises(UsageError, match="reference_size is for images"):
        unbraid.train(replace(right, reference_size=64), line, steps=1, out=tmp_path / "other", **options)
    assert unbraid.train(right, line, steps=1, out=tmp_path / "other", **options).finished


def test_pages_draw_no_vectors(tmp_path):
    from unbraid.report.explorer import run_site
    from unbraid.report.page import write_report
    from unbraid.report.sheet import contact_sheet
    from unbraid.report.traversal import traverse

    data = load("synth-linear")
    objective = BetaVAE(latents=2, net="linear", likelihood="gaussian")
    run = unbraid.train(objective, data, steps=2, out=tmp_path / "run", progress="none")
    for draw in (lambda: contact_sheet(data, tmp_path / "sheet.png"), lambda: traverse(run, data)):
        with pytest.raises(UsageError, match="holds vectors of 3 numbers"):
            draw()
    with pytest.raises(UsageError, match="trained on vectors"):
        run_site(run.path)
    write_report([run.path], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "What the latents do" not in page
    assert "Reconstructions" not in page


def test_toy_worlds_are_data_with_pairs(tmp_path):
    rng = np.random.default_rng(0)
    toy = pair_toy(300, 2, linear_mixing(2, rng), rng, alpha=1.0, rate=2.0)
    data = toy.data()
    assert (data.shape, len(data), data.factor_names) == ((2,), 600, ("z0", "z1"))
    first, second = data.draw_pairs(100, rng)
    assert np.allclose(data.images(second), toy.later_seen[first], atol=1e-6)
    assert np.allclose(data.factors(first), toy.latents[first])
    run = unbraid.train(
        SlowVAE(latents=2, net="mlp:width=8", likelihood="gaussian"),
        data,
        steps=3,
        batch_size=16,
        out=tmp_path / "run",
        progress="none",
    )
    assert run.info["step"] == 3
    scores = unbraid.evaluate(run, data, ["mcc"], train=200)
    assert 0 <= float(scores["mcc"]) <= 1
