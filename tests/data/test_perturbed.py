import json

import numpy as np
import pytest

from unbraid.data import HadamardImages, Perturbation, Perturbed, PixelNoise, fold, load, read_perturbation
from unbraid.errors import UsageError


def make(base, *, epsilon=0.1, seed=0):
    rng = np.random.default_rng(seed)
    reach = int(255 * epsilon)
    patterns = rng.integers(-reach, reach + 1, size=(256, *base.shape)).astype(np.int8)
    factors = len(base.space.sizes)
    weight, bias = rng.standard_normal((5, factors)), rng.standard_normal(5)
    return Perturbation(epsilon, weight, bias, rng.standard_normal(6), patterns)


@pytest.mark.parametrize("epsilon", [0.1, 0.175, 0.4])
def test_folding_keeps_values_in_range_and_no_further_away(epsilon):
    rng = np.random.default_rng(0)
    values = rng.uniform(size=10_000)
    values[:2] = 0, 1
    moved = fold(values + rng.uniform(-epsilon, epsilon, size=10_000))
    assert moved.min() >= 0
    assert moved.max() <= 1
    assert np.abs(moved - values).max() <= epsilon + 1e-12


@pytest.mark.parametrize("kind", ["pattern", "noise"])
def test_no_pixel_moves_by_more_than_epsilon(kind):
    base = load("mini-sprites")  # black and white: every pixel is at an end of the range, where folding happens
    changed = Perturbed(base, make(base)) if kind == "pattern" else PixelNoise(base, 0.1)
    index = np.arange(0, len(base), 7)
    before, after = base.images(index), changed.images(index)
    assert after.dtype == np.uint8
    change = np.abs(after.astype(int) - before)
    assert 1 <= change.max() <= 25  # 0.1 * 255 = 25.5
    assert np.array_equal(changed.images(index[3:5]), after[3:5])
    assert changed.space == base.space


def test_images_with_the_same_number_get_the_same_pattern():
    # The number depends on the first factor alone: all images that share it are moved alike.
    base = HadamardImages()
    made = make(base)
    made.weight[:, 1] = 0
    perturbed = Perturbed(base, made)
    moved = perturbed.images(np.arange(1024)).astype(int) - base.images(np.arange(1024))
    moved = moved.reshape(32, 32, -1)
    assert (moved == moved[:, :1]).all()
    assert not (moved == moved[:1]).all()


def test_noise_is_uniform_and_independent_of_everything():
    base = HadamardImages()  # grey throughout, so that nothing is folded
    noise = PixelNoise(base, 0.1).images(np.arange(1024)).astype(int) - base.images(np.arange(1024))
    assert (noise.min(), noise.max()) == (-25, 25)
    # Uniform on 51 integers: variance 25 * 26 / 3 = 216.7, known to about 0.4 % from 65,536 values.
    assert noise.var() == pytest.approx(25 * 26 / 3, rel=0.02)
    flat = noise.reshape(1024, -1).astype(float)
    assert np.abs(np.corrcoef(flat.T)[~np.eye(64, dtype=bool)]).max() < 0.16  # 5 standard errors of 1 / 32
    other = PixelNoise(base, 0.1, seed=1).images(np.arange(1024)).astype(int) - base.images(np.arange(1024))
    assert abs(np.corrcoef(noise.ravel(), other.ravel())[0, 1]) < 0.02


def test_a_saved_perturbation_loads_by_name_and_tells_what_it_is(tmp_path):
    base = load("mini-sprites:shape=0")
    made = make(base)
    made.save(tmp_path / "p", base, mean_change=0.03, deviation=0.05)
    found = load(f"perturbed:source={tmp_path / 'p'}")
    index = np.arange(50)
    assert np.array_equal(found.images(index), Perturbed(base, made).images(index))
    assert found.space == base.space
    assert "0.1, by 0.030 on average" in found.card.traps[0]
    assert "untouched" in found.card.traps[1]
    assert found.recipe.options == {"source": str(tmp_path / "p")}
    assert load(f"perturbed:source={tmp_path / 'p'},control=amplitude").reach == 25
    # Uniform noise of standard deviation 0.05 reaches 0.05 * sqrt(3) = 0.0866, 22 grey levels.
    assert load(f"perturbed:source={tmp_path / 'p'},control=variance").reach == 22


def test_what_is_stored_is_small(tmp_path):
    base = load("mini-sprites")
    make(base).save(tmp_path, base)
    stored = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert stored < 256 * np.prod(base.shape) + 4096


def test_wrong_folders_and_files_are_named(tmp_path):
    base = load("mini-sprites")
    with pytest.raises(UsageError, match="source=FOLDER"):
        load("perturbed")
    with pytest.raises(UsageError, match="unbraid theory perturb"):
        load("perturbed", source=str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="is for 2 factors"):
        make(HadamardImages()).check_fits(base)
    make(base).save(tmp_path, base)
    with pytest.raises(UsageError, match="control"):
        load("perturbed", source=str(tmp_path), control="loud")
    record = json.loads((tmp_path / "perturbation.json").read_text())
    (tmp_path / "perturbation.json").write_text(json.dumps(record | {"hash": "0"}))
    with pytest.raises(UsageError, match="is not the file"):
        read_perturbation(tmp_path)
    with pytest.raises(UsageError, match="epsilon"):
        make(base, epsilon=0.6)
