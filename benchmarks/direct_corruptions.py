"""Each corruption as one would write it down with numpy and scipy for one image: what benchmarks compare with."""

from io import BytesIO

import numpy as np
from PIL import Image
from scipy import ndimage

from unbraid.corruptions.blur import disk

__all__ = ["DIRECT"]


def _unit(image):
    return image / 255.0


def _bytes(x):
    return np.uint8(np.clip(x, 0, 1) * 255)


def _root(image):
    return np.sqrt(min(image.shape[:2]) / 224)


def gaussian_noise(image, rng, sigma):
    return _bytes(_unit(image) + rng.normal(0, sigma, image.shape))


def speckle_noise(image, rng, sigma):
    x = _unit(image)
    return _bytes(x + x * rng.normal(0, sigma, x.shape))


def shot_noise(image, rng, photons):
    return _bytes(rng.poisson(_unit(image) * photons) / photons)


def impulse_noise(image, rng, amount):
    x = _unit(image)
    hit, salt = rng.random(x.shape) < amount, rng.random(x.shape) < 0.5
    x[hit & salt], x[hit & ~salt] = 1, 0
    return _bytes(x)


def defocus_blur(image, _rng, radius, softness):
    kernel = disk(max(1, radius * _root(image)), softness)
    return _bytes(np.stack([ndimage.correlate(channel, kernel, mode="mirror") for channel in _channels(image)], 2))


def _channels(image):
    return np.moveaxis(_unit(image), 2, 0)


def _blur(x, sigma):
    return ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest")


def gaussian_blur(image, _rng, sigma):
    return _bytes(_blur(_unit(image), sigma * _root(image)))


def glass_blur(image, rng, sigma, distance, rounds, chance=1.0, root=None):
    root = _root(image) if root is None else root
    distance = max(1, round(distance * root))
    x = _blur(_unit(image), sigma * root)
    for _ in range(rounds):
        for i in range(x.shape[0] - distance, distance, -1):
            for j in range(x.shape[1] - distance, distance, -1):
                if chance == 1 or rng.random() < chance:
                    di, dj = rng.integers(-distance, distance, 2)
                    x[[i, i + di], [j, j + dj]] = x[[i + di, i], [j + dj, j]]
    return _bytes(_blur(x, sigma * root))


def _motion(x, radius, sigma, degrees):
    size = 2 * int(np.ceil(radius)) + 1
    kernel = np.zeros((2 * size + 1, 2 * size + 1))
    for k in range(size):
        row = int(np.ceil(k * np.sin(np.deg2rad(degrees)) - 0.5))
        column = int(np.ceil(k * np.cos(np.deg2rad(degrees)) - 0.5))
        kernel[size + row, size + column] += np.exp(-(k**2) / (2 * sigma**2))
    return np.stack([ndimage.correlate(c, kernel / kernel.sum(), mode="nearest") for c in np.moveaxis(x, 2, 0)], 2)


def motion_blur(image, rng, radius, sigma, root=None):
    root = _root(image) if root is None else root
    return _bytes(_motion(_unit(image), radius * root, sigma * root, rng.uniform(-45, 45)))


def _zoom(x, factor, shape):
    places = [(np.arange(t) - (t - 1) / 2) / factor + (s - 1) / 2 for s, t in zip(x.shape[:2], shape, strict=True)]
    grid = np.meshgrid(*places, indexing="ij")
    return np.stack([ndimage.map_coordinates(c, grid, order=1, mode="nearest") for c in np.moveaxis(x, 2, 0)], 2)


def zoom_blur(image, _rng, end, step):
    x = _unit(image)
    factors = np.arange(1, end - 1e-6, step)
    return _bytes((x + sum(_zoom(x, factor, x.shape[:2]) for factor in factors)) / (len(factors) + 1))


def snow(image, rng, mean, std, zoom, threshold, radius, sigma, mix):
    x, root = _unit(image), _root(image)
    flakes = _zoom(rng.normal(mean, std, (*x.shape[:2], 1)), max(1, zoom * root), x.shape[:2])
    flakes[flakes < threshold] = 0
    flakes = _motion(np.clip(flakes, 0, 1), radius * root, sigma * root, rng.uniform(-135, -45))
    grey = (x @ [0.299, 0.587, 0.114])[..., None]
    return _bytes(mix * x + (1 - mix) * np.maximum(x, 1.5 * grey + 0.5) + flakes + np.rot90(flakes, 2))


