"""Shares of right answers under corruptions: counts, means, errors of means, streams."""

import numpy as np
import pytest
from classifier_toys import brightest_quarter, pictures, says

from unbraid import data, robustness
from unbraid.corruptions import IMAGENET_C, MNIST_C, corrupt
from unbraid.errors import UsageError
from unbraid.robustness import CorruptionTable, Spoiled, corrupting, corruption_table, corruption_tables

NAMES = ("gaussian_noise", "contrast", "impulse_noise")
IMAGES, LABELS = pictures()


@pytest.fixture(scope="module")
def table() -> CorruptionTable:
    return corruption_table(brightest_quarter, (IMAGES, LABELS), NAMES, (1, 5), trained_on=["gaussian_noise"], seed=3)


def test_every_cell_is_the_share_of_right_answers(table):
    for name in NAMES:
        for severity in (1, 5):
            spoiled = corrupt(IMAGES, name, severity, 3)
            right = brightest_quarter(spoiled).argmax(axis=1) == LABELS
            assert table.accuracy(name, severity) == right.mean()
    assert table.clean == (brightest_quarter(IMAGES).argmax(axis=1) == LABELS).mean()
    rows = table.table()
    assert rows["corruption"].to_list() == ["clean", *(name for name in NAMES for _ in range(2))]
    share = rows["accuracy"].to_numpy()
    np.testing.assert_allclose(rows["standard_error"], np.sqrt(share * (1 - share) / len(IMAGES)))
    assert rows.filter(trained_on=True)["corruption"].unique().to_list() == ["gaussian_noise"]


def test_means_are_over_severities_then_corruptions_and_leave_out_categories():
    spoiled = (
        Spoiled("gaussian_noise", "noise", 1),
        Spoiled("gaussian_noise", "noise", 2),
        Spoiled("fog", "weather", 1),
    )
    right = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0]], bool)
    found = CorruptionTable("m", "d", "s", spoiled, right, trained_on=frozenset({"gaussian_noise"}))
    assert found.mean() == ((1 / 4 + 1 / 4) / 2 + 3 / 4) / 2
    assert found.mean(exclude="noise") == found.mean(exclude=["gaussian_noise"]) == 3 / 4
    assert (found.marked(), found.marked(exclude="noise")) == (True, False)
    # Of each image: ((1 + 0) / 2 + 1) / 2, (0 + 1) / 2 twice, ((0 + 1) / 2 + 0) / 2.
    assert found.mean_error() == pytest.approx(np.std([3 / 4, 1 / 2, 1 / 2, 1 / 4], ddof=1) / 2)
    assert found.top5 is None
    with pytest.raises(UsageError, match="unknown corruption or category 'nois'; did you mean 'noise'"):
        found.mean(exclude="nois")
    with pytest.raises(UsageError, match="leaves no corruption"):
        found.mean(exclude=("noise", "fog"))


def test_the_error_of_a_mean_is_that_of_drawing_images_anew():
    # 2,000 draws of 50 images whose answers under two corruptions hang together: binomial errors would be too small.
    rng = np.random.default_rng(0)
    spoiled = (Spoiled("fog", "weather", 1), Spoiled("snow", "weather", 1))
    means, errors = [], []
    for _ in range(2000):
        base = rng.random(50) < 0.6
        right = np.array([base, base, base ^ (rng.random(50) < 0.1)])
        found = CorruptionTable("m", "d", "s", spoiled, right)
        means.append(found.mean())
        errors.append(found.mean_error())
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.05)


def test_the_true_class_among_five_counts_from_ten_classes_on():
    images, labels = pictures(classes=10)
    order = np.arange(10, 0, -1.0)  # classes 0 to 4 are the five highest
    found = corruption_table(lambda batch: np.tile(order, (len(batch), 1)), (images, labels), "fog", (1,))
    assert found.top5 == found.mean_top5(exclude=()) == (labels < 5).mean()
    assert found.mean() == (labels == 0).mean()
    assert corruption_table(says(0, 9), (images, labels % 9), "fog", (1,)).top5 is None


