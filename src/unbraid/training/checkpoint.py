"""The state of a training run in one safetensors file: tensors as tensors, the rest as JSON in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from unbraid.errors import UsageError, unknown_name
from unbraid.files import write_bytes
from unbraid.nets import Predictor
from unbraid.reading import check_form, open_file, parse_json, understood

__all__ = [
    "WrongWeights",
    "check_step",
    "load_model",
    "load_parts",
    "load_training",
    "read_step",
    "same_part",
    "save_checkpoint",
    "without_optimizers",
]

MODEL, OPTIMIZER = "model/", "optimizer/"
TRUNK = "trunk"
_DAMAGED = "It is damaged or of another run: put the right one back, or let --fresh start the run anew"
_HEADER = {
    "loop": {
        "step": int,
        "sums": dict,
        "counts?": dict,
        "count?": int,
        "first_loss": dict | int | float | None,
        "tables?": dict,
        "history_bytes?": int,
        "evaluations_bytes?": int,
    },
    "groups": dict,
}


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


def without_optimizers(path: Path) -> bytes:
    """A checkpoint with the weights alone, a third of it for Adam: it can be opened, but not be trained on."""
    stored, header = _read(path, MODEL)
    tensors = {MODEL + name: value.contiguous() for name, value in stored.items()}
    return bytes(save(tensors, metadata={"state": json.dumps({"loop": header["loop"], "groups": {}})}))


def load_model(path: Path, model: nn.Module, *, but: Sequence[str] = ()) -> None:
    """Put the stored weights into a model of the same make; the parts ``but`` stay as they are."""
    stored, _ = _read(path, MODEL)
    own = model.state_dict()
    for part in but:
        stored, own = ({k: v for k, v in state.items() if k not in _inside(state, part)} for state in (stored, own))
    _copy(path, stored, own)


def load_parts(path: Path, model: nn.Module, parts: Sequence[str]) -> None:
    """Put the stored weights of some sub-modules into those of the same names, and leave the rest as it is.

    The part ``trunk`` of a predictor is all but its last layer, so that a run on other factors or classes can begin
    from it.
    """
    stored, _ = _read(path, MODEL)
    own = model.state_dict()
    named = {TRUNK: model.trunk()} if isinstance(model, Predictor) else {}
    for part in parts:
        if part in named:
            left = own.keys() - named[part]
            kept = {name: value for name, value in stored.items() if name not in left}
            _copy(path, kept, {name: own[name] for name in named[part]})
            continue
        if not _inside(own, part):
            raise unknown_name("part of this model", part, {name.partition(".")[0] for name in own} | set(named))
        if not _inside(stored, part):
            raise unknown_name(f"part of the model in {path}", part, {name.partition(".")[0] for name in stored})
        _copy(path, _inside(stored, part), _inside(own, part))


def same_part(path: Path, model: nn.Module, part: str) -> bool:
    """Whether a part of the stored model is made like that of this one; also if both have none."""
    stored, own = (_inside(state, part) for state in (_read(path, MODEL)[0], model.state_dict()))
    return {name: value.shape for name, value in stored.items()} == {name: value.shape for name, value in own.items()}


def read_step(path: Path) -> int:
    """After how many steps a checkpoint was written."""
    return int(_read(path, "none of the tensors")[1]["loop"]["step"])


def check_step(path: Path, step: int, info: Mapping[str, Any]) -> None:
    """Refuse a checkpoint beyond what its run was ever asked to do, as ``run.json`` has it.

    A killed process may have left one that is ahead of the record, but never ahead of the budget. A run by time, and
    one of an earlier version that is not finished, have no bound that is known.
    """
    budget = info.get("budget")
    if budget is None:
        most = info["step"] if info.get("status") == "finished" else None
    else:
        most = None if budget["steps"] is None else max(budget["steps"], info["step"])
    if most is not None and step > most:
        raise UsageError(
            f"{path} says it is of step {step:,}, but its run was never asked to go beyond {most:,}. {_DAMAGED}"
        )


def _inside(state: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if name.startswith(f"{part}.")}


def _copy(path: Path, stored: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    missing, extra = sorted(own.keys() - stored.keys()), sorted(stored.keys() - own.keys())
    if missing or extra:
        raise UsageError(f"{path} does not fit this model: missing {missing[:3]}, unexpected {extra[:3]}")
    for name, value in own.items():
        _check(path, name, stored[name], value.shape, value.dtype)
    for name, value in own.items():
        value.copy_(stored[name])


class WrongWeights(UsageError):
    """Weights that are there but cannot be those of a model: nothing may be shown of it, not even in part."""


def _check(path: Path, name: str, found: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    """Refuse a tensor that cannot be the one of this name."""
    if found.shape != shape:
        raise UsageError(f"{path}: {name} has shape {tuple(found.shape)}, expected {tuple(shape)}. {_DAMAGED}")
    if found.dtype != dtype:
        raise WrongWeights(f"{path}: {name} holds {_words(found.dtype)}, expected {_words(dtype)}. {_DAMAGED}")
    if found.is_floating_point() and not torch.isfinite(found).all():
        raise WrongWeights(f"{path}: {name} holds NaN or infinity. {_DAMAGED}")


def _words(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def load_training(
    path: Path,
    model: nn.Module,
    optimizers: dict[str, Optimizer],
    *,
    own_settings: bool = False,
    but: Sequence[str] = (),
) -> dict[str, Any]:
    """Put model and optimisers back to where they were; returns the loop's state.

    With ``own_settings`` the optimisers keep their own learning rates and take over only what they remember. The
    parts ``but`` of the model stay as they are.
    """
    load_model(path, model, but=but)
    stored, header = _read(path, OPTIMIZER)
    if optimizers and not header["groups"]:
        raise UsageError(
            f"{path} holds weights without the memory of their optimisers and cannot be trained on; begin another run "
            "from them: --start RUN --parts NAME (for an autoencoder encoder,decoder)"
        )
    left = {weights for name, weights in model.named_parameters() if name.startswith(tuple(f"{part}." for part in but))}
    for player, optimizer in optimizers.items():
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if left.issuperset(parameters):
            continue
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in stored.items():
            owner, _, place = name.partition("/")
            number, _, key = place.partition("/")
            if owner == player:
                if not number.isdecimal() or int(number) >= len(parameters):
                    raise UsageError(f"{path}: {OPTIMIZER}{name} belongs to no parameter of this model. {_DAMAGED}")
                parameter = parameters[int(number)]
                whole = value.shape == parameter.shape and value.ndim > 0
                shape = parameter.shape if whole else torch.Size(())
                _check(path, OPTIMIZER + name, value, shape, parameter.dtype if whole else value.dtype)
                # Same memory layout as the parameter: elementwise kernels may round differently across layouts.
                like = torch.empty_like(parameter) if value.shape == parameter.shape else torch.empty_like(value)
                state.setdefault(int(number), {})[key] = like.copy_(value)
        with understood(path, _DAMAGED):
            groups = optimizer.state_dict()["param_groups"] if own_settings else header["groups"][player]
            before = header["groups"].get(player, groups)
            if state and before[0].keys() != groups[0].keys():
                raise UsageError(
                    f"{path} is of a run with another optimiser than this one's, whose memory it cannot give; take its "
                    "weights alone (--parts net)"
                )
            optimizer.load_state_dict({"state": state, "param_groups": groups})
    return header["loop"]


def _read(path: Path, prefix: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.exists():
        raise UsageError(f"{path} is missing; the run has not reached its first checkpoint")
    with open_file(path, _DAMAGED):
        pass
    try:
        with understood(path, _DAMAGED), safe_open(path, framework="pt") as file:
            header = parse_json((file.metadata() or {})["state"], path, remedy=_DAMAGED)
            check_form(header, _HEADER, path, remedy=_DAMAGED)
            if header["loop"]["step"] < 0:
                raise UsageError(f"{path} says it is of step {header['loop']['step']}. {_DAMAGED}")
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 (not a mapping)
            return {name.removeprefix(prefix): file.get_tensor(name) for name in names}, header
    except SafetensorError as error:
        raise UsageError(f"{path} is damaged ({error}); delete it to train this run from the start") from error
