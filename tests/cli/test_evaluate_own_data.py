"""Own data of any table, through the command."""

import numpy as np
import pytest

from unbraid.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A run on 300 images whose factors repeat (an integer column) or were measured (a float column)."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    place, level = rng.integers(4, size=300), rng.random(300)
    images = np.zeros((300, 8, 8), np.uint8)
    for k in range(300):
        images[k, :, 2 * place[k] : 2 * place[k] + 2] = 50 + 200 * level[k]
    factors = np.stack([place, level], axis=1)
    np.savez(folder / "own.npz", images=images, factors=factors, names=["place", "level"])
    options = ["--net", "mlp:width=16", "--steps", "5", "--batch-size", "16", "--progress", "none"]
    assert main(["train", "vae", "--data", str(folder / "own.npz"), "--out", str(folder / "run"), *options]) == 0
    return folder


def test_any_table_is_scored_and_says_what_it_cannot_do_and_what_it_cut(table, capsys):
    asked = ["--metrics", "mig,r2,beta_vae,gaussian_total_correlation", "--train", "200", "--test", "100"]
    assert main(["evaluate", str(table / "run"), *asked]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "beta_vae not possible: it chooses factor values itself" in printed
    assert "Measured factors (level) were cut into 10 bins of equal counts for mig." in printed
    assert "live codes" in printed
    assert "Dead ones are faint functions of the others" in printed
    assert main(["evaluate", str(table / "run"), "--metrics", "beta_vae"]) == 2
    assert "beta_vae chooses factor values itself" in " ".join(capsys.readouterr().err.split())
