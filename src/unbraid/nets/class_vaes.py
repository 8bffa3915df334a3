"""One small variational autoencoder per class, all of them side by side (Schott et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets import stride2
from unbraid.nets.initialise import seeded

__all__ = ["ClassVAEs"]

SMALLEST = 13
"""Pixels a side below which the layers do not fit."""


class ClassVAEs(nn.Module):
    """Encoders and decoders of all classes as grouped convolutions: what one class computes never meets another.

    The layers are those of Schott et al. (2019), whose last decoder kernel is 4 wide (3 is printed, which gives 27
    pixels): for 28x28 images and 8 latents, 61,616 weights in an encoder and 23,745 in a decoder. For other sizes the
    last kernel of the encoder and the first and last ones of the decoder change, nothing else.
    """

    def __init__(
        self,
        shape: Sequence[int],
        classes: int,
        latents: int = 8,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if len(shape) != 3:
            raise UsageError(f"class VAEs take images (height, width, channels), got shape {tuple(shape)}")
        height, width, channels = shape
        if min(height, width) < SMALLEST:
            raise UsageError(f"class VAEs take images of {SMALLEST} pixels a side or more, got {height}x{width}")
        if classes < 2 or latents < 1:
            raise UsageError(f"class VAEs need two classes and one latent or more, got {classes} and {latents}")
        self.shape, self.classes, self.latents = (channels, height, width), classes, latents
        more = [-side % 4 for side in (height, width)]  # so that strides lose no pixel
        left = ((height + more[0]) // 4 - 2, (width + more[1]) // 4 - 2)
        first = ((height - 9) // 4, (width - 9) // 4)
        last = (height - 4 * first[0] - 8, width - 4 * first[1] - 8)
        with seeded(generator):
            self.encoder = nn.Sequential(
                *([nn.ZeroPad2d((0, more[1], 0, more[0]))] if any(more) else []),
                *self._down(channels, 32, (5, 5), 1),
                *self._down(32, 32, (4, 4), 2),
                *self._down(32, 64, (3, 3), 2),
                nn.Conv2d(classes * 64, classes * 2 * latents, left, groups=classes),
            )
            self.decoder = nn.Sequential(
                *self._up(latents, 32, first, 1),
                *self._up(32, 16, (5, 5), 2),
                *self._up(16, 16, (5, 5), 2),
                nn.ConvTranspose2d(classes * 16, classes * channels, last, groups=classes),
            )

    def _down(self, inputs: int, outputs: int, kernel: tuple[int, int], stride: int) -> tuple[nn.Module, ...]:
        c = self.classes
        return nn.Conv2d(c * inputs, c * outputs, kernel, stride, groups=c), nn.BatchNorm2d(c * outputs), nn.ELU()

    def _up(self, inputs: int, outputs: int, kernel: tuple[int, int], stride: int) -> tuple[nn.Module, ...]:
        c = self.classes
        wide = nn.ConvTranspose2d(c * inputs, c * outputs, kernel, stride, groups=c)
        return wide, nn.BatchNorm2d(c * outputs), nn.ELU()

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log-variances ``[n, classes, latents]`` of images ``[n, classes, c, h, w]``, one row per class."""
        found = self.encoder(images.flatten(1, 2)).view(len(images), self.classes, 2, self.latents)
        return found[:, :, 0], found[:, :, 1]

    def decode(self, codes: Tensor) -> Tensor:
        """Images ``[n, classes, c, h, w]`` in (0, 1) of codes ``[n, classes, latents]``."""
        return self.logits(codes).sigmoid()

    def logits(self, codes: Tensor) -> Tensor:
        """The same before the last sigmoid."""
        found: Tensor = self.decoder(codes.flatten(1)[:, :, None, None])
        return found.view(len(codes), self.classes, *self.shape)

    def drawing(self) -> Callable[[Tensor], Tensor]:
        """``decode`` of a trained model with its weights as they are now: gradients flow to codes alone.

        For searches, which decode thousands of times: four times as fast in float32 on one core with AVX-512, and the
        same function elsewhere.
        """
        plain = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in self.decoder.parameters())
        if self.training or not plain or not stride2.one_wide_core():
            return self.decode
        from unbraid.nets._class_decoders import Decoders  # it imports numba: whoever only trains need not wait

        return Decoders(self.decoder, self.classes, self.latents, self.shape)
