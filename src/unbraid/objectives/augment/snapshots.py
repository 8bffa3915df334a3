"""The generators that an earlier run found, out of its checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbraid.errors import UsageError
from unbraid.paths import user_path
from unbraid.reading import open_file, understood

if TYPE_CHECKING:
    from unbraid.nets import NoiseHistory

__all__ = ["load_snapshots"]

FILE = "checkpoint.safetensors"
ENDING = ".history.snapshots"


def load_snapshots(folder: str, history: NoiseHistory) -> None:
    """Put the generators that a run has kept, oldest first, into a history of the same make."""
    import torch
    from safetensors import SafetensorError, safe_open

    path = user_path(folder, "snapshots") / FILE
    remedy = "give the folder of a finished run with the augmentation ant"
    if not path.exists():
        raise UsageError(f"snapshots: there is no {path}; {remedy}")
    with open_file(path, remedy):
        pass
    try:
        with understood(path, remedy), safe_open(path, framework="pt") as file:
            names = [name for name in file.keys() if name.endswith(ENDING)]  # noqa: SIM118 (not a mapping)
            parts = [name.removesuffix("snapshots") for name in names]
            found = [[file.get_tensor(part + key) for key in ("snapshots", "budgets", "taken")] for part in parts]
    except SafetensorError as error:
        raise UsageError(f"{path} is damaged ({error}); {remedy}") from error
    wanted = history.snapshots.shape[1]
    fitting = [entry for entry in found if entry[0].ndim == 2 and entry[0].shape[1] == wanted]
    if not fitting:
        sizes = ", ".join(str(entry[0].shape[-1]) for entry in found) or "none"
        raise UsageError(
            f"{path} has no generators of {wanted} weights (found: {sizes}); kernel, depth and channels must be those "
            f"of that run: {remedy}"
        )
    weights, budgets, taken = fitting[0]
    count = min(int(taken), len(weights))
    if not count or not torch.isfinite(weights).all() or not (budgets[:count] > 0).all():
        raise UsageError(f"{path} holds no generators of the past: the run must be longer than one of its intervals")
    order = torch.arange(count).add(int(taken) - count).remainder(len(weights))
    for row in order[-len(history.snapshots) :].tolist():
        history.add_weights(weights[row], float(budgets[row]))
