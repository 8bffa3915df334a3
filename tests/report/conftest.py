"""A real browser for the pages, and small runs to look at."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

import dots  # noqa: F401 (registers the data set)
from unbraid import objectives
from unbraid.data import load
from unbraid.training import Run, train

LOCAL = ("127.0.0.1", "localhost")


@pytest.fixture(scope="session")
def browser():
    """Chromium, driven by Playwright; where it is missing, tests are skipped unless the environment asks for them."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        reason = "no chromium on this machine (on Debian: apt-get install chromium)"
        if os.environ.get("UNBRAID_TEST_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Tests run as root in containers, where the sandbox cannot; the pages are our own.
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextlib.contextmanager
def _visiting(browser) -> Iterator[Callable]:
    contexts, faults, asked = [], [], []

    def open_page(
        url: str,
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        broken: bool = False,
        touch: bool = False,
    ):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            reduced_motion="reduce" if touch else "no-preference",
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        page = context.new_page()
        if not broken:
            page.on("console", lambda told: faults.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        page.wait_for_selector(f"body[data-ready={'failed' if broken else 'yes'}]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
    parts = [urlsplit(url) for url in asked]
    assert [p for p in parts if p.scheme not in ("file", "data", "blob") and p.hostname not in LOCAL] == []


@pytest.fixture
def visit(browser) -> Iterator[Callable]:
    """Open an address and wait until it is ready; at the end, nothing may have gone wrong or left this machine.

    ``visit(url, width=390, dark=True)`` gives a Playwright page; one that is ``broken`` may say so on the console, one
    to ``touch`` can be tapped.
    """
    with _visiting(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def visit_once(browser) -> Iterator[Callable]:
    """The same for a page that several tests share."""
    with _visiting(browser) as open_page:
        yield open_page


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> Run:
    """A beta-VAE trained on dots until some latents are active and others are not."""
    options = {"latents": 6, "beta": 2.0, "learning_rate": 1e-2, "net": "mlp:width=64"}
    out = tmp_path_factory.mktemp("runs") / "small"
    return train(objectives.make("beta-vae", options), load("dots"), out=out, steps=800, seed=0, precision="fp32",
                 progress="none")  # fmt: skip


@pytest.fixture(scope="session")
def conv_run(tmp_path_factory) -> Run:
    """A convolutional one, hardly trained."""
    objective = objectives.make("beta-vae", {"latents": 4, "learning_rate": 3e-3})
    out = tmp_path_factory.mktemp("runs") / "conv"
    return train(objective, load("dots"), out=out, steps=20, seed=0, precision="fp32", progress="none")


@contextlib.contextmanager
def _serving() -> Iterator[Callable]:
    from unbraid.report.explorer import LoopbackServer

    servers: list[LoopbackServer] = []

    def start(site) -> LoopbackServer:
        server = LoopbackServer(site)
        Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def serving() -> Iterator[Callable]:
    """Serve a site on loopback; gives the server, whose ``url`` can be visited."""
    with _serving() as start:
        yield start


@pytest.fixture(scope="module")
def serving_once() -> Iterator[Callable]:
    """The same for a site that several tests share."""
    with _serving() as start:
        yield start


@pytest.fixture
def broken_run(small_run: Run, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the small run without some of its files."""

    def copy(*without: str) -> Path:
        out = tmp_path / "broken"
        shutil.copytree(small_run.path, out)
        for name in without:
            (out / name).unlink()
        return out

    return copy
