"""The explorer of a run in a real browser."""

import functools
import http.server
import json
import shutil
from threading import Thread

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid import objectives
from unbraid.data import load
from unbraid.metrics import ABOVE, Score
from unbraid.report.explorer import run_site, write_site
from unbraid.training import train

PIXELS = """canvas => {
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
    copy.drawImage(canvas, 0, 0);
    return Array.from(copy.getImageData(0, 0, canvas.width, canvas.height).data);
}"""
DRAWN = """() => document.querySelector('#picture').dataset.drawn === explorer.code.join()"""


@pytest.fixture(scope="module")
def site(small_run):
    return run_site(small_run.path, images=24, sample=300)


@pytest.fixture(scope="module")
def opened(site, serving_once, visit_once):
    return visit_once(serving_once(site).url)


@pytest.fixture
def page(opened):
    """The page as it is at first; loading it anew for every test would take most of the time."""
    opened.evaluate("tabs.show('sliders'); explorer.walkFrom(explorer.place(0)); document.activeElement.blur()")
    opened.locator("#sort").select_option("")
    opened.evaluate("document.querySelector('.sleeping').open = false")
    return opened


def code(page) -> np.ndarray:
    return np.array(page.evaluate("Array.from(explorer.code)"), np.float32)


def shown(page, canvas="#picture") -> np.ndarray:
    """Grey values of a canvas, after the picture has caught up with the code."""
    page.wait_for_function(DRAWN)
    values = np.array(page.locator(canvas).first.evaluate(PIXELS)).reshape(-1, 4)
    assert (values[:, 3] == 255).all()
    return values[:, 0].reshape(16, 16)


def drawn(run, row) -> np.ndarray:
    return run.decode(np.asarray(row, np.float32)[None])[0, :, :, 0].astype(int)


def test_the_page_explains_a_score_above_its_ceiling(broken_run, serving, visit):
    path = broken_run()
    scores = [Score("sap", 0.43, 0.27), Score("mig", 0.5, 0.9)]
    (path / "scores.json").write_text(json.dumps({"scores": {score.name: score.to_json() for score in scores}}))
    page = visit(serving(run_site(path, images=4, sample=100)).url)
    page.get_by_role("tab", name="About").click()
    text = page.locator(".about-run").inner_text()
    assert "0.430* of 0.270" in text
    assert "0.500 of 0.900" in text
    assert f"* {ABOVE}" in text


@pytest.mark.parametrize("name", ["small_run", "conv_run"])
def test_the_page_decodes_and_encodes_like_pytorch(name, request, serving, visit):
    run = request.getfixturevalue(name)
    latents = run.objective.latents
    page = visit(serving(run_site(run.path, images=4, sample=100)).url)
    codes = 2 * np.random.default_rng(0).standard_normal((64, latents)).astype(np.float32)
    found = page.evaluate("async values => Array.from(await explorer.decode(new Float32Array(values)))",
                          codes.ravel().tolist())  # fmt: skip
    with torch.no_grad():
        wanted = run.objective.decode(run.model, torch.from_numpy(codes)).numpy()
    assert wanted.std() > 1e-3
    np.testing.assert_allclose(np.array(found).reshape(wanted.shape), wanted, atol=1e-4)
    images = load("dots").images(np.arange(5))
    pixels = (images.transpose(0, 3, 1, 2) / 255).ravel().tolist()
    encoded = page.evaluate("async v => Array.from(await explorer.encode(new Float32Array(v), [5, 1, 16, 16]))", pixels)
    np.testing.assert_allclose(np.array(encoded).reshape(5, latents), run.encode(images), atol=1e-4)


def test_sliders_move_the_picture(page, small_run):
    before = shown(page)
    assert abs(before - drawn(small_run, code(page))).max() <= 1  # the same up to rounding
    slider = page.locator(".slider input[type=range]").first
    latent = int(page.locator(".slider").first.get_attribute("data-latent"))
    slider.fill(slider.get_attribute("max"))
    after = shown(page)
    assert abs(after - before).max() > 50
    assert abs(after - drawn(small_run, code(page))).max() <= 1
    assert page.locator(".slider output").first.inner_text() == f"{code(page)[latent]:.2f}"


