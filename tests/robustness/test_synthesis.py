"""Analysis by synthesis: posteriors, thresholds and neighbours against what is known."""

import numpy as np
import pytest
import torch
from synthesis_toys import LinearGenerators, LinearSynthesis
from torch import nn

import dots  # noqa: F401 (registers the data set)
import unbraid
from unbraid.data import load
from unbraid.errors import UsageError, UsageWarning
from unbraid.nets import ClassVAEs, Search, load_released_abs
from unbraid.objectives import Inputs
from unbraid.robustness import attacks
from unbraid.robustness.synthesis import (
    PUBLISHED,
    Binarised,
    Calibration,
    NearestNeighbour,
    SearchClassifier,
    binary_bound,
    calibrate,
    fit_scales,
    infer,
    l2_bound,
    lower_bounds,
    posterior,
    scaled_l2_bound,
)

RNG = np.random.default_rng(0)


def test_far_from_every_class_all_are_as_likely():
    assert (posterior(np.full((1, 10), -1e6)) == 0.1).all()
    assert (posterior(np.array([[-1e5, -1e5, 0.0]])).argmax(1) == 2).all()
    assert np.isfinite(posterior(RNG.uniform(-1e5, 1e5, (20, 10)))).all()


def test_the_published_posterior_of_a_clean_digit():
    # exp(-440 / 784 * 9.5) = 4.84e-3 against nine times exp(-33.7), with 3.9e-5 added to each:
    # (4.84e-3 + 3.9e-5) / (4.84e-3 + 10 * 3.9e-5) = 0.9328.
    scores = -np.array([[9.5, *[60.0] * 9]])
    assert posterior(scores, PUBLISHED)[0, 0] == pytest.approx(0.9328, abs=5e-4)


def test_without_eta_it_is_softmax_and_it_never_changes_the_class():
    scores = RNG.normal(0, 5, (50, 4))
    np.testing.assert_allclose(posterior(scores, Calibration()), torch.softmax(torch.tensor(scores), 1))
    for alpha, eta in ((0.1, 0.0), (3.0, 0.5), (0.7, 1e-9)):
        assert (posterior(scores, Calibration(alpha, eta)).argmax(1) == scores.argmax(1)).all()


def test_calibration_reaches_its_median():
    labels = RNG.integers(0, 5, 400)
    scores = -RNG.gamma(4, 10, (400, 5))
    scores[np.arange(400), labels] += 60
    found = calibrate(scores, labels)
    assert np.median(posterior(scores, found).max(1)) == pytest.approx(0.9, abs=0.002)
    assert found.eta > 0
    # All images right by a wide margin, as digits are: ever larger alphas fit, and the smallest is meant.
    sure = -RNG.uniform(40, 80, (200, 10))
    sure[np.arange(200), np.arange(200) % 10] = -RNG.uniform(5, 12, 200)
    fitted = calibrate(sure, np.arange(200) % 10)
    assert np.median(posterior(sure, fitted).max(1)) == pytest.approx(0.9, abs=0.002)
    assert fitted.alpha < 1
    with pytest.warns(UsageWarning, match="eta, which stays 0"):
        assert calibrate(RNG.normal(0, 1, (50, 5)), RNG.integers(0, 5, 50)).eta == 0


def test_scores_far_from_zero_are_calibrated_or_refused():
    labels = RNG.integers(0, 5, 400)
    scores = -RNG.gamma(4, 10, (400, 5))
    scores[np.arange(400), labels] += 60
    near = calibrate(scores, labels)
    # (exp(a (l + s)) + eta') / sum is the same with eta' = exp(a s) eta: a shift multiplies eta, and nothing else.
    shift = 500 / near.alpha
    far = calibrate(scores + shift, labels)
    assert far.alpha == pytest.approx(near.alpha, rel=1e-4)
    np.testing.assert_allclose(posterior(scores + shift, far), posterior(scores, near), atol=1e-3)
    large = calibrate(1e6 * scores, labels)  # a factor goes into alpha
    np.testing.assert_allclose(posterior(1e6 * scores, large), posterior(scores, near), atol=1e-3)
    for beyond in (1e9, -1e9):  # exp(alpha 1e9) overflows, exp(-alpha 1e9) would silently be 0
        with pytest.raises(UsageError, match="subtract the same number"):
            calibrate(scores + beyond, labels)


