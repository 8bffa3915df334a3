"""A run's decoder and encoder as ONNX models that a browser can run."""

from __future__ import annotations

import importlib.util
import io
import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError

if TYPE_CHECKING:
    from unbraid.training import Run

__all__ = ["check_exporter", "decoder_onnx", "encoder_onnx", "export"]

OPSET = 17


def check_exporter() -> None:
    """Refuse before any work if models cannot be exported: a page without its decoder would be empty."""
    try:
        found = importlib.util.find_spec("onnx")
    except ValueError:  # somebody put None in its place
        found = None
    if found is None:
        raise UsageError("the explorer needs the package onnx, which is not installed here: pip install onnx")


class _Decode(nn.Module):
    """Codes to images in [0, 1]: what the likelihood makes of the decoder's output is part of the graph."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.model, self.objective = run.model, run.objective

    def forward(self, codes: Tensor) -> Tensor:
        return self.objective.decode(self.model, codes)


class _Encode(_Decode):
    """Images in [0, 1] to their mean codes."""

    def forward(self, images: Tensor) -> Tensor:
        return self.objective.encode(self.model, images)


def decoder_onnx(run: Run, latents: int) -> bytes:
    """Float codes ``[n, d]`` to float images ``[n, c, h, w]``, for any n."""
    return export(_Decode(run), torch.zeros(2, latents, device=run.device), "codes", "images")


def encoder_onnx(run: Run) -> bytes:
    """Float images ``[n, c, h, w]`` in [0, 1] to float codes ``[n, d]``, for any n."""
    height, width, channels = run.info["data"]["shape"]
    return export(_Encode(run), torch.zeros(2, channels, height, width, device=run.device), "images", "codes")


def export(module: nn.Module, example: Tensor, given: str, made: str) -> bytes:
    """A module of one tensor as an ONNX model for any number of rows."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # Exporting by tracing is announced to go some day. It takes a third of a second; its successor takes six, and a
        # study's runs are exported while somebody waits for the page.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            (example,),
            file,  # type: ignore[arg-type]  # a buffer is fine for this exporter
            input_names=[given],
            output_names=[made],
            dynamic_axes={given: {0: "n"}, made: {0: "n"}},
            opset_version=OPSET,
            dynamo=False,
        )
    return file.getvalue()