def test_batches_of_any_size_and_other_models_beside_change_nothing(table, monkeypatch):
    monkeypatch.setattr(corrupting, "BATCH", 7)
    models = {"brightest_quarter": brightest_quarter, "zero": says(0)}
    marks = {"brightest_quarter": ["gaussian_noise"]}
    both = corruption_tables(models, (IMAGES, LABELS), NAMES, (1, 5), trained_on=marks, seed=3)
    found = both["brightest_quarter"]
    np.testing.assert_array_equal(found.right, table.right)
    assert found.worst == table.worst
    assert str(found) == str(table)
    assert both["zero"].mean() == (LABELS == 0).mean()


def test_images_are_corrupted_once_for_all_models(monkeypatch):
    calls = []

    def counted(images, *rest, **more):
        calls.append(len(images))
        return corrupt(images, *rest, **more)

    monkeypatch.setattr(corrupting, "corrupt", counted)
    corruption_tables({str(k): says(k) for k in range(3)}, (IMAGES, LABELS), "fog", (1, 2))
    assert sum(calls) == 2 * len(IMAGES)


def test_the_worst_are_the_most_confident_of_the_wrong(table):
    assert table.worst
    for wrong in table.worst[:5]:
        image = IMAGES[wrong.image : wrong.image + 1]
        if wrong.severity:
            image = corrupt(image, wrong.corruption, wrong.severity, 3, indices=np.array([wrong.image]))
        scores = brightest_quarter(image)[0]
        chance = np.exp(scores) / np.exp(scores).sum()
        assert scores.argmax() == wrong.guess != wrong.truth == LABELS[wrong.image]
        assert wrong.confidence == pytest.approx(chance[wrong.guess])
    sure = [wrong.confidence for wrong in table.worst]
    assert sure == sorted(sure, reverse=True)


def test_probabilities_are_confidences_as_they_are():
    found = corruption_table(lambda images: np.tile([0.7, 0.3], (len(images), 1)), (IMAGES, LABELS % 2), "fog", (1,))
    assert {wrong.confidence for wrong in found.worst} == {0.7}


def test_a_model_like_the_reference_has_a_hundred(table):
    assert table.mce(table) == 100.0
    assert table.mce({name: 2 * error for name, error in table.errors().items()}) == pytest.approx(50.0)
    assert set(table.relative_errors(table)) == set(NAMES)
    other = corruption_table(brightest_quarter, (IMAGES, LABELS), NAMES, (1,), seed=3)
    with pytest.raises(UsageError, match="ask both alike"):
        table.mce(other)
    with pytest.raises(UsageError, match="makes no error under contrast"):
        table.mce({**table.errors(), "contrast": 0.0})
    with pytest.raises(UsageError, match=r"mean over all corruptions .* of fog no errors are given"):
        table.mce({**table.errors(), "fog": 0.5})
    with pytest.raises(UsageError, match="no error for contrast"):
        table.mce({"gaussian_noise": 0.5, "impulse_noise": 0.5})


def test_suites_have_their_fifteen_corruptions_and_all_severities():
    assert [len(corrupting.plan_of(name).entries) for name in ("mnist-c", "imagenet-c", "imagenet-c-holdout")] == [
        15,
        75,
        20,
    ]
    names = corrupting.plan_of("fog,mnist-c/fog").spoiled
    assert [row.corruption for row in names][::5] == ["imagenet-c/fog", "mnist-c/fog"]
    noise = [row.corruption for row in corrupting.plan_of("mnist-c").spoiled if row.category == "noise"]
    assert noise == ["shot_noise", "impulse_noise"]
    assert len({name for name in IMAGENET_C if IMAGENET_C[name].category == "noise"}) == 3
    assert len(MNIST_C) == 15


def test_a_data_set_that_draws_gives_the_same_in_any_batch(monkeypatch):
    noisy = data.load("noisy-mini-sprites")
    asked = {"images": 6, "factor": "shape"}
    whole = corruption_table(says(1, 3), noisy, "contrast", (1,), **asked)
    seen = []
    monkeypatch.setattr(corrupting, "BATCH", 2)
    again = corruption_table(
        lambda batch: seen.append(batch) or np.eye(3)[[1] * len(batch)], noisy, "contrast", (1,), **asked
    )
    np.testing.assert_array_equal(whole.right, again.right)
    from unbraid.robustness._examples import Examples

    np.testing.assert_array_equal(np.concatenate(seen[:3]), Examples(noisy, 6).read(slice(None)))


def test_it_shows_itself_in_notebooks_and_lazily(table):
    assert "gaussian_noise *" in table._repr_html_()
    assert "brightest_quarter on own images, 40 images" in str(table)
    import unbraid

    assert unbraid.robustness is robustness


