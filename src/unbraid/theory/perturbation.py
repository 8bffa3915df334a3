"""Learn a small change of all images that moves the variance VAEs align with (Zietlow, Rolinek & Martius, 2021).

Two kinds of models of the same data are given, entangled and disentangled. Their encoders stay as they are and see
the original images; their decoders learn the changed ones. The change is trained to make those of the entangled
models easier to reconstruct, and those of the disentangled ones harder: it puts variance where only the entangled
codes are precise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from unbraid import nets
from unbraid.data import Batch, Dataset, GamePurpose, Perturbation, counter_rng, fold, unit_factors
from unbraid.errors import UsageError
from unbraid.objectives import Inputs, Objective, Terms, VAEObjective
from unbraid.training import Loop, Run, numerics

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

    @property
    def kept(self) -> tuple[int, float]:
        """Of which step the perturbation is, and its gap: the largest that any trained pattern had."""
        return max(self.gaps[1:], key=lambda pair: pair[1])

    @property
    def grew(self) -> bool:
        """Whether the gap became larger than it was before the pattern learned anything."""
        return self.kept[1] > self.gaps[0][1]


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
    Losses are averaged within each group of models. The pattern with the largest gap is kept, which need not be the
    last: decoders go on learning, and the game may end worse than it was. The decoders given are trained on, in place.
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
    weights = torch.Generator().manual_seed(int(counter_rng(seed, 0, GamePurpose.INIT).integers(2**62)))
    game = _Game((tuple(entangled), tuple(disentangled)), epsilon, samples, learning_rate, decoder_steps, warm_up)
    model = _Players(PerturbationNet(len(data.factor_names), data.shape, net, width, weights), game.groups)

    def batches(step: int) -> Batch:
        if step < warm_up:
            return _draw(data, batch_size, counter_rng(seed, step, GamePurpose.WARM_UP))
        return _draw(data, (decoder_steps + 1) * batch_size, counter_rng(seed, step, GamePurpose.MOVES))

    loop = Loop(game, model, batches, seed, torch.device("cpu"), precision="fp32")
    held_out = loop.inputs(_draw(data, 512, counter_rng(seed, 0, GamePurpose.HELD_OUT)))

    def gap() -> float:
        noise = torch.Generator().manual_seed(int(counter_rng(seed, 0, GamePurpose.NOISE).integers(2**62)))
        with torch.no_grad():
            return -float(game.pattern_loss(model, held_out, noise))

    for _ in range(warm_up):
        loop.advance()
    gaps = [(0, gap())]
    kept: Perturbation | None = None
    for step in range(steps):
        loop.advance()
        if (step + 1) % check_every == 0 or step + 1 == steps:
            gaps.append((step + 1, gap()))
            if kept is None or gaps[-1][1] > max(gap for _, gap in gaps[1:-1]):
                kept = model.net.frozen(epsilon)
            if tell is not None:
                tell(*gaps[-1])
            best = int(np.argmax([gap for _, gap in gaps]))
            if len(gaps) - 1 - best >= patience:
                break
    assert kept is not None
    return Manipulation(kept, gaps)


def _draw(data: Dataset, size: int, rng: np.random.Generator) -> Batch:
    """Images, with their factors in [-1, 1]."""
    factors, images = data.sample(size, rng)
    return Batch(images, factors=unit_factors(data.need_space("a perturbation"), factors).astype(np.float32))


class _Players(nn.Module):
    """The pattern, and the decoders of all models."""

    def __init__(self, net: PerturbationNet, groups: Sequence[Sequence[Codec]]) -> None:
        super().__init__()
        self.net = net
        self.decoders = nn.ModuleList(codec.decoder for group in groups for codec in group)


@dataclass(frozen=True)
class _Game(Objective):
    """Decoders against the pattern."""

    groups: tuple[tuple[Codec, ...], tuple[Codec, ...]]
    """Entangled and disentangled models."""
    epsilon: float
    samples: int
    learning_rate: float
    decoder_steps: int
    warm_up: int

    def optimizers(self, model: _Players) -> dict[str, torch.optim.Optimizer]:
        return {
            "model": Adam(model.net.parameters(), lr=self.learning_rate, eps=1e-7),
            "decoders": Adam(model.decoders.parameters(), lr=self.learning_rate, eps=1e-7),
        }

    def losses(self, model: _Players, inputs: Inputs, step: int, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        """A batch has a part for every move: first those of the decoders, last that of the pattern."""
        moves = 1 if step < self.warm_up else self.decoder_steps + 1
        assert inputs.factors is not None
        pairs = zip(inputs.images.chunk(moves), inputs.factors.chunk(moves), strict=True)
        parts = [Inputs(images, factors=factors) for images, factors in pairs]
        for part in parts[: max(1, moves - 1)]:
            with torch.no_grad():
                target = self._moved(model, part)
            first, second = (self._loss(group, part, target, noise, learn=True) for group in self.groups)
            yield "decoders", Terms({"entangled": first, "disentangled": second})
        if step >= self.warm_up:
            yield "model", Terms({"gap": self.pattern_loss(model, parts[-1], noise)})

    def pattern_loss(self, model: _Players, inputs: Inputs, noise: torch.Generator) -> Tensor:
        """By how much entangled models lose more than disentangled ones: what the pattern makes small."""
        target = self._moved(model, inputs)
        entangled, disentangled = (self._loss(group, inputs, target, noise, learn=False) for group in self.groups)
        return entangled - disentangled

    def _moved(self, model: _Players, inputs: Inputs) -> Tensor:
        return fold(inputs.images + self.epsilon * model.net(inputs.factors))  # type: ignore[return-value]

    def _loss(
        self, group: Sequence[Codec], inputs: Inputs, target: Tensor, noise: torch.Generator, *, learn: bool
    ) -> Tensor:
        """Mean reconstruction loss of the moved images by a group, from codes of the original ones."""
        assert inputs.factors is not None
        total = torch.zeros(())
        for codec in group:
            codes = codec.sample(inputs.images, inputs.factors, self.samples, noise)
            with torch.set_grad_enabled(learn):
                output = codec.decoder(codes)
            total = total + codec.loss(output, target.repeat(self.samples, 1, 1, 1)).mean()
        return total / len(group)


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