def test_latents_that_carry_nothing_are_folded_away(page, site):
    dead = [f"z{latent['index']}" for latent in site.contents.latents if not latent["active"]]
    names = page.locator(".slider b")
    assert names.all_inner_texts()[: 6 - len(dead)] == [
        f"z{latent['index']}" for latent in site.contents.latents if latent["active"]]  # fmt: skip
    assert not page.locator(".sleeping .slider").first.is_visible()
    page.locator(".sleeping summary").click()
    assert page.locator(".sleeping .slider b").all_inner_texts() == dead
    assert page.locator(".sleeping .slider").first.is_visible()


def test_everything_can_be_done_by_keyboard(page, site):
    first = site.contents.latents[0]["index"]
    page.keyboard.press("1")
    start = code(page)
    before = shown(page)
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    moved = code(page)
    assert moved[first] > start[first]
    assert np.delete(moved, first) == pytest.approx(np.delete(start, first))
    assert abs(shown(page) - before).max() > 5
    page.keyboard.press("Backspace")
    assert code(page) == pytest.approx(start)
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    page.keyboard.press("m")
    page.locator("canvas.map").focus()
    page.keyboard.press("ArrowUp")
    assert (code(page) != start).sum() >= 1
    page.keyboard.press("0")
    assert code(page) == pytest.approx(start)
    page.keyboard.press("s")
    page.get_by_role("tab", name="Sliders").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.get_by_role("tab", name="Map").get_attribute("aria-selected") == "true"
    # From the images one comes to the tabs by a single Tab, and among the images by arrows.
    page.locator(".tiles button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert code(page) == pytest.approx(np.array(site.contents.gallery["codes"][1], np.float32), abs=1e-6)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.role") == "tab"


def test_playing_a_latent_moves_it_until_it_is_stopped(page, site):
    first = site.contents.latents[0]["index"]
    page.keyboard.press("1")
    page.keyboard.press("Space")
    start = code(page)
    page.wait_for_function(f"() => Math.abs(explorer.code[{first}] - {start[first]}) > 0.1")
    page.keyboard.press("Space")
    assert page.locator(".play[aria-pressed=true]").count() == 0


def test_an_image_of_the_data_set_is_the_start_of_a_walk(page, site, small_run):
    page.locator(".tiles button").nth(7).click()
    image = load("dots").images(np.array([site.contents.gallery["index"][7]]))
    assert code(page) == pytest.approx(small_run.encode(image)[0], abs=1e-5)
    assert abs(shown(page) - drawn(small_run, code(page))).max() <= 1
    assert (shown(page, ".source canvas") == image[0, :, :, 0]).all()
    page.get_by_role("button", name="Zero").click()
    assert code(page) == pytest.approx(np.zeros(6))


def test_an_own_image_is_encoded_in_the_page(page, small_run, tmp_path):
    image = load("dots").images(np.array([100]))
    Image.fromarray(image[0, :, :, 0]).save(tmp_path / "own.png")
    page.locator("input[type=file]").set_input_files(tmp_path / "own.png")
    page.wait_for_function("() => explorer.start.label === 'own.png'")
    # Through the browser's colours a grey value may change by one.
    assert code(page) == pytest.approx(small_run.encode(image)[0], abs=0.02)
    (tmp_path / "no.png").write_text("no picture")
    page.locator("input[type=file]").set_input_files(tmp_path / "no.png")
    page.get_by_text("no.png is no picture").wait_for()


def test_a_map_walks_to_where_it_is_pressed(page):
    page.get_by_role("tab", name="Map").click()
    across, up = (int(page.locator(f"#{name}").input_value()) for name in ("across", "down"))
    assert across != up
    box = page.locator("canvas.map").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + 3)
    ends = page.evaluate("Object.fromEntries(explorer.run.latents.map(one => [one.index, one.high]))")
    assert code(page)[[across, up]] == pytest.approx([ends[str(across)], ends[str(up)]])


