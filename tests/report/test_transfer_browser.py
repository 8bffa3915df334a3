"""The page of a matrix in a real browser: numbers by pointer, by finger and by keyboard."""

import pytest
from transfer_numbers import made_up

from unbraid.report.transfer import matrix_page

CARD = "#card-affine-digits-gaussian-noise"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("matrix") / "report.html"
    path.write_text(matrix_page([made_up()]), encoding="utf-8")
    return path.as_uri()


def noise(page):
    return page.locator("td[data-tip^='gaussian-noise · Noise'] a")


def test_the_first_tap_says_the_numbers_and_the_second_follows(visit, address):
    page = visit(address, width=390, height=844, touch=True)
    tip = page.locator(".tip")
    noise(page).tap()
    assert "+39.0 points against vanilla" in tip.inner_text()
    assert "after Holm" in tip.inner_text()
    assert "#" not in page.url
    assert page.locator(CARD).get_attribute("open") is None
    noise(page).tap()
    assert page.url.endswith(CARD)
    assert page.locator(CARD).get_attribute("open") is not None
    assert tip.is_hidden()


def test_a_link_inside_the_words_leads_to_the_card(visit, address):
    page = visit(address, width=390, height=844, touch=True)
    noise(page).tap()
    page.locator(".tip a").tap()
    page.wait_for_url(f"**{CARD}")
    assert page.locator(f"{CARD} table").is_visible()
    assert page.locator(".tip").is_hidden()


def test_a_tap_elsewhere_and_another_cell_take_the_words_away(visit, address):
    page = visit(address, width=390, height=844, touch=True)
    tip = page.locator(".tip")
    noise(page).tap()
    page.locator("td[data-tip^='coordinates · Noise'] a").tap()
    assert tip.inner_text().startswith("coordinates")
    assert "#" not in page.url
    page.locator("h1").tap()
    assert tip.is_hidden()
    noise(page).tap()  # begins anew: says it, and does not follow
    assert tip.is_visible()
    assert "#" not in page.url


def test_a_verdict_says_its_sentence_by_finger_pointer_and_keyboard(visit, address):
    touched = visit(address, width=390, height=844, touch=True)
    touched.locator("button.word").first.tap()
    assert "gaussian-noise: better on its own noise, worse on composition" in touched.locator(".tip").inner_text()
    page = visit(address)
    word = page.locator("button.word").first
    word.hover()
    assert "worse on composition" in page.locator(".tip").inner_text()
    page.mouse.move(0, 0)
    assert page.locator(".tip").is_hidden()
    word.focus()
    assert "worse on composition" in page.locator(".tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_the_keyboard_says_the_numbers_and_follows_with_one_press(visit, address):
    page = visit(address)
    noise(page).focus()
    assert "+39.0 points" in page.locator(".tip").inner_text()
    assert page.locator(".tip a").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{CARD}")
    assert page.locator(CARD).get_attribute("open") is not None


def test_arrows_lead_from_cell_to_cell_and_tab_leaves_the_matrix(visit, address):
    page = visit(address, width=390)
    told = "document.activeElement.closest('[data-tip]').dataset.tip.split('\\n')[0]"
    noise(page).focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(told) == "gaussian-noise · Blur: unchanged"
    page.keyboard.press("ArrowDown")  # what was not asked is passed over
    assert page.evaluate(told).startswith("gaussian-noise")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(told) == "coordinates · Noise: better"
    frame = page.locator(".scroll").first.bounding_box()
    assert page.evaluate("document.activeElement.getBoundingClientRect().x") > frame["x"] + 100  # not under the names
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('table.upright')") is None


def test_a_mouse_needs_one_click(visit, address):
    page = visit(address)
    noise(page).click()
    page.wait_for_url(f"**{CARD}")
    assert page.locator(f"{CARD} table").is_visible()


def test_a_link_from_elsewhere_opens_its_card(visit, address):
    page = visit(address + CARD)
    assert page.locator(CARD).get_attribute("open") is not None


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_the_verdict_is_in_sight_on_every_screen(visit, address, width):
    page = visit(address, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    word = page.locator("button.word").first
    frame = page.locator(".scroll").first
    for left in (0, 200):
        frame.evaluate("(frame, left) => frame.scrollTo(left, 0)", left)
        box, whole = word.bounding_box(), frame.bounding_box()
        assert whole["x"] <= box["x"]
        assert box["x"] + box["width"] <= whole["x"] + whole["width"]


def test_tables_of_sentences_do_not_scroll_sideways_on_a_phone(visit, address):
    page = visit(address, width=390)
    for name in ("#verdicts", "#two-at-once", "#beside-what-was-published"):
        frame = page.locator(f"{name} .scroll")
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    labels = page.locator("#verdicts td").nth(1).evaluate("cell => getComputedStyle(cell, '::before').content")
    assert "verdict" in labels


def test_cards_are_printed_open(visit, address):
    page = visit(address)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".card:not([open])").count() == 0
