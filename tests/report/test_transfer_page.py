"""The page of a matrix: every cell says its numbers, and what is decided can be told from what is not."""

import json

import polars as pl
import pytest
from page_checks import check_page
from transfer_numbers import made_up, row

from unbraid.report.page.palette import shade
from unbraid.report.transfer import card_page, matrix_page
from unbraid.report.transfer.grouping import columns_of, rows_of
from unbraid.report.transfer.model_cards import doubts_of, limits
from unbraid.report.transfer.shown import REACH, with_titles
from unbraid.transfer import DOMAINS, Card, Domain, make_scenario, matrix
from unbraid.transfer.card import Line


def cell(page, bias: str, scenario: str) -> dict:
    found = [a for a in page.all("td") if (a.get("data-tip") or "").startswith(f"{bias} · {scenario}")]
    (one,) = found
    return one


def test_the_page_is_well_formed_for_several_domains():
    page = check_page(matrix_page([made_up(), made_up("rooms3d-32")]))
    assert next(a["id"] for a in page.all("details")) == "card-affine-digits-vanilla"
    assert sum(a.get("class") == "card" for a in page.all("details")) == 2 * 7
    assert "on rooms3d-32" in page.text


def test_biases_stand_by_kind_and_scenarios_by_group():
    found = made_up()
    assert columns_of(found) == [
        ("", ["iid"]),
        ("unseen factors", ["composition", "extrapolation"]),
        ("corruptions", ["noise", "blur"]),
        ("smallest change", ["linf"]),
    ]
    assert dict(rows_of(found)) == {
        "training data": ["gaussian-noise"],
        "architecture": ["coordinates", "binarised"],
        "loss": ["bijection", "ice"],
        "two at once": ["gaussian-noise+binarised"],
    }
    # A way of being asked is one change of the representation that it stands on, not two biases at once.
    values = {name: row(iid=0.5, l2=1.0) for name in ("vanilla", "slow-vae", "slow-vae+verified")}
    assert dict(rows_of(matrix(values)))["inference"] == ["slow-vae+verified"]


def test_better_undecided_and_unchanged_cells_look_different():
    page = check_page(matrix_page([made_up()]))
    better, undecided = cell(page, "gaussian-noise", "Noise"), cell(page, "binarised", "Noise")
    assert better["class"].split() == [shade(39, -REACH, REACH), "marked", "holm", "first"]
    assert undecided["class"].split() == ["open", "first"]
    assert cell(page, "gaussian-noise", "Blur")["class"].split() == ["h0", "same", "marked"]
    # The sign of an undecided cell is still seen: its number has the colour of its effect.
    links = [a["class"] for a in page.all("a") if (a.get("class") or "").startswith("cell n")]
    assert f"cell {shade(-19, -REACH, REACH)}" in links


def test_a_cell_says_seeds_interval_and_holm():
    told = cell(check_page(matrix_page([made_up()])), "gaussian-noise", "L∞")["data-tip"]
    # 0.063 against 0.036 is 75 % more; all seeds differ by the same.
    assert "+74.3 % of the twin's distance against vanilla" in told
    assert "(two standard errors)" in told
    assert "0.063, 0.064, 0.063 against 0.036, 0.037, 0.036 (seeds 0, 1, 2)" in told
    assert "after Holm" in told
    single = cell(check_page(matrix_page([made_up()])), "binarised", "L∞")["data-tip"]
    assert "(seed 0)" in single
    assert "Holm" not in single


def test_verdicts_can_be_reached_by_keyboard():
    page = check_page(matrix_page([made_up()]))
    words = {a["data-tip"].partition(":")[0]: a for a in page.all("button") if "word" in (a.get("class") or "")}
    assert set(words) == set(made_up().biases)
    assert "too few seeds on its own L∞" in words["binarised"]["data-tip"]
    assert "left-open" in words["binarised"]["class"]


def test_cards_have_chance_and_ceiling():
    # Ten digits, and images of 28x28 pixels between 0 and 1: no change is larger than 1 in L∞.
    assert limits("affine-digits") == (10, (28, 28, 1))
    assert limits("rooms3d-32") == (4, (32, 32, 3))
    assert limits("of somebody else") is None
    page = matrix_page([made_up()])
    start = page.index('id="card-affine-digits-gaussian-noise"')
    card = page[start : page.index("</details>", start)]
    line = card[card.index(">Noise<") : card.index("</tr>", card.index(">Noise<"))]
    assert [part.split("<")[0] for part in line.split(">")[1:] if part.split("<")[0]][:6] == [
        "Noise", "0.78", "0.39", "0.1", "1", "accuracy"]  # fmt: skip
    assert "Signs of masked gradients: not looked for." in card


def test_limits_of_a_domain_without_its_files_are_left_open(monkeypatch):
    monkeypatch.setitem(DOMAINS, "gone", Domain("idx:path=/nowhere"))
    assert limits("gone") is None


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ([{}, {}], "not looked for"),
        ([{"doubts": 0.0}, {"doubts": 0.0}], "none, looked for under L2"),
        ([{"doubts": 2.0}, {"doubts": 0.0}], "L2 in 1 of 2 models"),
    ],
)
def test_doubts_of_attacked_cells_are_told(details, words):
    cells = pl.DataFrame(
        [{"domain": "digits", "bias": "binarised", "scenario": "l2", "details": json.dumps(one)} for one in details]
    )
    assert doubts_of(cells, "digits", "binarised") == words
    assert doubts_of(cells, "digits", "vanilla") == doubts_of(None, "digits", "binarised") == "not looked for"


def test_sentences_call_scenarios_as_the_heads_do():
    assert with_titles("worse on iid, l0, linf") == "worse on i.i.d., L0, L∞"
    assert with_titles("effect of binarised on linf at least half of that of linf-training") == (
        "effect of binarised on L∞ at least half of that of linf-training"
    )
    assert with_titles("few-labels, gaussian-distance") == "few labels, Gaussian distance"


def found(*names: str, reference: float | None = None, doubts: tuple[str, ...] | None = ()) -> Card:
    lines = tuple(Line(make_scenario(name), {"value": 0.5}, 0.1, 1.0, reference) for name in names)
    return Card("mine", "digits", lines, {"few-labels": "a run, which can be trained again"}, doubts)


def test_a_card_says_whether_masked_gradients_were_looked_for():
    assert "were not looked for." in check_page(card_page(found("iid", doubts=None))).text
    assert "No sign of masked gradients." in check_page(card_page(found("linf"))).text
    doubted = check_page(card_page(found("linf", doubts=("blind attacks come nearer",)))).text
    assert "blind attacks come nearer" in doubted
    assert "No sign" not in doubted


def test_a_card_has_no_empty_columns():
    heads = [text for kind, text in check_page(card_page(found("iid"))).texts if kind == "th"]
    assert heads == ["scenario", "value", "chance", "at most", "unit", "scenario", "needs"]
    assert "reference" in check_page(card_page(found("iid", reference=0.4))).text
    assert "Few labels" in check_page(card_page(found("iid"))).text
