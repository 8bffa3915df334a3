"""Fully invertible classifiers: the first outputs of a bijection are the logits, the others all that is ignored."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.errors import UsageError
from unbraid.nets.bijections.bijection import Bijection, Chain
from unbraid.nets.bijections.logit_norm import LogitNorm
from unbraid.nets.bijections.shapes import FactorOut

__all__ = ["Checked", "FiRevNet"]

LARGEST = 512
"""Numbers per sample up to which :meth:`FiRevNet.check` builds the whole Jacobian."""


@dataclass(frozen=True)
class Checked:
    """How exact a bijection is on some data."""

    inverse_error: float
    """Largest absolute difference between x and the inverse of its output."""
    log_det_error: float | None
    """Difference to the Jacobian of automatic differentiation, for the first sample; ``None`` where it is too large."""


class FiRevNet(Bijection):
    """A bijection to flat vectors ``[n, d]`` whose first ``classes`` entries are logits (Jacobsen et al., 2019).

    ``shape`` is that of a sample as networks see it: (c, h, w) or (d,). Nothing is padded and nothing is thrown away:
    the output has as many numbers as the input.
    """

    def __init__(self, body: Bijection, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.body, self.shape, self.classes = body, tuple(shape), classes
        self.size = math.prod(shape)
        self.logit_norm: LogitNorm | None = None
        if not 1 <= classes < self.size:
            raise UsageError(
                f"classes must be at least 1 and fewer than the {self.size} numbers of a sample, got {classes}"
            )
        if classes > self.parts[0]:
            raise UsageError(
                f"{classes} logits do not fit into the {self.parts[0]} numbers that are left after the last stage; "
                "take fewer stages or factor_out=false"
            )

    @property
    def parts(self) -> tuple[int, ...]:
        """Numbers that come out at the end, then those factored out, last ones first; they add up to the size."""
        emitted: list[int] = []
        for module in self.body.modules():
            if isinstance(module, FactorOut):
                emitted.insert(0, module.emitted)
        return self.size - sum(emitted), *emitted

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if tuple(x.shape[1:]) != self.shape:
            raise UsageError(f"x must be [n, {', '.join(map(str, self.shape))}], got {list(x.shape)}")
        z, log_det = self.body(x)
        if self.logit_norm is None:
            return z.flatten(1), log_det
        z, more = self.logit_norm(z.flatten(1))
        return z, log_det + more

    def inverse(self, z: Tensor) -> Tensor:
        """The x ``[n, *shape]`` that is mapped to z ``[n, d]``."""
        self._check_outputs(z)
        return super().inverse(z)

    def undo(self, z: Tensor) -> Tensor:
        return self.body.undo(z if self.logit_norm is None else self.logit_norm.undo(z))

    def logits(self, x: Tensor) -> Tensor:
        """The semantic outputs alone, ``[n, classes]``."""
        return self.split(self(x)[0])[0]

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Semantic part ``[n, classes]`` and nuisance part ``[n, d - classes]`` of outputs."""
        self._check_outputs(z)
        return z[:, : self.classes], z[:, self.classes :]

    def merge(self, semantic: Tensor, nuisance: Tensor) -> Tensor:
        """Outputs with this semantic and this nuisance part."""
        z = torch.cat([semantic, nuisance], 1)
        self._check_outputs(z)
        if semantic.shape[1] != self.classes:
            raise UsageError(f"semantic must be [n, {self.classes}], got {list(semantic.shape)}")
        return z

    @torch.no_grad()
    def check(self, x: Tensor) -> Checked:
        """How exactly it inverts these samples, and how far its log determinant is from that of the Jacobian."""
        z, log_det = self(x)
        error = float((self.inverse(z) - x).abs().max())
        if self.size > LARGEST:
            return Checked(error, None)
        with torch.enable_grad():
            jacobian = torch.autograd.functional.jacobian(lambda row: self(row.view(1, *self.shape))[0][0], x[0])
        found = torch.linalg.slogdet(jacobian.reshape(self.size, self.size).double())[1]
        return Checked(error, abs(float(found - log_det[0])))

    def normalise_logits(self) -> FiRevNet:
        """Read the logits out through a batch normalisation of each."""
        self.logit_norm = LogitNorm(self.classes)
        return self

    def condition(self) -> FiRevNet:
        """Emit what is factored out relative to what is kept: a conditional density of it."""
        parts = [module for module in self.body.modules() if isinstance(module, FactorOut)]
        if not parts:
            raise UsageError(
                "a conditional prior is one of what is factored out between stages, and this network factors nothing "
                "out; take conv with at least two stages"
            )
        for part in parts:
            part.condition()
        return self

    def low_memory(self, on: bool = True) -> FiRevNet:
        """Let backward passes compute activations again from outputs instead of keeping them, or not."""
        for module in self.modules():
            # Innermost chains hold the couplings; others hand over to them, and would compute everything twice again.
            if isinstance(module, Chain):
                module.low_memory = on and sum(isinstance(part, Chain) for part in module.modules()) == 1
        return self

    def _check_outputs(self, z: Tensor) -> None:
        if z.ndim != 2 or z.shape[1] != self.size:
            raise UsageError(f"outputs must be [n, {self.size}], as many numbers as a sample has, got {list(z.shape)}")
