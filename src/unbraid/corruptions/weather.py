"""Weather: snow, frost, fog and bright light."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, each, normals
from unbraid.corruptions._filters import filtered, line_taps, scaled, unit, zoomed
from unbraid.corruptions._registry import register
from unbraid.corruptions._textures import frosty, plasma

__all__ = ["brightness", "digits_brightness", "fog", "frost", "snow"]

_GREY = np.array([0.299, 0.587, 0.114], np.float32)
"""How bright red, green and blue look."""
_ICE = np.array([0.86, 0.95, 1.0], np.float32)
"""Ice is a little blue."""


@register(
    "snow",
    "weather",
    (
        (0.1, 0.3, 3.0, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2.0, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4.0, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    suite="imagenet-c",
)
def snow(
    images: np.ndarray,
    draws: Draws,
    mean: float,
    std: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    mix: float,
) -> np.ndarray:
    """Flakes drawn out by the wind over a whitened image."""
    _, height, width, channels = images.shape
    zoom = max(1.0, scaled(zoom, images))
    small = [int(np.ceil(side / zoom)) + 1 for side in (height, width)]
    flakes = mean + std * normals(draws, *small, 1)
    flakes = zoomed(flakes, [zoom], height, width)
    flakes = np.where(flakes < threshold, 0, np.clip(flakes, 0, 1))
    taps = line_taps(scaled(radius, images), scaled(sigma, images), each(draws, -135, -45))
    flakes = filtered(flakes, *taps)
    x = unit(images)
    grey = x @ _GREY[:, None] if channels == 3 else x
    white = np.maximum(x, 1.5 * grey + np.float32(0.5))
    return np.float32(mix) * x + np.float32(1 - mix) * white + flakes + flakes[:, ::-1, ::-1]


@register("frost", "weather", ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)), suite="imagenet-c")
def frost(images: np.ndarray, draws: Draws, image: float, ice: float) -> np.ndarray:
    """Ice crystals on the lens, from a fractal with sharp ridges instead of a photograph."""
    texture = frosty(draws, *images.shape[1:3])[..., None]
    tint = _ICE if images.shape[3] == 3 else np.float32(1)
    return np.float32(image) * unit(images) + np.float32(ice) * texture * tint


@register("fog", "weather", ((3.0, 1.4),), suite="mnist-c")
@register("fog", "weather", ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)), suite="imagenet-c")
def fog(images: np.ndarray, draws: Draws, thickness: float, decay: float) -> np.ndarray:
    """Clouds of a fractal over the image, at the same greatest brightness."""
    _, height, width, _ = images.shape
    clouds = plasma(draws, 256 if max(height, width) <= 256 else 512, decay)[:, :height, :width, None]
    x = unit(images)
    most = x.max(axis=(1, 2, 3), keepdims=True)
    return (x + np.float32(thickness) * clouds) * (most / (most + np.float32(thickness)))


@register("brightness", "weather", (0.1, 0.2, 0.3, 0.4, 0.5), suite="imagenet-c")
def brightness(images: np.ndarray, _draws: Draws, more: float) -> np.ndarray:
    """The greatest of red, green and blue raised, hue and saturation kept."""
    out = np.empty_like(images)
    _raise(images.reshape(-1, images.shape[3]), np.float32(255 * more), out.reshape(-1, images.shape[3]))
    return out


@compiled
def _raise(pixels: np.ndarray, more: float, out: np.ndarray) -> None:
    for i in range(len(pixels)):
        value = np.float32(pixels[i].max())
        raised = min(value + more, np.float32(255))
        factor = raised / max(value, np.float32(1))
        for c in range(pixels.shape[1]):
            out[i, c] = np.uint8((pixels[i, c] * factor if value > 0 else raised) + np.float32(0.5))


@register("brightness", "weather", (0.5,), suite="mnist-c")
def digits_brightness(images: np.ndarray, _draws: Draws, more: float) -> np.ndarray:
    """Every number raised by one half."""
    shades = np.minimum(np.arange(256) + 255 * more + 0.5, 255).astype(np.uint8)
    return shades[images]
