"""Learn a small change of all images that moves the variance VAEs align with (Zietlow, Rolinek & Martius, 2021).

Two kinds of models of the same data are given, entangled and disentangled. Their encoders stay as they are and see
the original images; their decoders learn the changed ones. The change is trained to make those of the entangled
models easier to reconstruct, and those of the disentangled ones harder: it puts variance where only the entangled
codes are precise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from unbraid import nets
from unbraid.data import Dataset, GamePurpose, Perturbation, counter_rng, fold, unit_factors
from unbraid.errors import UsageError
from unbraid.objectives import VAEObjective
from unbraid.training import Run, numerics

__all__ = ["Codec", "Manipulation", "PerturbationNet", "codec_of", "noise_directions", "train_perturbation"]

LEVELS = 256


@dataclass(frozen=True)
class Codec:
    """A model as the manipulation sees it: random codes of original images, and a decoder that may still learn."""

    sample: Callable[[Tensor, Tensor, int, torch.Generator], Tensor]
    """Codes ``[m * n, d]``, ``m`` of each, drawn for images ``[n, c, h, w]`` with factors ``[n, K]`` in [-1, 1]."""
    decoder: nn.Module
    loss: Callable[[Tensor, Tensor], Tensor]
    """Reconstruction loss ``[n]`` of decoded outputs against images."""


def codec_of(run: Run) -> Codec:
    """A run's encoder, frozen, and a copy of its decoder."""
    objective, model = run.objective, run.model
    if not isinstance(objective, VAEObjective) or not isinstance(model, nets.Autoencoder):
        raise UsageError(f"{run.path} was trained by {objective.name!r}, which has no posterior; give runs of VAEs")

    def sample(images: Tensor, _: Tensor, samples: int, generator: torch.Generator) -> Tensor:
        with torch.no_grad():
            found = objective.posterior(model, images)
            return torch.cat([found.sample(generator=generator) for _ in range(samples)])

    return Codec(sample, copy.deepcopy(model.decoder).requires_grad_(), objective.reconstruction)


class PerturbationNet(nn.Module):
    """Factors in [-1, 1] to a single number in [-1, 1], and from that a pattern in [-1, 1] of an image's shape."""

    def __init__(self, factors: int, shape: tuple[int, ...], net: str, width: int, generator: torch.Generator) -> None:
        super().__init__()
        squeeze, _ = nets.build(
            f"mlp:encoder={width},activation=tanh", (1, factors, 1), 1, heads=1, generator=generator
        )
        _, self.draw = nets.build(net, shape, 1, heads=1, generator=generator)
        _, self.hidden, _, self.readout = squeeze.children()

    def code(self, factors: Tensor) -> Tensor:
        """The one number, ``[n, 1]``."""
        return torch.tanh(self.readout(torch.tanh(self.hidden(factors))))

    def forward(self, factors: Tensor) -> Tensor:
        return torch.tanh(self.draw(self.code(factors)))

    @torch.no_grad()
    def frozen(self, epsilon: float) -> Perturbation:
        """What a data set needs of it; grey levels are rounded towards 0, so that epsilon holds exactly."""
        patterns = torch.tanh(self.draw(torch.linspace(-1, 1, LEVELS)[:, None])).permute(0, 2, 3, 1)
        return Perturbation(
            epsilon,
            _array(self.hidden.weight),
            _array(self.hidden.bias),
            np.append(_array(self.readout.weight), _array(self.readout.bias)),
            np.trunc(255 * epsilon * patterns.double().numpy()).astype(np.int8),
        )


def _array(values: Any) -> np.ndarray:
    return torch.as_tensor(values).double().numpy()


@dataclass(frozen=True)
class Manipulation:
    """A trained perturbation and how its training went."""

    perturbation: Perturbation
    gaps: list[tuple[int, float]]
    """Steps of the pattern, and by how much disentangled models lose more than entangled ones on held out images."""


