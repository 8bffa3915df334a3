"""Weather: snow, frost, fog and bright light."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, each, normals
from unbraid.corruptions._filters import filtered, line_taps, scaled, zoomed
from unbraid.corruptions._registry import register
from unbraid.corruptions._textures import frosty, plasma

__all__ = ["brightness", "digits_brightness", "fog", "frost", "snow"]

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
    flakes = np.float32(mean) + np.float32(std) * normals(draws, *small, 1)
    flakes = zoomed(flakes, [zoom], height, width)
    np.clip(flakes, 0, 1, out=flakes)
    flakes *= flakes >= np.float32(threshold)
    flakes = filtered(flakes, *line_taps(scaled(radius, images), scaled(sigma, images), each(draws, -135, -45)))
    out = np.empty_like(images)
    flat = [array.reshape(len(images), height, width * channels) for array in (images, out)]
    _whiten(flat[0], flakes[..., 0], np.float32(mix), channels == 3, flat[1])
    return out


@compiled
def _whiten(images: np.ndarray, flakes: np.ndarray, mix: float, colour: bool, out: np.ndarray) -> None:
    """A share of the image, the rest of one that is at least half white, and flakes from both sides."""
    count, height, width = flakes.shape
    rest, top, half = np.float32(1) - mix, np.float32(255), np.float32(0.5)
    share, more, white = np.float32(1.5), np.float32(127.5), np.empty(width, np.float32)
    snow = np.empty(width, np.float32)
    for n in range(count):
        for i in range(height):
            source, target, here, turned = images[n, i], out[n, i], flakes[n, i], flakes[n, height - 1 - i][::-1]
            for j in range(width):
                snow[j] = top * (here[j] + turned[j]) + half
            if not colour:
                for j in range(width):
                    x = np.float32(source[j])
                    target[j] = np.uint8(min(mix * x + rest * max(x, share * x + more) + snow[j], top))
                continue
            for j in range(width):
                red, green, blue = (
                    np.float32(source[3 * j]),
                    np.float32(source[3 * j + 1]),
                    np.float32(source[3 * j + 2]),
                )
                grey = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
                white[j] = share * grey + more
            for j in range(width):
                red, green, blue = (
                    np.float32(source[3 * j]),
                    np.float32(source[3 * j + 1]),
                    np.float32(source[3 * j + 2]),
                )
                target[3 * j] = np.uint8(min(mix * red + rest * max(red, white[j]) + snow[j], top))
                target[3 * j + 1] = np.uint8(min(mix * green + rest * max(green, white[j]) + snow[j], top))
                target[3 * j + 2] = np.uint8(min(mix * blue + rest * max(blue, white[j]) + snow[j], top))


@register("frost", "weather", ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)), suite="imagenet-c")
def frost(images: np.ndarray, draws: Draws, image: float, ice: float) -> np.ndarray:
    """Feathers of ice on the lens, drawn anew for each image instead of a photograph."""
    tint = _ICE if images.shape[3] == 3 else np.ones(1, np.float32)
    keep, add = np.full(len(images), image), np.tile(255 * ice * tint, (len(images), 1))
    return _over(images, frosty(draws, *images.shape[1:3]), keep, add)


def _over(images: np.ndarray, layer: np.ndarray, keep: np.ndarray, add: np.ndarray) -> np.ndarray:
    """A share ``keep`` [n] of bytes plus a layer [n,h,w] times ``add`` [n,c], as bytes."""
    n, height, _, channels = images.shape
    out = np.empty_like(images)
    flat = (array.reshape(n, height, -1) for array in (images, out))
    _add_layer(*flat, layer, keep.astype(np.float32), np.broadcast_to(add, (n, channels)).astype(np.float32))
    return out


@compiled
def _add_layer(images: np.ndarray, out: np.ndarray, layer: np.ndarray, keep: np.ndarray, add: np.ndarray) -> None:
    channels, top, half = add.shape[1], np.float32(255), np.float32(0.5)
    line = np.empty(images.shape[2], np.float32)
    for n in range(images.shape[0]):
        share = keep[n]
        for i in range(images.shape[1]):
            source, target, above = images[n, i], out[n, i], layer[n, i]
            for c in range(channels):
                tint, part = add[n, c], line[c:]
                for j in range(len(above)):
                    part[j * channels] = above[j] * tint
            for j in range(len(line)):
                target[j] = np.uint8(min(np.float32(source[j]) * share + line[j], top) + half)


@register("fog", "weather", ((3.0, 1.4),), suite="mnist-c")
@register("fog", "weather", ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)), suite="imagenet-c")
def fog(images: np.ndarray, draws: Draws, thickness: float, decay: float) -> np.ndarray:
    """Clouds of a fractal over the image, at the same greatest brightness."""
    _, height, width, _ = images.shape
    clouds = plasma(draws, 256 if max(height, width) <= 256 else 512, decay, height, width)
    most = images.reshape(len(images), -1).max(axis=1) / 255
    keep = most / (most + thickness)
    return _over(images, clouds, keep, 255 * thickness * keep[:, None])


@register("brightness", "weather", (0.1, 0.2, 0.3, 0.4, 0.5), suite="imagenet-c")
def brightness(images: np.ndarray, _draws: Draws, more: float) -> np.ndarray:
    """The greatest of red, green and blue raised, hue and saturation kept."""
    out = np.empty_like(images)
    _raise(images.reshape(-1), np.float32(255 * more), images.shape[3] == 3, out.reshape(-1))
    return out


@compiled
def _raise(pixels: np.ndarray, more: float, colour: bool, out: np.ndarray) -> None:
    zero, one, top, half = np.float32(0), np.float32(1), np.float32(255), np.float32(0.5)
    if not colour:
        for i in range(len(pixels)):
            out[i] = np.uint8(min(np.float32(pixels[i]) + more, top) + half)
        return
    for i in range(len(pixels) // 3):
        red, green, blue = np.float32(pixels[3 * i]), np.float32(pixels[3 * i + 1]), np.float32(pixels[3 * i + 2])
        value = max(max(red, green), blue)
        raised = min(value + more, top)
        factor = raised / max(value, one)
        start = (raised if value == zero else zero) + half
        out[3 * i] = np.uint8(red * factor + start)
        out[3 * i + 1] = np.uint8(green * factor + start)
        out[3 * i + 2] = np.uint8(blue * factor + start)


@register("brightness", "weather", (0.5,), suite="mnist-c")
def digits_brightness(images: np.ndarray, _draws: Draws, more: float) -> np.ndarray:
    """Every number raised by one half."""
    step = np.uint8(255 * more + 0.5)
    return np.minimum(images, 255 - step) + step
