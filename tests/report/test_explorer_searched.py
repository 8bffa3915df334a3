"""The explorer of models that explain images by drawing them, and of bijective ones, in a real browser."""

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid import objectives
from unbraid.data import load
from unbraid.invariance import metamers, to_inputs
from unbraid.report.explorer import run_site
from unbraid.robustness import synthesis
from unbraid.training import train

NAMELESS = """() => [...document.querySelectorAll('button, input, select, [role=img]')]
    .filter(one => !one.closest('[aria-hidden=true]'))
    .filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.title))
    .map(one => one.outerHTML)"""
IDLE = "() => document.querySelector('.explain').getAttribute('aria-busy') === 'false'"


@pytest.fixture(scope="module")
def abs_run(tmp_path_factory):
    options = {"factor": "x", "latents": 2, "learning_rate": 1e-2, "anneal_steps": 40, "samples": 500}
    out = tmp_path_factory.mktemp("abs") / "run"
    return train(objectives.make("abs", options), load("dots"), out=out, steps=80, batch_size=6, seed=0,
                 precision="fp32", progress="none")  # fmt: skip


@pytest.fixture(scope="module")
def abs_page(abs_run, serving_once, visit_once):
    return visit_once(serving_once(run_site(abs_run.path, images=12, sample=12)).url)


@pytest.fixture(scope="module")
def bijective_run(tmp_path_factory):
    objective = objectives.make("firevnet", {"factor": "y", "net": "conv:blocks=1,width=8"})
    out = tmp_path_factory.mktemp("firevnet") / "run"
    return train(objective, load("dots"), out=out, steps=60, batch_size=16, seed=0, precision="fp32", progress="none")


@pytest.fixture(scope="module")
def bijective_page(bijective_run, serving_once, visit_once):
    return visit_once(serving_once(run_site(bijective_run.path, images=12, sample=12)).url)


def energies(page) -> np.ndarray:
    page.wait_for_function(IDLE)
    return np.array(page.evaluate("view.found.map(one => one.energy)"))


def test_the_page_finds_energies_as_low_as_the_full_search(abs_page, abs_run):
    places = abs_page.evaluate("view.run.gallery.index")
    images = load("dots").images(np.array(places))
    wanted = synthesis.infer(abs_run, images).energy
    for at in (0, 5, 9):
        abs_page.locator(".tiles button").nth(at).click()
        abs_page.wait_for_function(f"() => document.querySelectorAll('.tiles button')[{at}].ariaPressed === 'true'")
        found = energies(abs_page)
        # Of a class that cannot draw the image either search may end in a worse valley; the best class decides.
        assert found.argmin() == wanted[at].argmin()
        assert found.min() == pytest.approx(wanted[at].min(), rel=0.05, abs=0.1)
        assert np.median(np.abs(found / wanted[at] - 1)) < 0.05
        named = abs_page.locator(".readings li.best b").inner_text()
        assert named == f"x {found.argmin()}"
        assert f"{wanted[at].min():.1f}" in abs_page.locator(".explain").inner_text()  # what the library says
    shares = np.array(abs_page.evaluate("view.search.posterior(view.found.map(one => one.energy))"))
    alpha, eta = (abs_page.evaluate(f"view.about.{name}") for name in ("alpha", "eta"))
    expected = synthesis.posterior(-found[None], synthesis.Calibration(alpha, eta))[0]
    np.testing.assert_allclose(shares, expected, atol=1e-6)


def test_energies_on_the_page_are_those_of_what_it_drew(abs_page, abs_run):
    abs_page.locator(".tiles button").nth(2).click()
    found = energies(abs_page)
    codes = np.array(abs_page.evaluate("view.found.map(one => Array.from(one.code))"), np.float32)
    with torch.no_grad():
        drawn = abs_run.model.decode(torch.from_numpy(codes)[None])[0].numpy()
    image = load("dots").images(np.array([abs_page.evaluate("view.run.gallery.index[2]")]))[0] / 255
    exact = ((image.transpose(2, 0, 1) - drawn) ** 2).sum((1, 2, 3)) + 0.5 * (codes**2).sum(1)
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3)


