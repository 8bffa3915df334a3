"""Train several fully connected VAEs at once, as one network with a leading axis for the models.

Small networks spend most of a step outside of arithmetic. Stacked, the models share that: one batch, one pass with
batched matrix products, one Adam. Initial weights, batches and noise are those of separate training, and so are the
results up to rounding.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unbraid.nets import Autoencoder, Gaussian, Stacked, can_stack
from unbraid.objectives import (
    AutoencoderObjective,
    BetaTCVAE,
    BetaTCVAESampled,
    Inputs,
    Objective,
    Problem,
    VAEObjective,
)
from unbraid.training import numerics
from unbraid.training.loop import Loop, stop_requests
from unbraid.training.mixed_adam import MixedAdam
from unbraid.training.session import Session

__all__ = ["Stack", "stackable", "torn", "train_stacked"]

_SHARED = {
    "build": (VAEObjective.build,),
    "optimizers": (AutoencoderObjective.optimizers,),
    "prepare": (Objective.prepare,),
    "losses": (Objective.losses,),
    "loss": (VAEObjective.loss,),
    "terms": (VAEObjective.terms,),
    "posterior": (VAEObjective.posterior,),
    "regulariser": (VAEObjective.regulariser, BetaTCVAE.regulariser, BetaTCVAESampled.regulariser),
}
"""What a stack does itself; an objective that does any of it differently trains its models one by one."""


def stackable(objective: Objective, problem: Problem) -> bool:
    """Whether models of this objective can train stacked: VAEs of fully connected networks with a simple penalty."""
    alone = objective.augment or getattr(objective, "active_penalties", ())
    if alone or not all(getattr(type(objective), name, None) in known for name, known in _SHARED.items()):
        return False
    assert isinstance(objective, VAEObjective)
    if objective.optimizer != "adam" or objective.weight_decay:
        return False
    model = objective.make_model(problem, torch.Generator())
    if not (can_stack(model.get_submodule("encoder")) and can_stack(model.get_submodule("decoder"))):
        return False
    *grid, last = problem.shape
    images, codes = torch.zeros(2, last, *grid), torch.zeros(1, 2, objective.latents)
    try:
        _terms(objective, problem, Inputs(images), codes, codes, codes, images[None], 0)
    except RuntimeError:  # a penalty that looks at values or draws at random cannot run for all models at once
        return False
    return True


class Stack:
    """The models of several loops as one: :meth:`advance` moves them, :meth:`give_back` puts them into the loops."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self.loops, first = loops, loops[0]
        assert isinstance(first.objective, VAEObjective)
        models = [loop.model for loop in loops if isinstance(loop.model, Autoencoder)]
        nets = Stacked([model.encoder for model in models]), Stacked([model.decoder for model in models])
        self.objective, self.problem = first.objective, models[0].problem
        self.model = Autoencoder(*nets, self.problem).to(first.device)
        self.optimizer = self.objective.optimizers(self.model)["model"]
        self.parameters = self.optimizer.param_groups[0]["params"]
        for own, parts in zip(self.parameters, zip(*map(_parameters, loops), strict=True), strict=True):
            states = [loop.optimizers["model"].state[part] for loop, part in zip(loops, parts, strict=True)]
            if all(states):  # empty before the first step
                self.optimizer.state[own] = {
                    key: torch.stack([state[key] for state in states]) if value.dim() else value.clone()
                    for key, value in states[0].items()
                }
        self.updater: torch.optim.Optimizer | MixedAdam = self.optimizer
        if first.device.type == "cpu":
            dtype = numerics.precision(first.device, first.precision)
            rounded = nets if dtype is torch.bfloat16 else ()
            self.updater = MixedAdam(self.optimizer, {w: c for net in rounded for w, c in net.make_copies(dtype)})

    def advance(self) -> None:
        """One step of every model."""
        first = self.loops[0]
        inputs = first.inputs(first.stream(first.step))
        noise = []
        for loop in self.loops:
            loop.seed_noise(loop.step)
            size = (len(inputs.images), self.objective.latents)
            noise.append(torch.randn(size, generator=loop.noise, device=first.device))
        with numerics.autocast(first.device, first.precision):
            posterior = Gaussian.from_heads(self.model.encoder(inputs.images))
            sample = posterior.sample(torch.stack(noise))
            output = self.model.decoder(sample)
            losses, watched = _terms(
                self.objective, self.problem, inputs, posterior.mean, posterior.logvar, sample, output, first.step
            )
        rest = list(losses.values())
        total = sum(rest[1:], rest[0])  # [models]
        numbers = {"loss": total, **losses, **watched}
        rows = torch.stack([value.detach().float() for value in numbers.values()], dim=1).tolist()
        for loop, row in zip(self.loops, rows, strict=True):
            loop.check_loss("model", dict(zip(numbers, row, strict=True)))
        self.updater.zero_grad()
        total.sum().backward()
        self.updater.step()
        for loop, row in zip(self.loops, rows, strict=True):
            loop.step += 1
            loop.means.add(dict(zip(numbers, row, strict=True)))

    @torch.no_grad()
    def give_back(self) -> None:
        """Copy weights and optimiser state into the loops."""
        for number, loop in enumerate(self.loops):
            optimizer = loop.optimizers["model"]
            for own, part in zip(self.parameters, _parameters(loop), strict=True):
                part.copy_(own[number])
                optimizer.state[part] = {
                    key: value[number].clone() if value.dim() else value.clone()
                    for key, value in self.optimizer.state[own].items()
                }


