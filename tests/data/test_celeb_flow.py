"""CelebFlow: the grid and the latent protocol of CelebGlow."""

import numpy as np
import pytest
from portrait_by_pixel import portraits_by_pixel

from unbraid import data
from unbraid.data.render.portrait import TRAITS, portraits
from unbraid.data.sets.celeb_flow import COEFFICIENTS, CelebFlow, Flow


def test_coefficients_are_those_of_the_published_range():
    # -1 + 2 * 0.8 * k / 5
    np.testing.assert_allclose(COEFFICIENTS, [-1, -0.68, -0.36, -0.04, 0.28, 0.6], atol=1e-12)


def test_a_person_has_216_images_on_straight_lines_in_the_latent_space():
    faces = CelebFlow()
    assert faces.space.sizes == (1000, 6, 6, 6)
    latents = faces.latents(np.arange(216)).reshape(6, 6, 6, -1)
    steps = np.diff(latents, axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(0.32 * faces.directions[0], steps.shape), atol=1e-12)
    # Person 1 has the same steps from elsewhere.
    np.testing.assert_allclose(faces.latents([216 + 36]) - faces.latents([216]), steps[:1, 0, 0], atol=1e-12)
    assert faces.persons.std() == pytest.approx(0.3, rel=0.02)


def test_the_flow_is_undone_by_its_inverse_and_is_not_linear():
    flow = Flow(seed=3)
    z = np.random.default_rng(0).normal(0, 0.5, size=(50, 24))
    np.testing.assert_allclose(flow.inverse(flow(z)), z, atol=1e-10)
    bent = flow(2 * z) - 2 * flow(z)
    assert np.abs(bent).max() > 0.05


def test_the_same_seed_gives_the_same_images():
    index = [0, 5, 77_777, 215_999]
    first = CelebFlow().images(index)
    assert first.shape == (4, 64, 64, 3)
    np.testing.assert_array_equal(first, CelebFlow().images(index))
    assert (first != CelebFlow(seed=1).images(index)).any()


def test_every_factor_shows_in_its_part_of_the_portrait():
    faces = data.load("celeb-flow")
    person = np.arange(0, 1000, 50)

    def shown(smile, blond, age):
        rows = np.stack([person, *(np.full(len(person), v) for v in (smile, blond, age))], axis=1)
        return faces.images(faces.space.index(rows)).astype(float).mean(axis=0)

    middle = shown(3, 3, 2)
    smile, blond = np.abs(shown(0, 3, 2) - middle).sum(-1), np.abs(shown(3, 0, 2) - middle).sum(-1)
    mouth, hair = (slice(38, 50), slice(22, 42)), (slice(0, 14), slice(16, 48))
    assert smile[mouth].mean() > 2 * smile[hair].mean()
    assert blond[hair].mean() > 2 * blond[mouth].mean()
    assert np.abs(shown(3, 3, 5) - shown(3, 3, 0)).mean() > 2


@pytest.mark.parametrize("size", [64, 32])
def test_portraits_are_those_drawn_pixel_by_pixel(size):
    rng = np.random.default_rng(5)
    extreme = rng.choice([-0.99, 0.99], size=(3, len(TRAITS)))
    traits = np.concatenate([np.tanh(rng.standard_normal((3, len(TRAITS)))), extreme])
    apart = portraits(traits, size).astype(int) - portraits_by_pixel(traits, size)
    assert np.abs(apart).max() <= 1  # sums in another order, rounded to grey levels
    assert (apart != 0).mean() < 1e-3