def test_latent_descent_ends_on_the_boundary_of_its_last_line():
    net = LinearSynthesis()
    images = (0.8 * net.made.shifts + 0.1).view(2, 1, 3, 3)
    truth = torch.arange(2)
    found = attacks.latent_descent(net, images, truth, step=0.1, steps=200)
    assert found.success.all()
    towards = net.infer(images).reconstruction[truth, 1 - truth]
    line = found.adversarials - images
    for row in range(2):
        assert found.distances[row] <= (towards[row] - images[row]).norm() + 1e-4
        # Along the line to what was found the class changes just before it, by the exact energies of linear decoders.
        shares = torch.linspace(0, 1.02, 2000)
        flat = (images[row] + shares[:, None, None, None] * line[row]).flatten(1)
        wrong = net.made.energies(flat).argmin(1) != truth[row]
        assert float(shares[wrong.int().argmax()]) == pytest.approx(1, abs=0.02)


def test_binary_models_say_what_each_class_would_draw():
    net = LinearSynthesis()
    images = torch.rand(3, 1, 3, 3, generator=torch.Generator().manual_seed(2))
    found = Binarised(net, scales=[1.0, 2.0]).infer(images)
    plain = net.infer((images >= 0.5).float())
    torch.testing.assert_close(found.energy, plain.energy * torch.tensor([1.0, 2.0]))
    torch.testing.assert_close(Binarised(net, scales=[1.0, 2.0])(images), -found.energy)
    with pytest.raises(UsageError, match="scales must be 2 numbers"):
        Binarised(net, scales=[1.0])(images)


def test_runs_of_abs_say_what_each_class_would_draw(tmp_path):
    blobs = load("blobs16")
    run = unbraid.train(
        "abs", blobs, factor="x", steps=2, batch_size=2, samples=20, iterations=2, out=tmp_path / "abs", progress="none"
    )
    images = blobs.images(np.arange(3))
    found = infer(run, images)
    np.testing.assert_allclose(-run.predict(images), found.energy, rtol=1e-4)
    drawn = run.classifier().infer(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255)
    np.testing.assert_allclose(drawn.reconstruction, found.reconstructions, atol=1e-4)
    assert found.energy.shape == (3, blobs.factor_sizes[0])
    assert (found.best == run.predict(images).argmax(1)).all()
    plain = unbraid.train("vae", blobs, net="mlp:width=8", latents=3, steps=2, out=tmp_path / "vae", progress="none")
    codes = infer(plain, images, samples=50, iterations=5)  # any decoder can be searched with
    assert codes.codes.shape == (3, 1, 3)
    better = infer(plain, images, samples=50, iterations=30)
    assert (better.energy <= codes.energy).all()
    quick = infer(plain, images, quick=True)
    assert (quick.energy == infer(plain, images, samples=1000, iterations=25).energy).all()
    assert (infer(plain, images, quick=True, samples=50, iterations=5).energy == codes.energy).all()
    with pytest.raises(UsageError, match="one decoder"):
        lower_bounds(plain, images, np.zeros(3, dtype=int))
    for ask in (infer, lambda *asked: lower_bounds(*asked, labels=[0])):
        with pytest.raises(UsageError, match="images must be 16x16 pixels with 1 channels, which this run draws"):
            ask(run, np.zeros((1, 8, 8, 1), np.uint8))


def test_on_noise_no_class_is_likelier_than_another():
    # Distal images: every energy is high there, exp(alpha l) vanishes beside eta, and three classes have a third each.
    made, noise = LinearGenerators(), torch.Generator().manual_seed(4)
    truth = torch.arange(60) % 3
    images = (made.shifts[truth] + 0.05 * torch.randn(60, 9, generator=noise)).clamp(0, 1)
    known = -made.energies(images).numpy()
    fitted = calibrate(known, truth.numpy())
    assert np.median(posterior(known, fitted).max(1)) == pytest.approx(0.9, abs=0.002)
    far = 3 * torch.randn(50, 9, generator=noise)  # nine pixels of [0, 1] would often be near a class by chance
    found = posterior(-made.energies(far).numpy(), fitted)
    assert found.max() <= 1.01 / 3


