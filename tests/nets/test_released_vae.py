"""Released weights of VAEs: what the released network gives, the loaded one gives."""

import pytest
import torch

from released_vae import Released, released
from unbraid.errors import UsageError
from unbraid.nets import read_released_vae


@pytest.mark.parametrize(("size", "channels", "latents"), [(64, 1, 10), (64, 3, 10), (32, 1, 10), (32, 1, 4)])
def test_codes_and_images_are_those_of_the_release(size, channels, latents, tmp_path):
    net = released(tmp_path, size, channels, latents)
    encoder, decoder = read_released_vae(tmp_path / "model.pt")
    images = torch.rand(5, channels, size, size)
    with torch.no_grad():
        mean, logvar = net.encode(images)
        torch.testing.assert_close(encoder(images), torch.cat([mean, logvar], dim=1))
        torch.testing.assert_close(decoder(mean).sigmoid(), net.decode(mean))


def test_other_weights_are_refused_and_other_parts_left_out(tmp_path):
    released(tmp_path, 32, **{"discriminator.lin1.weight": torch.zeros(3)})
    read_released_vae(tmp_path / "model.pt")
    torch.save({"encoder.lin1.weight": torch.zeros(2)}, tmp_path / "other.pt")
    with pytest.raises(UsageError, match=r"has no encoder\.conv1\.weight"):
        read_released_vae(tmp_path / "other.pt")
    state = torch.load(tmp_path / "model.pt", weights_only=True) | {"decoder.lin2.weight": torch.zeros(5, 5)}
    torch.save(state, tmp_path / "wide.pt")
    with pytest.raises(UsageError, match=r"decoder\.lin2\.weight has shape \(5, 5\), expected \(256, 256\)"):
        read_released_vae(tmp_path / "wide.pt")
    torch.save({"encoder.conv1.weight": Released}, tmp_path / "code.pt")
    with pytest.raises(UsageError, match="not a readable state dict"):
        read_released_vae(tmp_path / "code.pt")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("encoder.mu_logvar_gen.bias", lambda old: old.sum(), r"have shapes .* and \(\)"),
        ("encoder.mu_logvar_gen.bias", lambda old: old[:1], r"have shapes .* and \(1,\)"),
        ("encoder.conv1.weight", lambda old: old[0, 0, 0], r"have shapes \(4,\) and \(20,\)"),
        ("encoder.mu_logvar_gen.weight", lambda old: old.sum(), r"has shape \(\), expected \(20, 256\)"),
        ("encoder.lin1.weight", lambda old: old.to_sparse(), "dense tensor of floats, got a sparse_coo tensor"),
        ("encoder.lin1.weight", lambda old: old.to(torch.complex64), "dense tensor of floats, got .* complex64"),
        ("decoder.lin1.bias", lambda old: old.long(), "dense tensor of floats, got a strided tensor of int64"),
        ("decoder.lin1.bias", lambda old: old + torch.nan, r"decoder\.lin1\.bias has entries that are NaN"),
    ],
)
def test_tensors_that_are_no_weights_are_refused(name, change, words, tmp_path):
    released(tmp_path, 32)
    state = torch.load(tmp_path / "model.pt", weights_only=True)
    torch.save(state | {name: change(state[name])}, tmp_path / "other.pt")
    with pytest.raises(UsageError, match=words):
        read_released_vae(tmp_path / "other.pt")
