"""Cards of classifiers whose numbers are known."""

import numpy as np
import pytest
from torch import nn

import unbraid
from unbraid import data
from unbraid.cli import main
from unbraid.errors import UsageError, UsageWarning
from unbraid.evaluation import rows_to_json
from unbraid.transfer import card, doubts_of, make_scenario, masking, subject_of
from unbraid.transfer.all_scenarios.trust import risk_coverage

FEW = ("iid", "noise", "gaussian-distance", "l2", "linf", "distal")


@pytest.fixture(scope="module")
def digits():
    return data.load("affine-digits:source=digits8").part(np.arange(0, 11_025_000, 55_009))


def constant(sure):
    def predict(images):
        return np.tile([sure] + [(1 - sure) / 9] * 9, (len(images), 1))

    return predict


def test_a_constant_classifier_is_at_chance_and_its_distances_mean_nothing(digits):
    found = card(constant(0.95), digits, scenarios=FEW, images=100, steps=5, check=False)
    share = (digits.labels(np.arange(len(digits))) == 0).mean()
    assert found["iid"] == pytest.approx(share, abs=0.08)
    assert found["noise"] == pytest.approx(found["iid"])  # the same images, whatever is done to them
    assert found["distal"] == 0.0  # sure of every noise image
    assert found["l2"] in (0.0, pytest.approx(28.0))
    notes = {line.scenario.name: line.note for line in found.lines}
    assert (
        "meaningless" in card(constant(0.95), _zeros(digits), scenarios=("l2",), images=20, check=False).lines[0].note
    )
    assert set(notes) == set(FEW)


def _zeros(digits):
    return digits.part(np.flatnonzero(digits.labels(np.arange(len(digits))) == 0))


def test_a_constant_classifier_that_is_sure_of_nothing_passes_distal(digits):
    assert card(constant(0.5), digits, scenarios=("distal",), images=10, steps=3)["distal"] == 1.0


def test_a_perfect_lookup_is_right_on_iid(digits):
    known = {image.tobytes(): label for image, label in zip(*_all(digits), strict=True)}

    def lookup(images):
        return np.eye(10)[[known.get(image.tobytes(), 0) for image in images]]

    found = card(lookup, digits, scenarios=("iid", "noise"), images=200)
    assert found["iid"] == 1.0
    assert found["noise"] < 0.5
    assert found.wrong == ()


def _all(digits):
    index = np.arange(len(digits))
    return digits.images(index), digits.labels(index)


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda images: np.full((len(images), 10), np.nan), "NaN"),
        (lambda images: np.zeros((len(images), 7)), "7 classes"),
        (lambda images: np.zeros((len(images), 1)), "one class"),
        (lambda images: np.zeros(len(images)), r"\[n, classes\]"),
        (lambda images: np.full((len(images), 10), 0.5), "neither probabilities nor logits"),
    ],
)
def test_outputs_that_cannot_be_meant_are_refused_before_any_work(digits, predict, words, monkeypatch):
    monkeypatch.setattr("unbraid.transfer.all_scenarios.inside.Held.numbers", lambda *_: pytest.fail("work was done"))
    with pytest.raises(UsageError, match=words):
        card(predict, digits, scenarios=("iid",))


def test_wrong_names_and_data_are_refused(digits):
    with pytest.raises(UsageError, match="did you mean 'noise'"):
        card(constant(0.5), digits, scenarios=("nois",))
    with pytest.raises(UsageError, match="neither classes"):
        card(constant(0.5), data.load("blobs16"), scenarios=("iid",))


def test_what_does_not_apply_is_left_out_and_said(digits):
    found = card(constant(0.5), digits, scenarios=("iid", "extrapolation", "invariance", "few-labels"), images=50)
    assert [line.scenario.name for line in found.lines] == ["iid"]
    assert set(found.left_out) == {"extrapolation", "invariance", "few-labels"}
    with pytest.raises(UsageError, match="gradients"):
        found["invariance"]
    assert "left out" in str(found)
    assert found.table().height == 1
    assert found.to_json()["left_out"]["few-labels"]
    shown = found._repr_html_()
    assert "<table>" in shown
    assert "few-labels: left out, needs" in shown
    assert "masked gradients were not looked for" in shown


def test_a_reference_stands_beside(digits):
    found = card(constant(0.5), digits, scenarios=("iid",), images=50, reference=constant(0.9))
    assert found.lines[0].reference == found["iid"]


def test_the_area_of_risk_over_coverage_by_hand():
    # The surest first: wrong, right, right: (1 + 1/2 + 1/3) / 3.
    assert risk_coverage(np.array([0.9, 0.5, 0.1]), np.array([False, True, True])) == pytest.approx(
        (1 + 1 / 2 + 1 / 3) / 3
    )
    assert risk_coverage(np.full(4, 0.5), np.array([True, False, True, False])) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    out = tmp_path_factory.mktemp("plain") / "run"
    return unbraid.train(
        "classifier", "digits8", net="small-cnn", steps=300, learning_rate=2e-3, out=out, progress="none"
    )


