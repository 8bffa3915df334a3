"""The report page in a real browser: it moves, sorts, changes its colours, and asks nobody for anything."""

import json
import shutil
from pathlib import Path

import pytest

from unbraid.report.page import Choices, write_report

WALK = ".walks .frames"
STUDY = Path(__file__).parent.parent / "study" / "study-0.1"


@pytest.fixture(scope="module")
def address(small_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    path = write_report([small_run.path], folder / "run.html", choices=Choices(metrics=("mig", "mcc")))
    return path.as_uri()


@pytest.fixture(scope="module")
def comparison(small_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(small_run.path, folder / "other")
    info = json.loads((folder / "other" / "run.json").read_text())
    info["seed"] = 5
    (folder / "other" / "run.json").write_text(json.dumps(info))
    runs = [small_run.path, folder / "other"]
    return write_report(runs, folder / "both.html", choices=Choices(compute=False)).as_uri()


def pixels(page) -> str:
    return page.locator(".walk canvas").first.evaluate("canvas => canvas.toDataURL()")


def test_arrow_keys_move_a_latent_and_its_picture(visit, address):
    page = visit(address)
    walk = page.locator(WALK).first
    walk.focus()
    walk.press("Home")
    first, start = pixels(page), walk.get_attribute("aria-valuetext")
    assert walk.get_attribute("aria-valuenow") == "0"
    walk.press("End")
    assert walk.get_attribute("aria-valuenow") == walk.get_attribute("aria-valuemax") == "10"
    assert walk.get_attribute("aria-valuetext") != start
    assert pixels(page) != first


def test_the_pointer_scrubs_and_space_plays(visit, address):
    page = visit(address)
    walk = page.locator(WALK).first
    walk.scroll_into_view_if_needed()
    box = walk.bounding_box()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + box["height"] / 2)
    assert walk.get_attribute("aria-valuenow") == "10"
    page.mouse.move(0, 0)
    walk.focus()
    walk.press("Home")
    walk.press(" ")
    page.wait_for_function("walk => walk.ariaValueNow !== '0'", arg=walk.element_handle())
    walk.press("ArrowLeft")  # stops it
    now = walk.get_attribute("aria-valuenow")
    page.wait_for_timeout(400)
    assert walk.get_attribute("aria-valuenow") == now


def test_curves_tell_their_values_by_keyboard(visit, address):
    page = visit(address)
    chart = page.locator("svg.live").first
    chart.focus()
    chart.press("Home")
    told = page.locator(".tip").inner_text()
    assert told.startswith("step 100")
    assert "loss: " in told
    chart.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_the_colours_follow_the_system_until_the_reader_decides(visit, address):
    ground = "getComputedStyle(document.body).backgroundColor"
    page = visit(address, dark=True)
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) != dark
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')").strip() == "#1a2130"
    assert page.locator(".bar-top").is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_of_the_screen(visit, address, comparison, width):
    for url in (address, comparison):
        page = visit(url, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_bars_of_scores_are_whole_on_a_phone(visit, address):
    """A bar of which a part lies outside its frame would show a value that is too high."""
    page = visit(address, width=390)
    frame = page.locator("#scores .scroll")
    assert page.locator("#scores svg").count() >= 2
    assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")


def test_the_tables_of_a_study_are_readable_on_a_phone(visit, tmp_path):
    """They scroll in their frames, and what a row is about stays in sight."""
    shutil.copytree(STUDY, tmp_path / "study")
    page = visit(write_report([tmp_path / "study"], tmp_path / "study.html").as_uri(), width=360, height=640)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    frame = page.locator("#runs .scroll")
    assert frame.evaluate("frame => frame.scrollWidth > 2 * frame.clientWidth && frame.clientHeight <= 640")
    place = "frame => frame.querySelector('tbody td').getBoundingClientRect().x"
    before = frame.evaluate(place)
    frame.evaluate("frame => frame.scrollTo(300, 0)")
    assert frame.evaluate("frame => frame.scrollLeft") == 300
    assert frame.evaluate(place) == before
    means = page.locator("#measured .scroll")
    means.evaluate("frame => frame.scrollTo(0, 200)")
    assert means.evaluate("frame => frame.scrollTop") == 200
    assert means.evaluate("frame => frame.querySelector('th').getBoundingClientRect().y") == pytest.approx(
        means.evaluate("frame => frame.getBoundingClientRect().y"), abs=1
    )


def test_tables_sort_by_a_click_and_back(visit, comparison):
    page = visit(comparison)
    table = page.locator("table.sortable").first
    head = table.get_by_role("button", name="seed")
    column = "table => [...table.tBodies[0].rows].map(row => row.cells[3].textContent)"
    head.click()
    assert table.evaluate(column) == ["5", "0"]
    head.click()
    assert table.evaluate(column) == ["0", "5"]
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("seed")


def test_the_policy_lets_no_other_script_run(browser, address):
    page = browser.new_page()
    try:
        page.goto(address)
        page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.smuggled = 1';"
            " document.body.append(s); }"
        )
        assert page.evaluate("window.smuggled") is None
    finally:
        page.close()