def test_the_divergence_of_training_is_that_of_normals():
    # 0.5 sum(mu^2 + s^2 - 1 - ln s^2), the general formula, against torch's own.
    objective = unbraid.objectives.make("abs", {"factor": "x"})
    net = ClassVAEs((16, 16, 1), 2, 3, generator=torch.Generator().manual_seed(0)).eval()
    images = torch.rand(8, 1, 16, 16, generator=torch.Generator().manual_seed(1))
    terms = objective.loss(net, Inputs(images), 0, torch.Generator().manual_seed(2))
    mean, log_variance = net.encode(images.unflatten(0, (2, -1)).transpose(0, 1))
    drawn = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    exact = torch.distributions.kl_divergence(drawn, prior).sum(-1).mean()
    torch.testing.assert_close(terms.watched["kl"], exact, rtol=1e-5, atol=1e-6)


def small_loss(images, step=0, clean=None, **options):
    """The terms of training two classes, and what independent computations need: network and noise."""
    objective = unbraid.objectives.make("abs", {"factor": "x", **options})
    net = ClassVAEs((16, 16, 1), 2, 3, generator=torch.Generator().manual_seed(0)).eval()
    terms = objective.loss(net, Inputs(images, clean=clean), step, torch.Generator().manual_seed(2))
    return terms, net


@pytest.mark.parametrize(("step", "weight"), [(0, 10), (25, 7.75), (50, 5.5), (100, 1), (1000, 1)])
def test_the_divergence_weighs_less_from_step_to_step_until_it_weighs_one(step, weight):
    # From 10 to 1 in a straight line over 100 steps, and no further.
    images = torch.rand(8, 1, 16, 16, generator=torch.Generator().manual_seed(1))
    terms, _ = small_loss(images, step, kl_start=10.0, anneal_steps=100)
    penalty, kl = terms.terms["penalty"], terms.watched["kl"]
    assert (penalty / kl).item() == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_training_compares_decodings_with_the_clean_images_of_their_class(likelihood):
    rng = torch.Generator().manual_seed(1)
    images, clean = torch.rand(2, 8, 1, 16, 16, generator=rng)
    terms, net = small_loss(images, clean=clean, likelihood=likelihood)
    # Images come class after class; the network wants them side by side.
    mean, log_variance = net.encode(torch.stack([images[:4], images[4:]], 1))
    drawn = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(2))
    decoded = net.decode(mean + (log_variance / 2).exp() * drawn)
    targets = torch.stack([clean[:4], clean[4:]], 1)
    if likelihood == "bernoulli":
        expected = torch.nn.functional.binary_cross_entropy(decoded, targets, reduction="sum") / 8
    else:
        expected = torch.nn.functional.mse_loss(decoded, targets, reduction="sum") / 8
    torch.testing.assert_close(terms.terms["reconstruction"], expected, rtol=1e-5, atol=0)


class Summed(nn.Module):
    def forward(self, images):
        total = images.flatten(1).sum(1)
        return torch.stack([-total.square(), total], 1)


def test_a_threshold_is_binary_forward_and_invisible_backward():
    images = torch.tensor([[[[0.2, 0.5], [0.49, 0.9]]]], requires_grad=True)
    scores = Binarised(Summed())(images)
    assert scores.tolist() == [[-4, 2]]  # 0.5 itself counts as 1
    scores[0, 0].backward()
    # d(-s^2)/ds = -2 s = -4 at the binarised sum of 2, for every pixel.
    assert (images.grad == -4).all()


def test_what_crosses_no_threshold_changes_nothing():
    images = torch.rand(5, 1, 3, 3, generator=torch.Generator().manual_seed(0))
    moved = torch.where(images >= 0.5, 0.5 + 0.9 * (images - 0.5), 0.9 * images)
    assert torch.equal(Binarised(Summed())(moved), Binarised(Summed())(images))
    scaled = Binarised(Summed(), scales=[2.0, 1.0])(images)
    assert torch.equal(scaled[:, 0], 2 * Binarised(Summed())(images)[:, 0])


def test_scales_of_classes_make_more_images_right():
    # Class 1 has energies 4 % too low everywhere: a scale of 1.05 or more hands class 0 its own images back.
    energies = np.array([[100.0, 97.0], [100.0, 96.5], [120.0, 100.0], [110.0, 90.0]])
    labels = np.array([0, 0, 1, 1])
    scales = fit_scales(-energies, labels)
    assert ((-energies * scales).argmax(1) == labels).all()
    assert (fit_scales(-np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0, 1])) == 1).all()  # nothing to gain