@pytest.mark.parametrize(
    ("predict", "given", "asked", "message"),
    [
        (brightest_quarter, (IMAGES / 255, LABELS), {}, "images must be uint8"),
        (brightest_quarter, (IMAGES[..., 0], LABELS), {}, "images must be uint8 \\[n, height, width, channels\\]"),
        (brightest_quarter, (np.moveaxis(IMAGES, 3, 1), LABELS), {}, "channels come last"),
        (brightest_quarter, (IMAGES, LABELS[:3]), {}, "labels must be 40 whole numbers"),
        (brightest_quarter, (IMAGES, LABELS - 1), {}, "from -1"),
        (brightest_quarter, (IMAGES, LABELS / 2), {}, "labels must be 40 whole numbers"),
        (brightest_quarter, IMAGES.tolist(), {}, "a pair of images and classes"),
        (brightest_quarter, 3, {}, "must be a data set"),
        (brightest_quarter, (IMAGES, LABELS), {"severities": (6,)}, "severities 1, 2, 3, 4, 5, got 6"),
        (
            brightest_quarter,
            (IMAGES, LABELS),
            {"suite": "mnist-c", "severities": (3,)},
            "one setting, severity 1, got 3",
        ),
        (brightest_quarter, (IMAGES, LABELS), {"suite": "fgo"}, "did you mean 'fog'"),
        (brightest_quarter, (IMAGES, LABELS), {"suite": ""}, "names no corruption"),
        (brightest_quarter, (IMAGES, LABELS), {"images": 0}, "images must be at least 1"),
        (brightest_quarter, (IMAGES, LABELS), {"trained_on": ["gausian_noise"]}, "did you mean 'gaussian_noise'"),
        (lambda images: np.full((len(images), 4), np.nan), (IMAGES, LABELS), {}, "no numbers .* 40 of 40"),
        (lambda images: np.zeros((len(images), 1)), (IMAGES, LABELS), {}, "one class; two are the least"),
        (
            lambda images: np.zeros((len(images), 3)),
            (IMAGES, LABELS),
            {},
            "scores of 3 classes, and own images has a class 3",
        ),
        (lambda images: np.zeros(len(images)), (IMAGES, LABELS), {}, "must give scores \\[n, classes\\]"),
        (lambda _: np.zeros((2, 4)), (IMAGES, LABELS), {}, "of 40 images it gave float64 \\[2, 4\\]"),
        (brightest_quarter, data.load("blobs16"), {}, "has no classes .* the factors x, y"),
        (brightest_quarter, data.load("blobs16"), {"factor": "z"}, "has no classes"),
    ],
)
def test_what_cannot_be_meant_is_told(predict, given, asked, message):
    with pytest.raises(UsageError, match=message):
        corruption_table(predict, given, **{"suite": "contrast", "severities": None, **asked})


def test_modules_and_runs_are_asked_like_functions(tmp_path):
    import torch

    import unbraid

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(256, 4))

    def function(images):
        floats = torch.from_numpy(np.moveaxis(images, 3, 1) / np.float32(255))
        return net[2](floats.flatten(1)).detach().numpy()

    found = corruption_tables({"net": net, "function": function}, (IMAGES, LABELS), "fog", (1, 5))
    np.testing.assert_array_equal(found["net"].right, found["function"].right)
    blobs = data.load("blobs16")
    options = {"net": "mlp:width=8", "factor": "x", "steps": 2, "progress": "none"}
    run = unbraid.train("classifier", blobs, out=tmp_path / "run", **options)
    of_run = corruption_table(run, blobs, "contrast", (2,), images=50, seed=1)
    index = np.sort(data.counter_rng(1, 0).choice(256, size=50, replace=False))
    said = run.predict(corrupt(blobs.images(index), "contrast", 2, 1, indices=index)).argmax(axis=1)
    np.testing.assert_array_equal(of_run.right[1], said == blobs.factors(index)[:, 0])
    assert of_run.model == "run"
    assert of_run.top5 >= of_run.mean()
    vae = unbraid.train("beta-vae", blobs, net="mlp:width=8", steps=1, out=tmp_path / "vae", progress="none")
    with pytest.raises(UsageError, match="vae does not name classes: it was trained by 'beta-vae'"):
        corruption_table(vae, blobs, "fog")
