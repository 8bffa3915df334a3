"""Loaders of data with causal factors, on files made here."""

import numpy as np
import pytest
from PIL import Image

from unbraid.data import load
from unbraid.data.sets.causal3dident import FACTORS, load_causal3dident
from unbraid.data.sets.light_tunnel import load_light_tunnel
from unbraid.errors import UsageError


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(path)


@pytest.fixture
def objects(tmp_path):
    rng = np.random.default_rng(0)
    for number in (1, 4, 6):
        np.save(tmp_path / f"raw_latents_{number}.npy", rng.random((11, 10)))
        for index in range(11):
            write(tmp_path / f"images_{number}" / f"{index:02d}.png", 10 * number + index)
    return tmp_path


def test_a_subset_of_classes_keeps_images_with_their_own_latents(objects):
    # The published reader indexes a list by the number of the class, so that any subset is misread.
    data = load_causal3dident(objects, size=4, shown="4+6")
    assert data.classes == ("object 4", "object 6")
    assert data.factor_names == (*FACTORS, "class")
    latents = np.load(objects / "raw_latents_6.npy")
    np.testing.assert_allclose(data.factors([11 + 3])[0, :10], latents[3])
    assert data.images([11 + 3])[0, 0, 0, 0] == 63
    assert data.labels([0, 12]).tolist() == [0, 1]
    assert len(load_causal3dident(objects, size=4)) == 33


def test_what_is_missing_of_causal3dident_is_named(objects, tmp_path_factory):
    with pytest.raises(UsageError, match="has no class 2; it has 1, 4, 6"):
        load_causal3dident(objects, shown="2")
    (objects / "images_4" / "07.png").unlink()
    with pytest.raises(UsageError, match=r"lacks images_4/07\.png"):
        load_causal3dident(objects)
    np.save(objects / "raw_latents_1.npy", np.zeros((3, 4)))
    with pytest.raises(UsageError, match=r"must be floats \[n, 10\]"):
        load_causal3dident(objects)
    with pytest.raises(UsageError, match="holds no raw_latents"):
        load_causal3dident(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def tunnel(tmp_path):
    rows = ["image_file,red,green,blue,pol_1,pol_2,extra"]
    for index in range(3):
        write(tmp_path / "uniform" / "images_64" / f"{index}.png", 20 * index)
        rows.append(f"{index}.png,{index},{2 * index + 0.5},7.{index},{-index},{index / 3},x")
    (tmp_path / "uniform" / "uniform.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_an_experiment_of_the_light_tunnel_is_a_table_of_measured_factors(tunnel):
    data = load_light_tunnel("uniform", tunnel, size=4)
    assert data.factor_names == ("red", "green", "blue", "pol_1", "pol_2")
    assert data.factor_sizes is None
    np.testing.assert_allclose(data.factors([2])[0, 1], 4.5)
    assert data.images([2])[0, 0, 0, 0] == 40


def test_what_is_missing_of_the_light_tunnel_is_named(tunnel, monkeypatch, tmp_path_factory):
    with pytest.raises(UsageError, match="did you mean 'uniform'"):
        load_light_tunnel("unifrom", tunnel)
    (tunnel / "uniform" / "images_64" / "1.png").unlink()
    with pytest.raises(UsageError, match=r"lacks images_64/1\.png"):
        load_light_tunnel("uniform", tunnel)
    (tunnel / "uniform" / "uniform.csv").write_text("image_file,red\na.png,1\n")
    with pytest.raises(UsageError, match="no column 'green'"):
        load_light_tunnel("uniform", tunnel)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("none")))
    for name in ("causal3dident", "light-tunnel"):
        with pytest.raises(UsageError, match="get it from"):
            load(name)