def _plasma(rng, size, decay):
    cloud, step, wobble = np.zeros((size, size)), size, 100.0
    while step >= 2:
        half = step // 2
        corners = cloud[::step, ::step]
        total = corners + np.roll(corners, -1, 0)
        total = total + np.roll(total, -1, 1)
        cloud[half::step, half::step] = total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)
        middle = cloud[half::step, half::step]
        total = middle + np.roll(middle, 1, 0) + corners + np.roll(corners, -1, 1)
        cloud[::step, half::step] = total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)
        total = middle + np.roll(middle, 1, 1) + corners + np.roll(corners, -1, 0)
        cloud[half::step, ::step] = total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)
        step, wobble = half, wobble / decay
    return (cloud - cloud.min()) / (cloud.max() - cloud.min())


def frost(image, rng, keep, ice):
    height, width = image.shape[:2]
    size = 1 << (max(height, width, 32) - 1).bit_length()
    thick, rime = (_plasma(rng, size, decay)[:height, :width] for decay in (2.0, 1.5))
    side, pitch = max(height, width) / 3, max(4, min(height, width) / 20)
    seeds = np.indices((int(np.ceil(height / side)) + 2, int(np.ceil(width / side)) + 2)).reshape(2, -1).T
    seeds = (seeds - 1 + rng.random(seeds.shape)) * side
    angles = rng.uniform(0, np.pi, len(seeds))
    y, x = np.mgrid[:height, :width]
    whose = ((y[..., None] - seeds[:, 0]) ** 2 + (x[..., None] - seeds[:, 1]) ** 2).argmin(axis=2)
    dy, dx = (y - seeds[whose, 0]) / pitch, (x - seeds[whose, 1]) / pitch
    sine, cosine = np.sin(angles)[whose], np.cos(angles)[whose]
    across = np.abs(dx * sine - dy * cosine)
    needle = np.abs((dy * sine + dx * cosine + 0.577 * across + 2.5 * rime) % 1 * 2 - 1)
    spine, grown = np.maximum(0, 1 - 2 * across), np.clip((thick - 0.2) * 2, 0, 1)
    texture = np.minimum(0.2 + grown * (0.7 * rime + needle**3 * (0.15 + 0.6 * rime) + 0.4 * spine * rime), 1)
    return _bytes(keep * _unit(image) + ice * texture[..., None] * [0.86, 0.95, 1.0])


def fog(image, rng, thickness, decay):
    x, (height, width) = _unit(image), image.shape[:2]
    clouds = _plasma(rng, 256 if max(height, width) <= 256 else 512, decay)[:height, :width, None]
    return _bytes((x + thickness * clouds) * x.max() / (x.max() + thickness))


def brightness(image, _rng, more):
    x = _unit(image)
    value = x.max(axis=2, keepdims=True)
    raised = np.clip(value + more, 0, 1)
    return _bytes(np.where(value > 0, x * raised / np.maximum(value, 1e-6), raised))


def contrast(image, _rng, factor):
    x = _unit(image)
    mean = x.mean(axis=(0, 1), keepdims=True)
    return _bytes((x - mean) * factor + mean)


