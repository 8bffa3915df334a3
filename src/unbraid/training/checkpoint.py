"""The state of a training run in one safetensors file: tensors as tensors, the rest as JSON in its header."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from unbraid.errors import UsageError, unknown_name
from unbraid.files import write_bytes

__all__ = ["load_model", "load_parts", "load_training", "read_step", "save_checkpoint"]

MODEL, OPTIMIZER = "model/", "optimizer/"


def save_checkpoint(path: Path, model: nn.Module, optimizers: dict[str, Optimizer], state: dict[str, Any]) -> None:
    """Write model, optimisers and loop state; the earlier checkpoint stays until this one is whole."""
    tensors: dict[str, Tensor] = {MODEL + name: value for name, value in model.state_dict().items()}
    groups: dict[str, list[dict[str, Any]]] = {}
    for player, optimizer in optimizers.items():
        packed = optimizer.state_dict()
        groups[player] = packed["param_groups"]
        for number, entries in packed["state"].items():
            for key, value in entries.items():
                tensors[f"{OPTIMIZER}{player}/{number}/{key}"] = torch.as_tensor(value)
    stored = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    # A single header entry: the order of several is not fixed, and equal states should be equal bytes.
    # In the order of the loop, which is that of the history's columns.
    header = {"state": json.dumps({"loop": state, "groups": groups})}
    write_bytes(path, save(stored, metadata=header))


def load_model(path: Path, model: nn.Module) -> None:
    """Put the stored weights into a model of the same make."""
    stored, _ = _read(path, MODEL)
    _copy(path, stored, model.state_dict())


def load_parts(path: Path, model: nn.Module, parts: Sequence[str]) -> None:
    """Put the stored weights of some sub-modules into those of the same names, and leave the rest as it is."""
    stored, _ = _read(path, MODEL)
    own = model.state_dict()
    for part in parts:
        if not _inside(own, part):
            raise unknown_name("part of this model", part, {name.partition(".")[0] for name in own})
        if not _inside(stored, part):
            raise unknown_name(f"part of the model in {path}", part, {name.partition(".")[0] for name in stored})
        _copy(path, _inside(stored, part), _inside(own, part))


def read_step(path: Path) -> int:
    """After how many steps a checkpoint was written."""
    return int(_read(path, "none of the tensors")[1]["loop"]["step"])


def _inside(state: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if name.startswith(f"{part}.")}


def _copy(path: Path, stored: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    missing, extra = sorted(own.keys() - stored.keys()), sorted(stored.keys() - own.keys())
    if missing or extra:
        raise UsageError(f"{path} does not fit this model: missing {missing[:3]}, unexpected {extra[:3]}")
    for name, value in own.items():
        if value.shape != stored[name].shape:
            raise UsageError(f"{path}: {name} has shape {tuple(stored[name].shape)}, expected {tuple(value.shape)}")
    for name, value in own.items():
        value.copy_(stored[name])


def load_training(
    path: Path, model: nn.Module, optimizers: dict[str, Optimizer], *, own_settings: bool = False
) -> dict[str, Any]:
    """Put model and optimisers back to where they were; returns the loop's state.

    With ``own_settings`` the optimisers keep their own learning rates and take over only what they remember.
    """
    load_model(path, model)
    stored, header = _read(path, OPTIMIZER)
    for player, optimizer in optimizers.items():
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in stored.items():
            owner, number, key = name.split("/")
            if owner == player:
                parameter = parameters[int(number)]
                # Same memory layout as the parameter: elementwise kernels may round differently across layouts.
                like = torch.empty_like(parameter) if value.shape == parameter.shape else torch.empty_like(value)
                state.setdefault(int(number), {})[key] = like.copy_(value)
        groups = optimizer.state_dict()["param_groups"] if own_settings else header["groups"][player]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
    return header["loop"]


def _read(path: Path, prefix: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["state"])
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 (not a mapping)
            return {name.removeprefix(prefix): file.get_tensor(name) for name in names}, header
    except FileNotFoundError as error:
        raise UsageError(f"{path} is missing; the run has not reached its first checkpoint") from error
    except (SafetensorError, KeyError, ValueError) as error:
        raise UsageError(f"{path} is damaged ({error}); delete it to train this run from the start") from error
