"""Jacobians of decoders by every route, and the loss split that uses them."""

import numpy as np
import pytest
import torch

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.theory import decoder_jacobian, split_reconstruction


@pytest.mark.parametrize("name", ["conv", "mlp:width=16,activation=tanh", "linear"])
def test_forward_and_reverse_agree_with_torch_row_by_row(name):
    decoder = nets.build(name, (8, 8, 1), 3)[1]
    codes = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    forward, reverse = (decoder_jacobian(decoder, codes, mode=mode, batch_size=3) for mode in ("forward", "reverse"))
    single = torch.autograd.functional.jacobian(lambda z: decoder(z[None]).flatten(), codes[3]).numpy()
    assert forward.shape == (5, 64, 3)
    assert np.allclose(forward[3], single, atol=1e-5)
    assert np.allclose(forward, reverse, atol=1e-5)


def test_central_differences_serve_decoders_on_arrays():
    def decode(z):
        return np.stack([np.sin(z[:, 0]) * z[:, 1], z[:, 1] ** 3], axis=1)

    found = decoder_jacobian(decode, [[0.3, 2.0], [1.0, -1.0]], mode="differences")
    expected = [[[np.cos(a) * b, np.sin(a)], [0, 3 * b**2]] for a, b in ((0.3, 2.0), (1.0, -1.0))]
    assert np.allclose(found, expected, atol=1e-6)
    with pytest.raises(UsageError, match="differences"):
        decoder_jacobian(lambda z: z.numpy(), [[0.0, 1.0]])


def test_a_decoder_with_fewer_outputs_than_latents_goes_backwards():
    weight = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = decoder_jacobian(lambda z: z @ weight, torch.zeros(3, 4, dtype=torch.float64))
    assert np.array_equal(found, weight.T.numpy()[None].repeat(3, axis=0))


def test_a_linear_decoders_loss_falls_exactly_into_its_two_parts():
    # Proposition 4: noise has mean zero, so E|D(mu + e) - x|^2 = |D mu - x|^2 + sum_j |d_j|^2 sigma_j^2.
    rng = np.random.default_rng(0)
    weight, x, mu = rng.standard_normal((3, 5)), rng.standard_normal((4, 5)), rng.standard_normal((4, 3))
    variances = rng.uniform(0.1, 0.5, (4, 3))
    matrix = torch.as_tensor(weight, dtype=torch.float32)
    found = split_reconstruction(lambda z: z @ matrix, x, mu, variances, draws=4000, seed=1)
    local = (variances @ (weight**2).sum(axis=1)).mean()
    assert found.local == pytest.approx(local, rel=1e-6)
    assert found.stochastic == pytest.approx(local, rel=0.03)
    assert found.deterministic == pytest.approx(((mu @ weight - x) ** 2).sum(axis=1).mean(), rel=1e-5)
    assert found.total == pytest.approx(found.deterministic + local, rel=0.03)
    assert abs(found.leftover) < 0.03


def test_a_full_covariance_counts_its_correlations():
    # Two columns (1, 0) and (1, 0) with correlated noise: E|J e|^2 = s11 + 2 s12 + s22.
    matrix = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    covariance = np.broadcast_to([[0.5, 0.3], [0.3, 0.4]], (2000, 2, 2))
    zero = np.zeros((2000, 2))
    found = split_reconstruction(lambda z: z @ matrix, zero, zero, covariance, draws=20)
    assert found.local == pytest.approx(1.5, rel=1e-6)
    assert found.stochastic == pytest.approx(1.5, rel=0.03)


def test_curvature_shows_in_what_is_left_over():
    # Dec(z) = z^2 at mu = 0: the mean decodes to 0, samples to e^2 with mean s, so the noise is biased.
    one = np.ones((5000, 1))
    found = split_reconstruction(lambda z: z**2, one, 0 * one, 0.5 * one, draws=20)
    # E(e^2 - 1)^2 = 3 s^2 - 2 s + 1 = 0.75; deterministic 1; stochastic 3 s^2 = 0.75; leftover -1 of 0.75.
    assert found.total == pytest.approx(0.75, rel=0.05)
    assert found.leftover == pytest.approx(-1 / 0.75, rel=0.07)
    assert found.local == 0