def elastic_transform(image, rng, amplitude, smoothness, jitter):
    height, width = image.shape[:2]
    side, reach = min(height, width) * 244 / 224, min(height, width) // 3
    before = np.array([height // 2, width // 2]) + reach * np.array([[1, 1], [-1, 1], [-1, -1]])
    after = before + rng.uniform(-jitter * side, jitter * side, (3, 2))
    back = np.linalg.solve(np.c_[after, np.ones(3)], before)
    fields = rng.uniform(-1, 1, (2, height, width))
    moves = [amplitude * side * ndimage.gaussian_filter(f, smoothness * side, truncate=3) for f in fields]
    y, x = np.mgrid[:height, :width]
    places = np.moveaxis(np.stack([y + moves[0], x + moves[1], np.ones_like(moves[0])], 2) @ back, 2, 0)
    return _bytes(np.stack([ndimage.map_coordinates(c, places, order=1, mode="reflect") for c in _channels(image)], 2))


def pixelate(image, _rng, share):
    block = 1 + (1 / share - 1) * _root(image)
    picture, size = Image.fromarray(image), image.shape[1::-1]
    small = picture.resize([int(side / block) for side in size], Image.Resampling.BOX)
    return np.asarray(small.resize(size, Image.Resampling.BOX))


def jpeg_compression(image, _rng, quality):
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def saturate(image, _rng, factor, more):
    x = _unit(image)
    value, least = x.max(axis=2, keepdims=True), x.min(axis=2, keepdims=True)
    chroma = value - least
    after = np.clip(chroma / np.maximum(value, 1e-6) * factor + more, 0, 1)
    return _bytes(value * (1 - after * (value - x) / np.maximum(chroma, 1e-6)))


def mud(image, rng, mean, std, sigma, threshold, softness, _kind=None):
    liquid = _blur(rng.normal(mean, std, (*image.shape[:2], 1)), sigma)
    mask = _blur((liquid > threshold) * 1.0, softness)
    mask[mask < 0.8] = 0
    return _bytes(_unit(image) * (1 - mask) + mask * 63 / 255)


def _mapped(image, matrix):
    matrix, centre = np.asarray(matrix), (np.array(image.shape[:2]) - 1) / 2
    return _bytes(ndimage.affine_transform(_unit(image)[:, :, 0], matrix, centre - matrix @ centre, order=1)[..., None])


def shear(image, rng, angle):
    a = angle * rng.choice([-1, 1])
    return _mapped(image, [[np.cos(a), 0], [-np.sin(a), 1]])


def rotate(image, rng, angle):
    a = angle * rng.choice([-1, 1])
    return _mapped(image, [[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


def scale(image, _rng, factor):
    return _mapped(image, [[1 / factor, 0], [0, 1 / factor]])


def translate(image, rng, pixels):
    return _bytes(ndimage.shift(_unit(image), [*(pixels * rng.choice([-1, 1], 2)), 0], order=1))


def stripe(image, _rng):
    x = image.copy()
    x[:, :7], x[:, 21:] = 255 - x[:, :7], 255 - x[:, 21:]
    return x


def _stroke(c0, r0, c1, r1):
    columns, rows = np.meshgrid(np.arange(28), np.arange(28))
    distance = np.clip(np.abs(rows - r0 - (r1 - r0) / (c1 - c0) * (columns - c0)), 0, 2.3 - 1e-10)
    ink = np.clip(np.log(1 - distance / 2.3) + 1, 0, 1)
    ink[:, : int(np.floor(c0))], ink[:, int(np.ceil(c1)) :] = 0, 0
    return ink


def dotted_line(image, rng):
    ink = _stroke(0, rng.integers(27), 27, rng.integers(27))
    ink[:, np.arange(28) // 2 % 2 == 0] = 0
    return _bytes(_unit(image) + ink[..., None])


def zigzag(image, rng):
    x, row, rise = _unit(image), rng.integers(27), rng.integers(-5, 5)
    angle = np.arctan(rise / 23)
    length = 23 / np.cos(angle)
    corners = np.array([(0, 0), (2, 2), (6, -2), (10, 2), (14, -2), (18, 2), (22, -2), (length, length - 24)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = corners @ turn.T + [2, row]
    for k in range(7):
        x = np.clip(x + _stroke(*points[k], *points[k + 1])[..., None], 0, 1)
    return _bytes(x)


_SHARED = (
    *(gaussian_noise, shot_noise, impulse_noise, defocus_blur, glass_blur, motion_blur, zoom_blur, snow, frost, fog),
    *(brightness, contrast, elastic_transform, pixelate, jpeg_compression),
)
DIRECT = {f"imagenet-c/{each.__name__}": each for each in _SHARED}
DIRECT |= {f"imagenet-c-holdout/{each.__name__}": each for each in (speckle_noise, gaussian_blur, saturate)}
DIRECT |= {
    f"mnist-c/{each.__name__}": each
    for each in (shot_noise, impulse_noise, shear, scale, rotate, translate, stripe, fog, dotted_line, zigzag)
}
DIRECT |= {
    "mnist-c/brightness": lambda image, _rng, more: _bytes(_unit(image) + more),
    "mnist-c/glass_blur": lambda image, rng, *setting: glass_blur(image, rng, *setting, chance=0.5, root=1),
    "mnist-c/motion_blur": lambda image, rng, *setting: motion_blur(image, rng, *setting, root=1),
    "mnist-c/spatter": mud,
}
"""By full name. Canny's detector and drops of water are long even when written down directly; they are left out."""