def test_the_nearest_neighbour_is_nearest():
    known = RNG.integers(0, 256, (30, 4, 4, 1), dtype=np.uint8)
    labels = np.arange(30) % 3
    net = NearestNeighbour(known, labels)
    images = torch.rand(6, 1, 4, 4, dtype=torch.float32, generator=torch.Generator().manual_seed(1), requires_grad=True)
    scores = net(images)
    flat = known.transpose(0, 3, 1, 2).reshape(30, -1) / 255
    apart = np.linalg.norm(images.detach().numpy().reshape(6, 1, -1) - flat[None], axis=-1)
    expected = -np.stack([apart[:, labels == c].min(1) for c in range(3)], 1)
    np.testing.assert_allclose(scores.detach(), expected, rtol=1e-5)
    scores[:, 1].sum().backward()
    # The gradient of minus a distance has length one.
    np.testing.assert_allclose(images.grad.flatten(1).norm(dim=1), 1, rtol=1e-4)
    with pytest.raises(UsageError, match="no image of class 1"):
        NearestNeighbour(known[:2], np.array([0, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: posterior([[np.nan, 1.0]]), "finite"),
        (lambda: posterior([1.0, 2.0]), r"\[n, classes\]"),
        (lambda: Calibration(0.0), "alpha must be above 0"),
        (lambda: calibrate([[1.0, 0.0]], [2]), r"labels must lie in 0\.\.1"),
        (lambda: l2_bound(np.ones((2, 1)), np.ones(3), np.ones(2)), "distances must be"),
        (lambda: l2_bound(-np.ones((2, 1)), np.ones(2), np.ones(2)), "not negative"),
        (lambda: scaled_l2_bound(*np.ones((1, 2, 1)), [1, 1], [1, 1], [1], [[1], [1]]), r"own must be .* \[2\]"),
        (lambda: scaled_l2_bound(*np.ones((1, 1, 1)), [1], [1], [1], [[0]]), "numbers above 0"),
        (lambda: binary_bound([[0.0, 255.0]], [1.0]), "divide bytes by 255"),
        (lambda: binary_bound([[0.0, 1.0]], [1.0, 2.0]), "bounds must be 1 numbers from 0"),
        (lambda: fit_scales([[np.nan, 0.0]], [0]), "scores must be finite"),
        (lambda: fit_scales([[1.0, 0.0]], [2]), r"labels must be whole numbers in 0\.\.1"),
        (lambda: Binarised(Summed(), threshold=0), "threshold must lie"),
        (lambda: Binarised(Summed(), scales=[1.0, -1.0]), "scales must be"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def release(net, folder):
    """One file per class, as released: names of layers do not matter, torch's old format, the decoder first in one."""
    files = []
    for number in range(net.classes):
        state = {}
        for half, layers in (("q", net.encoder), ("p", net.decoder)):
            for place, layer in enumerate(layers):
                for kind, tensor in layer.state_dict().items():
                    part = tensor if tensor.ndim == 0 else tensor.view(net.classes, -1, *tensor.shape[1:])[number]
                    state[f"{half}.l{place}.{kind}"] = part.clone()
        if number == 1:
            state = {name: state[name] for name in sorted(state, key=lambda name: name[0])}
        files.append(folder / f"{number}.net")
        torch.save(state, files[-1], _use_new_zipfile_serialization=False)
    return files


def test_released_weights_are_known_by_their_shapes(tmp_path):
    net = ClassVAEs((28, 28, 1), 3, 4, generator=torch.Generator().manual_seed(4))
    net.encode(torch.rand(4, 3, 1, 28, 28)), net.decode(torch.randn(4, 3, 4))  # batch norms learn something
    files = release(net.eval(), tmp_path)
    loaded = load_released_abs(files)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), net.parameters(), strict=True))
    codes = torch.randn(2, 3, 4)
    assert torch.equal(loaded.decode(codes), net.decode(codes))
    images = loaded.decode(codes)[:, 1].detach()
    scores = SearchClassifier(loaded, Search(samples=200, iterations=30))(images)
    assert scores.argmax(1).tolist() == [1, 1]  # who made them explains them best
    with pytest.raises(UsageError, match="one per class"):
        load_released_abs(files[:1])
    with pytest.raises(UsageError, match="of shape"):
        load_released_abs(release(ClassVAEs((32, 32, 1), 3, 4), tmp_path))
    (tmp_path / "0.net").write_bytes(b"no weights")
    with pytest.raises(UsageError, match="not a readable state dict"):
        load_released_abs(files)