def train_perturbation(
    entangled: Sequence[Codec],
    disentangled: Sequence[Codec],
    data: Dataset,
    *,
    epsilon: float = 0.1,
    steps: int = 1000,
    net: str = "conv",
    width: int = 256,
    decoder_steps: int = 3,
    warm_up: int = 200,
    samples: int = 5,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    check_every: int = 100,
    patience: int = 5,
    seed: int = 0,
    tell: Callable[[int, float], None] | None = None,
) -> Manipulation:
    """Play the game for ``steps`` steps of the pattern, or until the gap has not grown in ``patience`` checks.

    Every step of the pattern follows ``decoder_steps`` steps of all decoders, each with ``samples`` codes per image. At
    first decoders alone take ``warm_up`` steps: until they know the pattern there is, the gap says nothing about it.
    Losses are averaged within each group of models. The decoders given are trained on, in place.
    """
    if not entangled or not disentangled:
        raise UsageError("give at least one entangled and one disentangled model")
    for name, value in (("steps", steps), ("decoder_steps", decoder_steps), ("samples", samples), ("width", width)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")
    if warm_up < 0:
        raise UsageError(f"warm_up must not be negative, got {warm_up}")
    if not 1 / 255 <= epsilon < 0.5:
        raise UsageError(f"epsilon must lie between 1/255 and 0.5, got {epsilon}")
    numerics.setup()
    game = _Game(entangled, disentangled, data, epsilon, samples, learning_rate, net, width, seed)
    held_out = game.batch(0, 512, purpose=GamePurpose.HELD_OUT)
    for step in range(warm_up):
        game.move_decoders(game.batch(step, batch_size, purpose=GamePurpose.WARM_UP))
    gaps = [(0, game.gap(held_out))]
    for step in range(steps):
        for part in range(decoder_steps):
            game.move_decoders(game.batch(step * decoder_steps + part, batch_size, purpose=GamePurpose.DECODERS))
        game.move_pattern(game.batch(step, batch_size, purpose=GamePurpose.PATTERN))
        if (step + 1) % check_every == 0 or step + 1 == steps:
            gaps.append((step + 1, game.gap(held_out)))
            if tell is not None:
                tell(*gaps[-1])
            best = int(np.argmax([gap for _, gap in gaps]))
            if len(gaps) - 1 - best >= patience:
                break
    return Manipulation(game.net.frozen(epsilon), gaps)


Batch = tuple[Tensor, Tensor]
"""Images and their factors in [-1, 1]."""


class _Game:
    """Decoders against the pattern."""

    def __init__(
        self,
        entangled: Sequence[Codec],
        disentangled: Sequence[Codec],
        data: Dataset,
        epsilon: float,
        samples: int,
        learning_rate: float,
        net: str,
        width: int,
        seed: int,
    ) -> None:
        self.groups, self.data, self.epsilon, self.samples, self.seed = (
            (entangled, disentangled),
            data,
            epsilon,
            samples,
            seed,
        )
        self.noise = torch.Generator().manual_seed(int(counter_rng(seed, 0, GamePurpose.NOISE).integers(2**62)))
        weights = torch.Generator().manual_seed(int(counter_rng(seed, 0, GamePurpose.INIT).integers(2**62)))
        self.net = PerturbationNet(len(data.factor_names), data.shape, net, width, weights)
        decoders = [p for group in self.groups for codec in group for p in codec.decoder.parameters()]
        self.decoders = Adam(decoders, lr=learning_rate, eps=1e-7)
        self.pattern = Adam(self.net.parameters(), lr=learning_rate, eps=1e-7)

    def batch(self, number: int, size: int, purpose: int) -> Batch:
        rng = counter_rng(self.seed, number, purpose)
        factors, images = self.data.sample(size, rng)
        places = torch.from_numpy(unit_factors(self.data.need_space("a perturbation"), factors).astype(np.float32))
        return numerics.to_tensor(images), places

    def moved(self, batch: Batch) -> Tensor:
        images, factors = batch
        return fold(images + self.epsilon * self.net(factors))  # type: ignore[return-value]

    def loss(self, group: Sequence[Codec], batch: Batch, target: Tensor, *, learn: bool) -> Tensor:
        """Mean reconstruction loss of the moved images by a group, from codes of the original ones."""
        total = torch.zeros(())
        for codec in group:
            codes = codec.sample(*batch, self.samples, self.noise)
            with torch.set_grad_enabled(learn):
                output = codec.decoder(codes)
            total = total + codec.loss(output, target.repeat(self.samples, 1, 1, 1)).mean()
        return total / len(group)

    def move_decoders(self, batch: Batch) -> None:
        with torch.no_grad():
            target = self.moved(batch)
        self.decoders.zero_grad(set_to_none=True)
        sum(self.loss(group, batch, target, learn=True) for group in self.groups).backward()  # type: ignore[union-attr]
        self.decoders.step()

    def move_pattern(self, batch: Batch) -> None:
        target = self.moved(batch)
        entangled, disentangled = (self.loss(group, batch, target, learn=False) for group in self.groups)
        self.pattern.zero_grad(set_to_none=True)
        (entangled - disentangled).backward()
        self.pattern.step()

    @torch.no_grad()
    def gap(self, batch: Batch) -> float:
        target = self.moved(batch)
        entangled, disentangled = (self.loss(group, batch, target, learn=False) for group in self.groups)
        return float(disentangled - entangled)


def noise_directions(
    entangled: tuple[np.ndarray, np.ndarray], disentangled: tuple[np.ndarray, np.ndarray], factors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where entangled codes are more precise than disentangled ones: advantages, and directions among the factors.

    Each model is ``(codes [n, d], posterior variances [n, d])``; factors ``[n, K]`` in [-1, 1] are fitted linearly by
    the codes, which carries the posterior noise over to them. The directions ``[K, K]`` (columns, best first) are those
    of the difference of the two noise covariances, the advantages by how much less noise the entangled model has
    there. Without a clearly positive one there is nothing for a perturbation to exploit.
    """
    noise = []
    for codes, variances in (entangled, disentangled):
        centred = codes - codes.mean(axis=0)
        fitted = np.linalg.lstsq(centred, factors - factors.mean(axis=0), rcond=None)[0]  # [d, K]
        noise.append(fitted.T * variances.mean(axis=0) @ fitted)
    advantages, directions = np.linalg.eigh(noise[1] - noise[0])
    return advantages[::-1], directions[:, ::-1]
