"""Adversarial noise training (Rusak et al., 2020)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.objectives.augment.base import Augmentation, Scene, need_pictures, register
from unbraid.objectives.learned_noise import check_eps, farthest, raised, reached, train_noise

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unbraid.nets import NoiseGame, NoiseHistory
    from unbraid.objectives.base import Inputs, Terms
    from unbraid.objectives.learned_noise import Harm
    from unbraid.problem import Problem

__all__ = ["AdversarialNoise"]


@register("ant")
@dataclass(frozen=True)
class AdversarialNoise(Augmentation):
    """Noise of a small network that learns, beside the model, which noise hurts it most (Rusak et al., 2020).

    In every step the generator learns on the whole batch against the model as it is, then the model on its share of
    noisy images: some by the present generator, some by earlier ones, so that it does not forget them. At regular
    intervals the generator is kept and a new one trained from the start against the model as it is then.
    """

    title = "Adversarial noise"

    kernel: int = 1
    """Width of the generator's kernels: 1 for noise independent between pixels, 3 for correlated noise."""
    depth: int = 4
    """Layers of the generator."""
    eps: float = 5.0
    """L2 norm of the noise after clipping; published: 10 for MNIST, 135 (kernel 1) and 70 (kernel 3) for ImageNet."""
    rate: float = 1e-4
    """Step size of Adam for the generator."""
    replay: float = 0.4
    """Part of its share with noise of earlier generators; 0 trains against the present one alone."""
    slice: float = 0.2
    """Part of its share that one earlier generator serves."""
    every: int = 500
    """Steps after which the generator is kept and a new one begins."""
    restart_steps: int = 100
    """Batches by which a new generator learns before it plays."""
    restart_rate: float = 5e-4
    """Step size of Adam while a new generator learns."""
    min_room: float = 0.0
    """Least part of the norm that noise must reach on an image; others do not count, and stay clean."""
    keep: int = 100
    """How many earlier generators are kept at most."""
    snapshots: str = ""
    """Folder of a finished run whose earlier generators make all the noise; none is trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        from unbraid.objectives.checks import check_count, check_positive

        check_eps(self.eps)
        check_positive(self, "rate", "restart_rate")
        check_count(self, "depth", "every", "restart_steps", "keep")
        if self.kernel not in (1, 3):
            raise UsageError(f"kernel must be 1 or 3, got {self.kernel}")
        if not 0 <= self.replay <= 1 or not 0 < self.slice <= 1:
            raise UsageError(f"replay and slice are parts of its share, up to 1, got {self.replay} and {self.slice}")
        if not 0 <= self.min_room <= 1:
            raise UsageError(f"min_room is a part of eps, between 0 and 1, got {self.min_room}")

    @property
    def player(self) -> str:
        """Its name among the players, and before its columns of the history."""
        return f"ant{self.kernel}x{self.kernel}"

    def build(self, problem: Problem, generator: torch.Generator) -> nn.Module:
        from unbraid.nets import NoiseGame, NoiseGenerator

        if len(problem.shape) != 3:
            raise UsageError(f"augmentation 'ant' takes images, got vectors of {problem.shape[0]} numbers")
        return NoiseGame(NoiseGenerator(problem.shape[2], self.kernel, self.depth, generator=generator), self.keep)

    def optimizers(self, module: nn.Module) -> dict[str, torch.optim.Optimizer]:
        from torch.optim import Adam

        if self.snapshots:
            return {}
        return {self.player: Adam(_game(module).generator.parameters(), lr=self.rate, fused=True)}

    def prepare(
        self,
        scene: Scene,
        optimizers: dict[str, torch.optim.Optimizer],
        noise: torch.Generator,
        batches: Callable[[int], Inputs],
    ) -> None:
        game = _game(scene.own)
        if self.snapshots:
            if not len(game.history):
                from unbraid.objectives.augment.snapshots import load_snapshots

                load_snapshots(self.snapshots, game.history)
            return
        if game.begun and scene.step % self.every:
            return
        if game.begun:
            game.history.add(game.generator, self.eps)
        else:
            self._check_reach(batches(scene.step).images)
        game.generator.reset(noise)
        optimizers[self.player].state.clear()
        from unbraid.nets import frozen, judged

        with judged(scene.model), frozen(scene.model, but=game.generator):
            played = (self._game_on(scene, batches(scene.step + k), noise) for k in range(self.restart_steps))
            report = train_noise(
                game.generator, played, self.eps, rate=self.restart_rate, steps=self.restart_steps, noise=noise,
                min_room=self.min_room, step=scene.step,
            )  # fmt: skip
        game.record(report)

    def losses(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Iterator[tuple[str, Terms]]:
        from unbraid.nets import frozen, judged
        from unbraid.objectives.base import Terms

        if self.snapshots:
            return
        images, harm = self._game_on(scene, inputs, noise)
        generator = _game(scene.own).generator
        with judged(scene.model), frozen(scene.model, but=generator):
            loss, watched = raised(generator, images, harm, self.eps, self.min_room, noise)
        yield self.player, Terms({"gain": -loss}, watched)

    def apply(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> Tensor:
        import torch

        game, images = _game(scene.own), need_pictures(self, inputs.images)
        with torch.no_grad():
            return torch.cat(
                [
                    self._noisy(images[begin:end], game, row, noise)
                    for begin, end, row in self._served(len(images), game.history, noise)
                ]
            )

    def _served(self, n: int, history: NoiseHistory, noise: torch.Generator) -> Iterator[tuple[int, int, int | None]]:
        """Whose noise is on which of its images: the present generator's first, then a slice for each row of the past.

        Slices for which there is no earlier generator are the present one's.
        """
        replay = 1.0 if self.snapshots else self.replay
        slices = max(1, round(replay / self.slice)) if replay else 0
        rows = history.draw(slices, noise)
        if self.snapshots:
            rows = [rows[place % len(rows)] for place in range(slices)]
        ends = [math.floor(n * (1 - replay * left / max(slices, 1)) + 0.5 + 1e-9) for left in range(slices, -1, -1)]
        present = slices - len(rows)
        parts = [(0, ends[present], None), *zip(ends[present:-1], ends[present + 1 :], rows, strict=True)]
        yield from (part for part in parts if part[0] < part[1])

    def _noisy(self, images: Tensor, game: NoiseGame, row: int | None, noise: torch.Generator) -> Tensor:
        import torch

        from unbraid.nets import project_l2

        weights, eps = (None, self.eps) if row is None else game.history.weights(row)
        noisy = project_l2(images, game.generator.sample(images.shape, noise, weights), eps)
        if not self.min_room:
            return noisy
        kept = reached(images, noisy, self.min_room * eps)
        return torch.where(kept[:, None, None, None], noisy, images)

    def _game_on(self, scene: Scene, inputs: Inputs, noise: torch.Generator) -> tuple[Tensor, Harm]:
        def harm(noisy: Tensor, rows: Tensor) -> Tensor:
            chosen = inputs if len(rows) == len(inputs.images) else inputs.take(rows)
            return scene.loss(replace(chosen, images=noisy, clean=chosen.targets), noise)

        return need_pictures(self, inputs.images), harm

    def _check_reach(self, images: Tensor) -> None:
        most = farthest(need_pictures(self, images)).max().item()
        if self.eps > most:
            raise UsageError(
                f"eps = {self.eps} cannot be reached: in [0, 1] no noise moves these images by more than {most:.3g}; "
                "unbraid.objectives.matching_eps(images) says what normal noise amounts to on them"
            )


def _game(module: nn.Module | None) -> NoiseGame:
    from unbraid.nets import NoiseGame

    assert isinstance(module, NoiseGame)
    return module
