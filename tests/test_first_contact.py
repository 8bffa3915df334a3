"""What a new user writes first in Python: one line each."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.data import MiniSprites, from_arrays
from unbraid.errors import UsageError

SMALL: dict[str, Any] = {"metrics": ["mcc"], "train": 60, "test": 30}
NET = {"net": "mlp:width=8", "latents": 3}


class Encoder(nn.Module):
    """Codes by a fixed map; drop-out shows whether it is in evaluation mode."""

    def __init__(self, outputs=2):
        super().__init__()
        self.map = nn.Linear(8 * 8, outputs)
        self.drop = nn.Dropout(0.5)
        nn.init.normal_(self.map.weight, generator=torch.Generator().manual_seed(0))

    def forward(self, images):
        assert images.dtype == self.map.weight.dtype
        assert 0 <= float(images.min()) <= float(images.max()) <= 1
        return self.drop(self.map(images.flatten(1)))


@pytest.fixture(scope="module")
def bars():
    place, level = np.indices((4, 5)).reshape(2, -1)
    images = np.zeros((20, 8, 8), np.uint8)
    for k in range(20):
        images[k, :, 2 * place[k] : 2 * place[k] + 2] = 40 * level[k] + 60
    return from_arrays(images, {"place": place, "level": level}, name="bars")


def test_a_module_is_evaluated_in_one_line_and_left_in_its_modes(bars):
    module = Encoder().train()
    module.map.eval()
    scores = unbraid.evaluate(module, bars, **SMALL)
    assert (module.training, module.map.training, module.drop.training) == (True, False, True)
    with torch.no_grad():

        def encode(images):
            floats = torch.from_numpy(images.astype(np.float32) / np.float32(255)).permute(0, 3, 1, 2)
            return module.map(floats.flatten(1)).numpy()

        expected = unbraid.evaluate(encode, bars, **SMALL)
    assert float(scores["mcc"]) == pytest.approx(float(expected["mcc"]), abs=1e-6)
    assert float(unbraid.evaluate(Encoder().double(), bars, **SMALL)["mcc"]) == pytest.approx(float(scores["mcc"]))


def test_functions_on_float_tensors_and_methods_of_modules_work_too(bars):
    module = Encoder().eval()
    module.encode = lambda images: module(images)  # a module's own encode goes before its forward
    wanted = float(unbraid.evaluate(module, bars, **SMALL)["mcc"])
    for function in (lambda images: module.map(images.flatten(1)), module.forward):
        assert float(unbraid.evaluate(function, bars, **SMALL)["mcc"]) == pytest.approx(wanted)


def test_a_module_that_gives_several_things_or_nothing_fit_says_what_to_do(bars):
    class Two(Encoder):
        def forward(self, images):
            return super().forward(images), images

    with pytest.raises(UsageError, match=r"Two gives a tuple of 2.*lambda images: model\(images\)\[0\]"):
        unbraid.evaluate(Two(), bars, **SMALL)
    with pytest.raises(UsageError, match=r"takes neither uint8 images .* nor float tensors"):
        unbraid.evaluate(lambda images: images.no_such_thing(), bars, **SMALL)


def test_hyperparameters_are_arguments_and_the_folder_follows_from_the_settings(bars, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = unbraid.train("beta-vae", bars, beta=2, steps=3, progress="none", **NET)
    assert run.objective.beta == 2
    assert run.path.parent.name == "runs"
    assert run.path.name.startswith("beta-vae-bars-")
    again = unbraid.train("beta-vae", bars, beta=2, steps=5, progress="none", **NET)
    other = unbraid.train("beta-vae", bars, beta=3, steps=3, progress="none", **NET)
    assert (again.path, again.info["step"]) == (run.path, 5)
    assert other.path != run.path
    with pytest.raises(UsageError, match=r"unknown .*'step'; did you mean 'steps'"):
        unbraid.train("beta-vae", bars, step=3)
    with pytest.raises(UsageError, match="beta is no argument of train"):
        unbraid.train(run.objective, bars, beta=3)


def test_packages_come_with_the_name_and_torch_does_not():
    program = (
        "import sys, unbraid; assert 'numpy' not in sys.modules and 'data' in dir(unbraid); "
        "print(unbraid.metrics.mig.__name__, len(unbraid.data.load('mini-sprites'))); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mig", str(len(MiniSprites()))]
    with pytest.raises(AttributeError, match="no attribute 'dat'"):
        unbraid.dat  # noqa: B018


def test_notebooks_show_runs_and_data_sets_with_all_names_escaped(bars, tmp_path):
    odd = from_arrays(bars.images(range(20)), labels=["<b>"] * 10 + ["&"] * 10, name="<script>")
    assert "<script>" not in odd._repr_html_()
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "place 4, level 5" in bars._repr_html_()
    run = unbraid.train("vae", odd, steps=2, out=tmp_path / "<i>", progress="none", **NET)
    assert "<script>" not in run._repr_html_()
    assert "<i>" not in run._repr_html_()
    assert "finished at step 2" in run._repr_html_()