class Quantised(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model((images * 4).round() / 4)


class Scaled(Quantised):
    def forward(self, images):
        return 1e4 * self.model(images)


def test_masked_gradients_are_told_and_plain_ones_are_not(plain):
    test = data.load("digits8")
    assert masking(subject_of(plain, test), test) == ()
    quantised = masking(subject_of(Quantised(plain.classifier()), test), test)
    assert any("gradients" in doubt for doubt in quantised)
    scaled = masking(subject_of(Scaled(plain.classifier()), test), test)
    assert any("flat" in doubt for doubt in scaled)


def test_a_function_without_gradients_says_so():
    test = data.load("digits8")
    assert "blind" in masking(subject_of(constant(0.5), test), test)[0]


def test_gradients_find_nearer_images_than_blind_attacks(plain):
    test = data.load("digits8")
    scenario = make_scenario("l2", images=20)
    seen = scenario.ask(subject_of(plain, test), test)
    blind = scenario.ask(subject_of(plain.predict, test), test)
    assert float(seen["value"]) <= float(blind["value"])


def test_a_card_is_drawn_beside_its_reference(digits, tmp_path):
    found = card(constant(0.9), digits, scenarios=("iid", "noise"), images=60, reference=constant(0.5), check=False)
    figure = found.plot()
    assert len(figure.axes) >= 1
    words = {text.get_text() for axis in figure.axes for text in axis.get_yticklabels()}
    assert words == {line.scenario.title for line in found.lines}
    figure.savefig(tmp_path / "card.png")
    assert (tmp_path / "card.png").stat().st_size > 1000


def test_one_class_for_ten_is_flagged(digits):
    found = card(constant(0.95), digits, scenarios=("iid", "l2"), images=30, check=False)
    notes = {line.scenario.name: line.note for line in found.lines}
    assert notes["l2"] == "meaningless: the model names class 0 of every image"
    assert notes["iid"] == ""


def test_doubts_that_nobody_looked_for_are_not_called_none(digits, plain):
    test = data.load("digits8")
    assert card(constant(0.5), digits, scenarios=("iid",), images=20).doubts is None
    assert card(plain, test, scenarios=("l0",), images=5, check=False).doubts is None
    assert card(plain, test, scenarios=("l0",), images=5, budget="smoke").doubts == ()
    assert card(plain, test, scenarios=("iid",)).to_json()["doubts"] is None


def test_attacks_leave_their_doubts_beside_their_distances(plain):
    test = data.load("digits8")

    def asked(model):
        scores = make_scenario("l2", images=20).ask(subject_of(model, test), test)
        return scores, doubts_of(rows_to_json([({}, scores)])[0]["scores"])

    scores, doubts = asked(plain)
    assert (scores["doubts"], doubts) == (0.0, ())
    scores, doubts = asked(Scaled(plain.classifier()))
    assert scores["doubts"] == len(doubts) > 0
    assert any("flat" in doubt for doubt in doubts)
    assert "blind" in asked(plain.predict)[1][0]
    assert doubts_of({"value": {"value": 1.0, "settings": {}}, "misclassified": 0.0}) is None  # measured before


def test_settings_that_no_scenario_has_are_refused(digits):
    with pytest.raises(UsageError, match="unknown setting of iid, noise: 'imagez'; did you mean 'images'"):
        card(constant(0.5), digits, scenarios=("iid", "noise"), imagez=4)
    with pytest.raises(UsageError, match="'budget'"):
        card(constant(0.5), digits, scenarios=("iid",), budget="full")


def test_a_card_is_about_the_glyphs_that_were_asked_for():
    from unbraid.transfer import shown_data

    for asked in ("affine-digits:glyphs=test", data.load("affine-digits:glyphs=test")):
        found = card(constant(0.5), asked, scenarios=("iid",), images=20)
        assert found.data.startswith("affine-digits-test-random-test")
        assert "test" in found.settings["glyphs"]
        assert shown_data(asked).name == found.data
    assert shown_data("affine-digits").name == "affine-digits-random-test"
    assert shown_data("affine-digits:split=composition,side=test").name == "affine-digits-composition-test"


def test_images_that_a_run_may_have_seen_are_no_test(tmp_path):
    told = {"net": "mlp:width=8,depth=1", "steps": 2, "progress": "none"}
    whole = unbraid.train("classifier", "affine-digits:source=digits8", out=tmp_path / "whole", **told)
    with pytest.warns(UsageWarning, match="no test"):
        found = card(whole, "affine-digits:source=digits8", scenarios=("iid",), images=20)
    assert "may have seen these images" in found.lines[0].note
    side = unbraid.train("classifier", "affine-digits:source=digits8,split=random", out=tmp_path / "side", **told)
    assert card(side, "affine-digits:source=digits8", scenarios=("iid",), images=20).lines[0].note == ""


def test_the_page_says_the_command_that_makes_it_again(tmp_path):
    text = "import numpy as np\n\ndef mine(images):\n    return np.full((len(images), 10), 0.1)\n"
    (tmp_path / "mine.py").write_text(text)
    words = ["transfer", "card", "--model", f"{tmp_path / 'mine.py'}:mine", "--data", "affine-digits:glyphs=test"]
    words += ["--scenarios", "iid", "--images", "20", "--seed", "3"]
    assert main([*words, "--out", str(tmp_path / "card")]) == 0
    page = (tmp_path / "card" / "card.html").read_text(encoding="utf-8")
    assert " ".join(words[4:]) in page
    assert "--budget" not in page
