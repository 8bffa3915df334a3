"""Codes that are verified: what an encoder says is believed where its decoding matches the image."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import unbraid
from unbraid.data import load
from unbraid.errors import UsageError
from unbraid.robustness.synthesis import infer
from unbraid.transfer import readings


class Grey:
    """Codes are the brightness of grey images, but for white corners, which the encoder is wrong about by 1."""

    def encode(self, model, images):
        return images.flatten(1).mean(1, keepdim=True) + (images[:, 0, :1, 0] == 1)

    def decode(self, model, codes):
        return codes[:, :, None, None].expand(-1, 1, 4, 4)


class Read:
    def answers(self, model, codes):
        return {"class": torch.cat([codes, -codes], 1)}


def test_codes_that_draw_another_image_are_searched_for_and_the_others_stay():
    run, asked = SimpleNamespace(model=nn.Identity(), objective=Grey()), []

    def search(images):
        asked.append(len(images))
        return images.flatten(1).mean(1, keepdim=True).numpy()

    # The second image is wrong about 1 in each of 16 pixels; the third about nothing but its own noise.
    images = torch.full((3, 1, 4, 4), 0.5)
    images[1, 0, 0, 0], images[2, 0, 1, 1] = 1.0, 0.6
    readout = SimpleNamespace(model=nn.Identity(), objective=Read())
    model = readings.Verified(run, readout, "class", 1.0, search)
    mean = images.flatten(1).mean(1)
    plain = readings.ReadOff(run, readout, "class")
    torch.testing.assert_close(plain.codes(images)[:, 0], mean + torch.tensor([0.0, 1.0, 0.0]))
    torch.testing.assert_close(model.codes(images)[:, 0], mean)
    torch.testing.assert_close(model(images)[:, 1], -mean)
    assert asked == [1, 1]  # only the one, each time
    # Gradients are the encoder's: each of 16 pixels counts a sixteenth, also where codes were replaced.
    moved = images.clone().requires_grad_()
    model(moved)[:, 0].sum().backward()
    torch.testing.assert_close(moved.grad, torch.full_like(images, 1 / 16))


def test_a_run_is_verified_by_what_its_clean_images_match(tmp_path, monkeypatch):
    for name, value in {"STEPS": 5, "CODES": 100, "CLEAN": 100, "SAMPLES": 30, "PASSES": 3}.items():
        monkeypatch.setattr(readings, name, value)
    blobs = load("blobs16")
    options = {"net": "mlp:width=8", "latents": 3, "steps": 20, "out": tmp_path / "vae", "progress": "none"}
    run = unbraid.train("vae", blobs, **options)
    model = readings.read_off(run, "verified", "x").asked
    clean = torch.from_numpy(readings._some(blobs, 100)).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        wrong = model.mismatch(clean, readings.ReadOff.codes(model, clean))
        noise = 1 - clean[:5]  # white images with a black blob: no code draws them
        assert (model.mismatch(noise, readings.ReadOff.codes(model, noise)) > model.most).all()
        found = model.codes(noise)
    # 95 of 100 images match; one place of rounding.
    assert int((wrong > model.most).sum()) == 5
    wanted = infer(run, noise, samples=30, iterations=3).codes[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(UsageError, match="unknown reading 'verify'"):
        readings.read_off(run, "verify")
    with pytest.raises(UsageError, match="'vae' draws none"):
        readings.read_off(run, "exact")
