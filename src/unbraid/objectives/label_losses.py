"""What is asked of latents whose labels are known (Locatello et al., 2020, few labels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unbraid.errors import UsageError, unknown_name
from unbraid.options import check_options, parse_name

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["LOSSES", "label_loss", "label_reader"]


Maker = Callable[[Sequence[int]], Any]
"""From the number of values of each label to what learns to read them, or None."""


def _nothing() -> Maker:
    return lambda _: None


def _scale(learned: bool = False) -> Maker:
    from unbraid import nets

    return lambda _: nets.LabelScale() if learned else None


def _places(even: bool = False, sigma: float = 1.0, learned: bool = False) -> Maker:
    from unbraid import nets

    if not 0 < sigma < float("inf"):
        raise UsageError(f"sigma of label loss 'embed' must be a positive number, got {sigma!r}")
    return lambda sizes: nets.LabelPlaces(sizes, even=even, sigma=sigma, learned=learned)


LOSSES: Mapping[str, Callable[..., Maker]] = {"xent": _nothing, "l2": _scale, "cov": _nothing, "embed": _places}
"""Losses by name; the arguments are their options, and what they give makes the part that learns, if there is one."""


def label_reader(kind: str, sizes: Sequence[int]) -> nn.Module | None:
    """What a loss learns beside the encoder, for labels of so many values; None if it learns nothing.

    >>> label_reader("xent", (3, 4)) is None
    True
    >>> label_reader("embed:even=true", (3, 4)).places()[0].tolist()
    [-1.0, 0.0, 1.0]
    """
    name, options = _read(kind)
    maker = LOSSES[name](**options)
    reader: nn.Module | None = maker(sizes)
    return reader


def label_loss(
    mean: Tensor, factors: Tensor, sizes: Tensor, kind: str = "xent", reader: nn.Module | None = None
) -> Tensor:
    """How far the first K latents ``mean [n, d]`` are from the K labels ``factors [n, K]``; the others stay free.

    ``xent``: cross-entropy between sigmoid(mean_k) and v_k / size_k, summed over the batch and its factors. ``l2``:
    squared distance of the same two, summed; with a :class:`~unbraid.nets.LabelScale` as ``reader``, of b mean_k and
    v_k. ``cov``: squared covariances over the batch of each tied latent with every label but its own, which asks that
    no other factor be followed. ``embed``: cross-entropy of the logits of a :class:`~unbraid.nets.LabelPlaces`, a mean
    over the batch and a sum over labels.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    name, options = _read(kind)
    tied = mean[:, : len(sizes)]
    if name == "embed":
        if reader is None:
            raise UsageError("label loss 'embed' needs places of the values: reader=label_reader('embed', sizes)")
        columns = factors.long().unbind(1)
        return sum(
            (cross_entropy(logits, column) for logits, column in zip(reader(tied), columns, strict=True)),
            mean.new_zeros(()),
        )
    if name == "l2":
        if reader is None and options.get("learned"):
            raise UsageError(f"label loss {kind!r} needs its learned scale: reader=label_reader({kind!r}, sizes)")
        missed = tied.sigmoid() - factors / sizes if reader is None else reader(tied) - factors
        return missed.square().sum()
    if name == "cov":
        labels = factors.to(tied.dtype)
        covariance = (tied - tied.mean(0)).T @ (labels - labels.mean(0)) / len(tied)
        return (covariance - covariance.diagonal().diag()).square().sum()
    return binary_cross_entropy_with_logits(tied, factors / sizes, reduction="sum")


def _read(kind: str) -> tuple[str, dict[str, Any]]:
    name, options = parse_name(kind)
    if name not in LOSSES:
        raise unknown_name("label_loss", name, LOSSES)
    return name, check_options(f"label loss {name!r}", LOSSES[name], options)
