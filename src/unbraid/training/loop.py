"""The one training loop."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from unbraid.data import Batch, Purpose, Stream, counter_rng
from unbraid.errors import UsageError
from unbraid.nets import judged
from unbraid.objectives import Inputs, Objective, Terms
from unbraid.training import numerics
from unbraid.training.history import Means

__all__ = ["Diverged", "Hook", "Loop", "Moment", "run_hooks", "stop_requests"]


class Diverged(UsageError):
    """The loss is not a number, or far beyond where it started."""


@dataclass(frozen=True)
class Moment:
    """What a hook sees: the model as it is after ``step`` updates."""

    step: int
    objective: Objective
    model: nn.Module
    device: torch.device


@dataclass(frozen=True)
class Hook:
    """Something measured during training, every so many steps, recorded in ``evaluations.csv``."""

    call: Callable[[Moment], dict[str, float]]
    every: int = 1000
    begin: Callable[[int], None] | None = None
    """Told the step at which training begins or goes on, each time it does; for what is measured between two rows."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise UsageError(f"every must be at least 1 step, got {self.every}")


class Loop:
    """Objective, model, optimisers and stream, advanced step by step. Knows nothing of files.

    Terms are read, checked and added to the means every ``check_every`` steps: more than 1 is for steps that take no
    longer than looking at them.
    """

    def __init__(
        self,
        objective: Objective,
        model: nn.Module,
        stream: Stream,
        seed: int,
        device: torch.device,
        precision: str = "auto",
        check_every: int = 1,
    ) -> None:
        self.objective, self.stream, self.seed, self.device = objective, stream, seed, device
        self.precision, self.check_every = precision, check_every
        self.model = model.to(device)
        self.optimizers: dict[str, Optimizer] = objective.make_optimizers(self.model)
        self.players = {
            name: [p for group in optimizer.param_groups for p in group["params"]]
            for name, optimizer in self.optimizers.items()
        }
        if not self.optimizers:
            raise UsageError(f"objective {objective.name!r} must give at least one optimiser, got none")
        self.headline = "model" if "model" in self.optimizers else next(iter(self.optimizers))
        """The player whose terms are recorded under their own names; those of the others are ``player/term``."""
        self.noise = torch.Generator(device)
        self.step = 0
        self.means = Means()
        self.first_losses: dict[str, float] = {}

    def advance(self) -> None:
        """One step: a batch, and one update of every player."""
        self._prepare()
        looks = self.step % self.check_every == 0
        for player, terms in self._played(self.step):
            total = terms.total
            if looks:
                numbers = _numbers(terms, total)
                self.check_loss(player, numbers)
                self.means.add(self._named(player, numbers))
            self._update(player, total)
        self.step += 1

    def terms_at(self, step: int) -> dict[str, dict[str, float]]:
        """The terms of every player for the batch and the noise of a step, without learning from it.

        The model is judged as it stands and in evaluation mode: batch norm uses what it has learnt, and nothing is
        prepared for the step. Losses may differentiate; no gradient is kept.
        """
        found: dict[str, Means] = {}
        with judged(self.model):
            for player, terms in self._played(step):
                found.setdefault(player, Means()).add(_numbers(terms, terms.total))
        return {player: means.current() for player, means in found.items()}

    def seed_noise(self, step: int, purpose: Purpose = Purpose.NOISE) -> None:
        """Put the noise generator to where it belongs at a step: no state is carried over."""
        self.noise.manual_seed(int(counter_rng(self.seed, step, purpose).integers(2**63)))

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold beside tensors."""
        return {
            "step": self.step,
            "sums": self.means.sums,
            "counts": self.means.counts,
            "first_loss": self.first_losses,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state; model and optimisers are restored by the checkpoint."""
        self.step, first = state["step"], state["first_loss"]
        if "counts" in state:
            self.means = Means(state["sums"], state["counts"])
        else:  # version 0.1: one count for all terms
            self.means = Means(state["sums"], dict.fromkeys(state["sums"], state["count"]))
        if isinstance(first, dict):
            self.first_losses = dict(first)
        else:  # version 0.1 knew that of the headline alone, if any
            self.first_losses = {} if first is None else {self.headline: first}

    def check_weights(self) -> None:
        """Refuse to let weights that are no numbers become a checkpoint."""
        for name, value in self.model.state_dict().items():
            if value.is_floating_point() and not torch.isfinite(value).all():
                raise Diverged(f"{name} is not finite after step {self.step}: a gradient was not. {_HINT}")

    def check_loss(self, player: str, numbers: dict[str, float]) -> None:
        """Refuse to go on from a player's loss that is no number or far beyond where it started."""
        wrong = {name: value for name, value in numbers.items() if not math.isfinite(value)}
        for name, value in self._named(player, wrong).items():
            # A term says more than their sum, which comes first.
            if len(wrong) == 1 or name.rpartition("/")[2] != "loss":
                raise Diverged(f"term {name!r} is {value} at step {self.step}. {_HINT}")
        first = self.first_losses.setdefault(player, numbers["loss"])
        if abs(numbers["loss"]) > 1e4 * (1 + abs(first)):
            worst = max((n for n in numbers if n != "loss"), key=lambda n: abs(numbers[n]), default="loss")
            whose = "" if player == self.headline else f" of {player!r}"
            raise Diverged(
                f"the loss{whose} exploded at step {self.step}: {numbers['loss']:.4g} against {first:.4g} at the "
                f"start; the largest term is {worst!r} ({numbers[worst]:.4g}). {_HINT}"
            )

    def _prepare(self) -> None:
        """What objective and augmentations do before a step."""
        if self.objective.augment:
            self.seed_noise(self.step, Purpose.PREPARED)
        with numerics.autocast(self.device, self.precision):
            self.objective.make_ready(
                self.model, self.optimizers, self.step, self.noise, lambda step: self.inputs(self.stream(step))
            )

    def _played(self, step: int) -> Iterator[tuple[str, Terms]]:
        """What the objective yields for a step; whoever iterates may move a player before the next one comes."""
        inputs = self.inputs(self.stream(step))
        self.seed_noise(step)
        losses = self.objective.play(self.model, inputs, step, self.noise)
        while True:
            with numerics.autocast(self.device, self.precision):
                item = next(losses, None)
            if item is None:
                return
            if item[0] not in self.optimizers:
                raise UsageError(
                    f"objective yields a loss for player {item[0]!r}, optimizers() has {sorted(self.optimizers)}"
                )
            yield item

    def _update(self, player: str, total: torch.Tensor) -> None:
        optimizer = self.optimizers[player]
        optimizer.zero_grad(set_to_none=True)
        if len(self.optimizers) == 1:
            total.backward()
        else:
            total.backward(inputs=self.players[player])
        optimizer.step()

    def _named(self, player: str, numbers: dict[str, Any]) -> dict[str, Any]:
        return numbers if player == self.headline else {f"{player}/{name}": value for name, value in numbers.items()}

    def inputs(self, batch: Batch) -> Inputs:
        """A batch on the training device; images that are tensors already are taken as they are."""

        def tensor(values: Any) -> torch.Tensor | None:
            return None if values is None else torch.as_tensor(values).to(self.device)

        return Inputs(
            images=self._images(batch.images),
            partners=None if batch.partners is None else self._images(batch.partners),
            labels=tensor(batch.labels),
            factors=tensor(batch.factors),
            index=tensor(batch.index),
            partner_factors=tensor(batch.partner_factors),
            changed=tensor(batch.changed),
        )

    def _images(self, images: Any) -> torch.Tensor:
        return images.to(self.device) if isinstance(images, torch.Tensor) else numerics.to_tensor(images, self.device)


_HINT = "Try a smaller --learning-rate, a weaker penalty, or look at the data; the last good checkpoint is kept."


def _numbers(terms: Terms, total: torch.Tensor) -> dict[str, float]:
    named = {"loss": total, **terms.terms, **terms.watched}
    return {name: value.item() for name, value in named.items()}


def run_hooks(hooks: Sequence[Hook], loop: Loop) -> list[dict[str, Any]]:
    """The rows measured by the hooks that are due at the loop's step."""
    due = [hook for hook in hooks if loop.step % hook.every == 0]
    if not due:
        return []
    moment = Moment(loop.step, loop.objective, loop.model, loop.device)
    with judged(loop.model), torch.no_grad():
        return [
            {"step": loop.step, "name": name, "value": float(value)}
            for hook in due
            for name, value in hook.call(moment).items()
        ]


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a question the loop asks between steps; a second Ctrl-C interrupts at once."""
    asked = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def ask(*_: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
