"""The figure of a matrix: the page's colours, letters that stay letters, as wide as a page's text."""

import re

import pytest
from PIL import Image
from transfer_numbers import made_up, row

from unbraid.errors import UsageError
from unbraid.report.page.palette import heat, shade
from unbraid.report.transfer import draw_matrix
from unbraid.report.transfer.shown import REACH
from unbraid.transfer import Matrix, get_scenario, matrix, scenarios


@pytest.fixture
def drawn(tmp_path):
    draw_matrix(made_up(), tmp_path / "matrix.svg", tmp_path / "matrix.png", tmp_path / "matrix.pdf")
    return (tmp_path / "matrix.svg").read_text(encoding="utf-8")


def texts(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", drawn)


def test_letters_of_the_picture_can_be_searched(drawn):
    told = texts(drawn)
    for word in ("affine-digits", "corruptions", "Noise", "L∞", "overfitting", "harmful", "+39", "ice (vs. bijection)"):
        assert word in told
    assert told.count("+39") == 1
    assert "<title>Differences to the vanilla twin on affine-digits</title>" in drawn


def test_the_legend_says_what_cells_mean(drawn):
    told = texts(drawn)
    for word in ("worse", "better", "−30", "+30", "better or worse", "undecided: too few seeds", "unchanged",
                 "what the bias was made for"):  # fmt: skip
        assert word in told


def test_colours_are_those_of_the_page(drawn):
    colours = heat("light")
    assert colours[shade(39, -REACH, REACH)][0] in drawn
    assert colours[shade(-19, -REACH, REACH)][0] in drawn  # undecided, its sign is seen nevertheless


def test_vanilla_has_its_own_numbers(drawn):
    told = texts(drawn)
    place = told.index("vanilla")
    assert told[place + 1 : place + 7] == ["94", "40", "60", "39", "40", ".036"]


def test_the_same_numbers_give_the_same_picture(drawn, tmp_path):
    draw_matrix(made_up(), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == drawn


def test_a_picture_of_all_scenarios_is_as_wide_as_a_page(tmp_path):
    shipped = [name for name in scenarios() if get_scenario(name).__module__.startswith("unbraid.")]
    values = dict.fromkeys(shipped, 0.5)
    biases = ("vanilla", "gaussian-noise", "rotation-equivariant", "gaussian-noise+linf-training")
    draw_matrix(matrix({name: row(**values) for name in biases}), tmp_path / "all.png")
    with Image.open(tmp_path / "all.png") as picture:
        assert picture.width / 220 == pytest.approx(7.0, abs=0.3)


def test_names_of_groups_do_not_run_into_each_other(tmp_path):
    biases = ("vanilla", "speckle")
    draw_matrix(matrix({name: row(iid=0.5, noise=0.5, linf=0.5) for name in biases}), tmp_path / "few.svg")
    told = texts((tmp_path / "few.svg").read_text(encoding="utf-8"))
    assert "corruptions" not in told  # one column is narrower
    assert {"smallest", "change"} <= set(told)


def test_a_row_says_its_twin_where_that_is_not_vanilla(tmp_path):
    values = {name: row(iid=0.5, l2=1.0) for name in ("vanilla", "slow-vae", "slow-vae+verified", "bijection", "ice")}
    draw_matrix(matrix(values), tmp_path / "twins.svg")
    told = texts((tmp_path / "twins.svg").read_text(encoding="utf-8"))
    assert {"slow-vae", "slow-vae+verified", "(vs. slow-vae)", "bijection", "ice (vs. bijection)"} <= set(told)


def test_an_empty_matrix_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no cell yet"):
        draw_matrix(Matrix("digits", {"vanilla": row(iid=0.9)}, ("iid",)), tmp_path / "none.png")
