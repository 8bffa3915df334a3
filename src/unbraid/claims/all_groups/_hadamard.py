"""A manipulation whose encoders are known exactly: two factors along two patterns of 8 x 8 pixels, in a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unbraid.theory import Codec

__all__ = ["known_encoders"]

EPSILON = 0.1
NOISE = (0.05, 0.3)
"""Of codes: little in the first, much in the second."""


def known_encoders(
    seed: int, steps: int, polish: int, pattern_steps: int, warm_up: int, patience: int = 100, beta: float = 0.1
) -> list[dict[str, Any]]:
    """Fresh VAEs on images, on their manipulated version, and in noise of the same size, for one seed.

    The pattern is learned with codes that are the factors, and with codes that are these turned by 45 degrees.
    """
    from unbraid.data import HadamardImages, Perturbed, PixelNoise
    from unbraid.metrics import mig
    from unbraid.objectives import BetaVAE
    from unbraid.theory import fit, train_perturbation

    base = HadamardImages()
    made = train_perturbation(
        [_codec(True, seed)],
        [_codec(False, seed + 1)],
        base,
        epsilon=EPSILON,
        steps=pattern_steps,
        net="mlp:decoder=32+64+64,activation=tanh",
        width=32,
        learning_rate=1e-3,
        seed=seed,
        warm_up=warm_up,
        patience=patience,
    )
    net = "mlp:encoder=64+64,decoder=64+64,activation=tanh"
    objective = BetaVAE(beta=beta, latents=2, net=net, likelihood="gaussian", learning_rate=1e-3)
    sets = {"original": base, "perturbed": Perturbed(base, made.perturbation), "noise": PixelNoise(base, EPSILON)}
    rows = []
    for variant, data in sets.items():
        found = fit(objective, data, steps=steps, polish=polish, seed=seed)
        assert found.factors is not None
        distance = None if found.orthogonality is None else found.orthogonality.mean
        score = float(mig(found.codes, 20 * found.factors // 32))
        rows.append({"variant": variant, "mig": score, "distance": distance, "gap": made.kept[1]})
    return rows


def _codec(turned: bool, seed: int) -> Codec:
    """Codes that are the factors, turned by 45 degrees or not, with noise along their own axes."""
    import torch

    from unbraid import nets
    from unbraid.theory import Codec

    noise = torch.tensor(NOISE)
    turn = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2) if turned else torch.eye(2)
    weights = torch.Generator().manual_seed(seed)
    _, decoder = nets.build("mlp:decoder=64+64,activation=tanh", (8, 8, 1), 2, heads=1, generator=weights)

    def sample(_: torch.Tensor, factors: torch.Tensor, samples: int, generator: torch.Generator) -> torch.Tensor:
        codes = (factors @ turn).repeat(samples, 1)
        return codes + noise * torch.randn(codes.shape, generator=generator)

    return Codec(sample, decoder, lambda output, images: (output - images).square().sum((1, 2, 3)))
