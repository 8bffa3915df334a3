"""The page of a run of analysis by synthesis."""

import re

import numpy as np
import pytest
from page_checks import Page

import unbraid
from unbraid.data import load
from unbraid.report.page import make_report
from unbraid.report.page.synthesis import see_drawings
from unbraid.robustness import synthesis


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("abs") / "run"
    return unbraid.train("abs", load("dots"), factor="x", latents=2, learning_rate=1e-2, anneal_steps=40, samples=200,
                         iterations=20, steps=80, batch_size=6, out=out, progress="none")  # fmt: skip


def test_the_page_shows_drawings_energies_posterior_accuracy_and_bounds(run):
    text = make_report([run.path])
    page = Page(text)
    for heading in ("Predictions", "What each class would draw", "How far images may be moved"):
        assert f"<h2>{heading}</h2>" in text
    rows = re.findall(r'<ul class="pairs captioned drawn">.*?</ul>', text)
    assert len(rows) == 10
    assert all(row.count("<li") == 1 + 10 for row in rows)  # the image, and the ten classes that explain it best
    assert "valid if the search found the best latent of every class within its ball" in text
    assert "that no search can prove" in " ".join(text.split())
    assert "200 random latents and 20 passes of Adam" in text
    assert all(image.get("alt") for image in page.all("img"))
    assert "Missing:" not in text


def test_what_it_shows_is_what_the_search_found(run):
    data = run.data()
    drawn = see_drawings(run, data, 0, [])
    found = synthesis.infer(run, drawn.images)
    np.testing.assert_allclose(drawn.found.energy, found.energy, rtol=1e-5)
    np.testing.assert_allclose(drawn.posterior, synthesis.posterior(-found.energy), rtol=1e-4)
    assert sorted(set(drawn.truth)) == list(range(10))  # one of each of the first ten of twelve classes
    text = make_report([run.path])
    energies = [float(one) for one in re.findall(r"energy ([\d.]+), posterior", text)]
    shown = np.array(energies).reshape(10, 10)
    np.testing.assert_allclose(shown, np.sort(found.energy, axis=1)[:, :10], atol=0.051)
    assert f"L2 {drawn.bounds.l2.mean():.3f}, coupled L2 {drawn.bounds.coupled.mean():.3f}" in text