def train_stacked(sessions: Sequence[Session], steps: int) -> None:
    """Advance sessions up to a number of updates, all that stand at the same step at once.

    Those that are behind catch up first. Where exactly these sessions were one stack before, they stand at different
    steps only because the process was killed while it saved: such sessions must begin anew (:func:`torn`).
    """
    marks = sorted({session.loop.step for session in sessions if session.loop.step < steps})
    for mark in [*marks[1:], steps]:
        behind = [session for session in sessions if session.loop.step < mark]
        if behind and not _advance(behind, mark, "finished" if mark == steps else "running"):
            return
    for session in sessions:
        if session.info["status"] != "finished":
            session.save("finished")


def torn(sessions: Sequence[Session]) -> bool:
    """Whether these sessions were one stack whose last checkpoints are not all of the same moment."""
    apart = len({session.loop.step for session in sessions}) > 1
    return apart and all(session.info.get("stack") == _members(sessions) for session in sessions)


def _members(sessions: Sequence[Session]) -> list[int]:
    return [session.info["seed"] for session in sessions]


def _advance(sessions: Sequence[Session], steps: int, status: str) -> bool:
    """Train one stack; ``False`` if somebody asked to stop."""
    with contextlib.ExitStack() as exit_stack:
        stop = exit_stack.enter_context(stop_requests())
        for session in sessions:
            exit_stack.enter_context(session.explained())
        stack = Stack([session.loop for session in sessions])
        for session in sessions:
            session.note(stack=_members(sessions))
            session.allow(steps)
        saved = time.monotonic()
        while sessions[0].loop.step < steps:
            if stop():
                _save(stack, sessions, "stopped")
                return False
            stack.advance()
            for session in sessions:
                session.log()
            if time.monotonic() - saved >= sessions[0].checkpoint_seconds:
                _save(stack, sessions, "running")
                saved = time.monotonic()
        _save(stack, sessions, status)
        return True


def _save(stack: Stack, sessions: Sequence[Session], status: str) -> None:
    stack.give_back()
    for session in sessions:
        session.save(status)


def _parameters(loop: Loop) -> list[nn.Parameter]:
    return loop.optimizers["model"].param_groups[0]["params"]


class _Decoded:
    """Stands for a model in the loss of a batch that is decoded already."""

    def __init__(self, problem: Problem, output: Tensor) -> None:
        self.problem, self._output = problem, output

    def decoder(self, codes: Tensor) -> Tensor:
        return self._output


def _terms(
    objective: VAEObjective,
    problem: Problem,
    inputs: Inputs,
    mean: Tensor,
    logvar: Tensor,
    sample: Tensor,
    output: Tensor,
    step: int,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The terms of every model's loss, each ``[models]``."""

    def of_one(mean: Tensor, logvar: Tensor, sample: Tensor, output: Tensor) -> tuple[dict[str, Tensor], ...]:
        found = objective.terms(_Decoded(problem, output), inputs, Gaussian(mean, logvar), sample, step)  # type: ignore[arg-type]
        return found.terms, found.watched

    losses, watched = torch.vmap(of_one)(mean, logvar, sample, output)
    return losses, watched
