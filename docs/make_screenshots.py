"""Photograph the explorer and the report: ``python docs/make_screenshots.py RUN STUDY`` writes ``docs/images/*.png``.

``--synthesis RUN`` and ``--bijective RUN``, with or without these, do the same for the pages of such runs.

Needs Chromium (on Debian: apt-get install chromium). A model whose latents show something is best, such as that of
``make demo``.
"""

import argparse
import io
import shutil
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from unbraid.cli.app import main as unbraid
from unbraid.report.explorer import LoopbackServer, Site, run_site, study_site


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("study", type=Path, nargs="?")
    parser.add_argument("--image", type=int, default=0, help="position in the gallery of the image to start from")
    parser.add_argument("--compare", type=int, nargs=2, metavar="INDEX", help="runs of the study to put side by side")
    parser.add_argument("--synthesis", type=Path, help="a run of abs, to photograph its page")
    parser.add_argument("--bijective", type=Path, help="a run of firevnet or ice, to photograph its page")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    given = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("chromium is missing (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if given.run:
            photograph_run(browser, run_site(given.run), given.image, given.out)
            photograph_report(browser, given.run, given.out)
        if given.study:
            photograph_study(browser, study_site(given.study), given.compare, given.out)
        if given.synthesis:
            photograph_page(browser, run_site(given.synthesis), given.image, given.out / "explorer-explain.png")
        if given.bijective:
            photograph_page(browser, run_site(given.bijective), given.image, given.out / "explorer-nuisance.png", 0.7)
        browser.close()
    return 0


def photograph_page(browser: Browser, site: Site, image: int, file: Path, moved: float | None = None) -> None:
    """The first view of a page, with an image chosen and its slider moved, if there is one."""
    page = visit(browser, serve(site), 1280, 800, False)
    page.locator(".tiles button").nth(image).click()
    if moved is not None:
        page.locator("input[type=range]").fill(str(moved))
    settle(page)
    save(page.screenshot(), file)
    page.close()


def photograph_run(browser: Browser, site: Site, image: int, out: Path) -> None:
    url = serve(site)
    for name, width, height, dark, tab in (
        ("explorer", 1280, 720, False, "Sliders"),
        ("explorer-dark", 1280, 800, True, "Map"),
        ("explorer-swap", 1280, 720, False, "Swap"),
        ("explorer-factors", 1280, 720, False, "Factors"),
        ("explorer-narrow", 390, 844, False, "Sliders"),
    ):
        page = visit(browser, url, width, height, dark)
        page.locator(".tiles button").nth(image).click()
        page.get_by_role("tab", name=tab).click()
        settle(page)
        save(page.screenshot(), out / f"{name}.png")
        page.close()


def photograph_study(browser: Browser, site: Site, compare: list[int] | None, out: Path) -> None:
    url = serve(site)
    page = visit(browser, url, 1280, 800, False)
    page.get_by_role("button", name="mig", exact=True).click()
    page.wait_for_load_state("networkidle")
    save(page.screenshot(), out / "explorer-study.png")
    if compare:
        page.goto(f"{url}#compare={compare[0]},{compare[1]}")
        page.reload()
        for number in range(2):
            page.frame_locator("iframe").nth(number).locator("body[data-ready=yes]").wait_for()
        settle(page)
        save(page.screenshot(), out / "explorer-compare.png")
    page.close()


def photograph_report(browser: Browser, run: Path, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        if unbraid(["report", str(run), "--out", str(path)]):
            sys.exit("the report could not be made")
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(path.as_uri())
        settle(page)
        save(page.screenshot(), out / "report.png")
        page.evaluate("document.getElementById('what-the-latents-do').scrollIntoView({behavior: 'instant'})")
        save(page.screenshot(), out / "report-latents.png")
        page.close()


def serve(site: Site) -> str:
    server = LoopbackServer(site)
    Thread(target=server.serve_forever, daemon=True).start()
    return server.url


def visit(browser: Browser, url: str, width: int, height: int, dark: bool) -> Page:
    options: dict[str, Any] = {"color_scheme": "dark" if dark else "light"}
    page = browser.new_page(viewport={"width": width, "height": height}, **options)
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_selector("body[data-ready=yes]", state="attached")
    return page


def settle(page: Page) -> None:
    """Wait until a view has drawn its last picture."""
    page.wait_for_timeout(4000)


def save(png: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    # A palette halves the size; this way of choosing it keeps colours of which there is little.
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    sys.exit(main())