def test_a_drawn_image_is_explained(abs_page):
    abs_page.get_by_role("button", name="Clear").click()
    blank = energies(abs_page)
    assert abs_page.evaluate("Math.max(...sketch.values)") == 0
    box = abs_page.locator("#picture").bounding_box()
    pixel = box["width"] / 16
    abs_page.mouse.move(box["x"] + 5 * pixel, box["y"] + 4 * pixel)
    abs_page.mouse.down()
    abs_page.mouse.move(box["x"] + 5 * pixel, box["y"] + 8 * pixel, steps=5)
    abs_page.mouse.up()
    drawn = energies(abs_page)
    values = np.array(abs_page.evaluate("Array.from(sketch.values)")).reshape(16, 16)
    # A line from row 4 to row 8 along the edge of columns 4 and 5.
    assert values[4:8, 4:6].min() == 1
    assert values[:, 8:].max() == 0
    assert (np.abs(drawn - blank) > 0.1).any()
    assert abs_page.locator(".tiles button[aria-pressed=true]").count() == 0
    abs_page.get_by_role("button", name="Invert").click()
    energies(abs_page)
    np.testing.assert_allclose(np.array(abs_page.evaluate("Array.from(sketch.values)")).reshape(16, 16), 1 - values)


def test_an_own_image_is_explained(abs_page, abs_run, tmp_path):
    image = load("dots").images(np.array([100]))
    Image.fromarray(image[0, :, :, 0]).save(tmp_path / "own.png")
    abs_page.locator("input[type=file]").set_input_files(tmp_path / "own.png")
    ink = image.sum() / 255  # what was on the page before had white paper
    abs_page.wait_for_function(f"() => Math.abs(sketch.values.reduce((a, b) => a + b) - {ink}) < 0.5")
    assert energies(abs_page).argmin() == synthesis.infer(abs_run, image).best[0]
    (tmp_path / "no.png").write_text("no picture")
    abs_page.locator("input[type=file]").set_input_files(tmp_path / "no.png")
    abs_page.get_by_text("no.png is no picture").wait_for()


def logits(page, t: float) -> np.ndarray:
    place = page.evaluate(
        "async t => { await view.move(t); return document.querySelector('#picture').dataset.drawn }", t
    )
    assert float(place.split(",")[2]) == t
    return np.array(page.evaluate("view.logits"))


def test_logits_stand_still_while_the_nuisance_moves(bijective_page, bijective_run):
    page = bijective_page
    page.get_by_role("button", name="x:").click()
    page.locator(".tiles button").nth(3).click()
    page.get_by_role("button", name="Donor:").click()
    page.locator(".tiles button").nth(7).click()
    page.wait_for_function("() => document.querySelector('#picture').dataset.drawn?.startsWith('3,7,')")
    index = np.array(page.evaluate("view.run.gallery.index"))[[3, 7]]
    images = load("dots").images(index)
    x = to_inputs(bijective_run, images)
    own = bijective_run.predict(images)[0]
    for t in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(logits(page, t), own, atol=2e-3)
    shown = np.array(page.locator("#picture").evaluate(
        "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data)"
    )).reshape(16, 16, 4)[..., 0]  # fmt: skip
    made = metamers(bijective_run, x[:1], x[1:]).x
    wanted = (255 * bijective_run.model.grid.back(made)[0, 0]).clamp(0, 255).numpy()
    assert np.abs(shown - wanted).max() <= 1.5
    assert np.abs(shown.astype(int) - images[0, :, :, 0]).max() > 20  # and it is another image
    assert "no logit moved by more than 0.00" in page.locator(".verdict").inner_text()


def test_the_slider_and_the_keys_move_the_nuisance(bijective_page):
    page = bijective_page
    page.locator("input[type=range]").fill("0.5")
    page.wait_for_function("() => document.querySelector('#picture').dataset.drawn.endsWith(',0.5')")
    assert "50 %" in page.locator(".verdict").inner_text()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    page.wait_for_function("() => Math.abs(view.t - 0.5) > 0.05")
    page.keyboard.press("Space")
    assert page.locator(".play").get_attribute("aria-pressed") == "false"
    page.keyboard.press("x")
    page.locator(".tiles button").nth(5).click()
    page.wait_for_function("() => document.querySelector('#picture').dataset.drawn.startsWith('5,')")


@pytest.mark.parametrize("name", ["abs_run", "bijective_run"])
def test_every_control_has_a_name_and_nothing_overflows_a_narrow_screen(name, request, serving, visit):
    run = request.getfixturevalue(name)
    page = visit(serving(run_site(run.path, images=12, sample=12)).url, width=390, height=844, dark=True)
    assert page.evaluate(NAMELESS) == []
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