def test_two_images_exchange_one_latent(page, small_run):
    page.get_by_role("tab", name="Swap").click()
    page.get_by_role("button", name="A:").click()
    page.locator(".tiles button").nth(3).click()
    page.get_by_role("button", name="B:").click()
    page.locator(".tiles button").nth(9).click()
    a, b = (np.array(page.evaluate(f"explorer.run.gallery.codes[{at}]"), np.float32) for at in (3, 9))
    row = page.locator(".swap tbody tr").first
    latent = int(row.locator("th").inner_text().split("\n")[0][1:])
    row.get_by_role("button").first.click()
    mixed = a.copy()
    mixed[latent] = b[latent]
    assert code(page) == pytest.approx(mixed, abs=1e-6)
    assert abs(shown(page) - drawn(small_run, mixed)).max() <= 1


def test_latents_can_be_ranked_by_what_they_tell_about_a_factor(page, site):
    information = np.array(site.contents.information)
    page.get_by_role("tab", name="Factors").click()
    cells = page.locator(".matrix tbody tr").first.locator("td").all_inner_texts()
    assert cells == [f"{round(100 * share)} %" for share in information[site.contents.latents[0]["index"]]]
    for k, factor in enumerate(site.contents.factors):
        page.get_by_role("tab", name="Factors").click()
        page.locator(".matrix thead button", has_text=factor).click()
        active = [latent["index"] for latent in site.contents.latents if latent["active"]]
        ranked = sorted(active, key=lambda latent: -information[latent, k])
        assert page.locator(".slider b").all_inner_texts()[: len(active)] == [f"z{latent}" for latent in ranked]


def test_every_control_has_a_name_and_nothing_overflows_a_narrow_screen(site, serving, visit):
    page = visit(serving(site).url, width=390, height=844, dark=True)
    nameless = """() => [...document.querySelectorAll('button, input, select, [role=img], [role=application]')]
        .filter(one => !one.closest('[aria-hidden=true]'))
        .filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.title))
        .map(one => one.outerHTML)"""
    assert page.evaluate(nameless) == []
    for tab in ("Sliders", "Map", "Swap", "Factors", "About"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390, tab
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_the_picture_has_whole_screen_pixels(page):
    width = page.locator("#picture").bounding_box()["width"]
    assert width % 16 == 0
    assert width >= 320
    assert page.evaluate("getComputedStyle(document.querySelector('#picture')).imageRendering") == "pixelated"


@pytest.mark.parametrize("way", ["any server", "disk"])
def test_an_exported_folder_works_from_any_file_server_and_from_a_disk(site, small_run, visit, tmp_path, way):
    write_site(site, tmp_path / "page")
    if way == "disk":
        page = visit((tmp_path / "page" / "index.html").as_uri())
        assert abs(shown(page) - drawn(small_run, code(page))).max() <= 1
        return
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = visit(f"http://127.0.0.1:{server.server_port}/page/")
        assert abs(shown(page) - drawn(small_run, code(page))).max() <= 1
        page.close()
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_a_broken_run_shows_what_is_there(broken_run, serving, visit):
    page = visit(serving(run_site(broken_run("checkpoint.safetensors"))).url)
    assert "There is no model to look into." in page.locator(".problem").inner_text()
    assert page.get_by_role("tab").all_inner_texts() == ["About"]
    assert page.locator(".curve path").count() == 1
    assert "missing" in page.locator("dl", has_text="checkpoint.safetensors").inner_text()


def test_a_folder_with_a_lost_file_says_which(site, visit, tmp_path):
    write_site(site, tmp_path / "page")
    shutil.move(tmp_path / "page" / "run.js", tmp_path / "run.js")
    page = visit((tmp_path / "page" / "index.html").as_uri(), broken=True)
    assert "run.js is missing" in page.locator(".problem").inner_text()


def test_a_model_without_decoder_still_shows_what_its_codes_know(tmp_path, serving, visit):
    objective = objectives.make("pcl", {"latents": 3, "net": "mlp:width=16"})
    train(objective, load("dots"), out=tmp_path / "run", steps=2, batch_size=8, progress="none")
    page = visit(serving(run_site(tmp_path / "run", images=8, sample=200)).url)
    assert "does not decode" in page.locator(".problem").inner_text()
    assert page.get_by_role("tab").all_inner_texts() == ["Factors", "About"]
    assert page.locator(".tiles button").count() == 8
