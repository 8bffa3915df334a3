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

from unbraid.data import Batch, Stream, counter_rng
from unbraid.errors import UsageError
from unbraid.objectives import Inputs, Objective, Terms
from unbraid.training import numerics
from unbraid.training.history import Means

__all__ = ["Diverged", "Hook", "Loop", "Moment", "run_hooks", "stop_requests"]

INIT, NOISE = 1, 2
"""Purposes of the counter-based generator beside the stream's own (0)."""


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

    def __post_init__(self) -> None:
        if self.every < 1:
            raise UsageError(f"every must be at least 1 step, got {self.every}")


class Loop:
    """Objective, model, optimisers and stream, advanced step by step. Knows nothing of files."""

    def __init__(
        self,
        objective: Objective,
        model: nn.Module,
        stream: Stream,
        seed: int,
        device: torch.device,
        precision: str = "auto",
    ) -> None:
        self.objective, self.stream, self.seed, self.device = objective, stream, seed, device
        self.precision = precision
        self.model = model.to(device)
        self.optimizers: dict[str, Optimizer] = objective.optimizers(self.model)
        self.players = {
            name: [p for group in optimizer.param_groups for p in group["params"]]
            for name, optimizer in self.optimizers.items()
        }
        self.noise = torch.Generator(device)
        self.step = 0
        self.means = Means()
        self.first_loss: float | None = None

    def advance(self) -> None:
        """One step: a batch, and one update of every player."""
        inputs = self.inputs(self.stream(self.step))
        self.seed_noise()
        losses = self.objective.losses(self.model, inputs, self.step, self.noise)
        numbers: dict[str, float] = {}
        while True:
            with numerics.autocast(self.device, self.precision):
                item = next(losses, None)
            if item is None:
                break
            player, terms = item
            numbers |= self._update(player, terms, prefix=f"{player}/" if numbers else "")
        self.step += 1
        self.means.add(numbers)

    def seed_noise(self) -> None:
        """Put the noise generator to where it belongs at this step: no state is carried over."""
        self.noise.manual_seed(int(counter_rng(self.seed, self.step, NOISE).integers(2**63)))

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold beside tensors."""
        return {
            "step": self.step,
            "sums": self.means.sums,
            "count": self.means.count,
            "first_loss": self.first_loss,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state; model and optimisers are restored by the checkpoint."""
        self.step, self.first_loss = state["step"], state["first_loss"]
        self.means = Means(state["sums"], state["count"])

    def check_weights(self) -> None:
        """Refuse to let weights that are no numbers become a checkpoint."""
        for name, value in self.model.state_dict().items():
            if value.is_floating_point() and not torch.isfinite(value).all():
                raise Diverged(f"{name} is not finite after step {self.step}: a gradient was not. {_HINT}")

    def _update(self, player: str, terms: Terms, prefix: str) -> dict[str, float]:
        if player not in self.optimizers:
            raise UsageError(
                f"objective yields a loss for player {player!r}, optimizers() has {sorted(self.optimizers)}"
            )
        total = terms.total
        numbers = {"loss": total.item()}
        numbers |= {name: value.item() for name, value in {**terms.terms, **terms.watched}.items()}
        self.check_loss(numbers)
        optimizer = self.optimizers[player]
        optimizer.zero_grad(set_to_none=True)
        if len(self.optimizers) == 1:
            total.backward()
        else:
            total.backward(inputs=self.players[player])
        optimizer.step()
        return {prefix + name: value for name, value in numbers.items()}

    def check_loss(self, numbers: dict[str, float]) -> None:
        """Refuse to go on from a loss that is no number or far beyond where it started."""
        for name in (*(n for n in numbers if n != "loss"), "loss"):
            if not math.isfinite(numbers[name]):
                raise Diverged(f"term {name!r} is {numbers[name]} at step {self.step}. {_HINT}")
        if self.first_loss is None:
            self.first_loss = numbers["loss"]
        if abs(numbers["loss"]) > 1e4 * (1 + abs(self.first_loss)):
            worst = max((n for n in numbers if n != "loss"), key=lambda n: abs(numbers[n]), default="loss")
            raise Diverged(
                f"the loss exploded at step {self.step}: {numbers['loss']:.4g} against {self.first_loss:.4g} at the "
                f"start; the largest term is {worst!r} ({numbers[worst]:.4g}). {_HINT}"
            )

    def inputs(self, batch: Batch) -> Inputs:
        """A batch on the training device."""

        def tensor(values: Any) -> torch.Tensor | None:
            return None if values is None else torch.as_tensor(values).to(self.device)

        return Inputs(
            images=numerics.to_tensor(batch.images, self.device),
            partners=None if batch.partners is None else numerics.to_tensor(batch.partners, self.device),
            labels=tensor(batch.labels),
            factors=tensor(batch.factors),
            index=tensor(batch.index),
            partner_factors=tensor(batch.partner_factors),
        )


_HINT = "Try a smaller --learning-rate, a weaker penalty, or look at the data; the last good checkpoint is kept."


def run_hooks(hooks: Sequence[Hook], loop: Loop) -> list[dict[str, Any]]:
    """The rows measured by the hooks that are due at the loop's step."""
    due = [hook for hook in hooks if loop.step % hook.every == 0]
    if not due:
        return []
    moment = Moment(loop.step, loop.objective, loop.model, loop.device)
    loop.model.eval()
    with torch.no_grad():
        rows = [
            {"step": loop.step, "name": name, "value": float(value)}
            for hook in due
            for name, value in hook.call(moment).items()
        ]
    loop.model.train()
    return rows


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
