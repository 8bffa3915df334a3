"""Clouds and ice: fractal textures, made anew for every image."""

import numpy as np

from unbraid.compiled import compiled
from unbraid.corruptions._draws import Draws, bits

__all__ = ["frosty", "plasma"]


def plasma(draws: Draws, size: int, decay: float, height: int | None = None, width: int | None = None) -> np.ndarray:
    """Diamond-square fractals that wrap around, each stretched to [0,1]: float32, their upper left [n,height,width].

    Every level halves the grid and fills it with means of four neighbours plus a number from ± wobble², where wobble
    begins at 100 and is divided by ``decay`` from level to level. Numbers are drawn level by level: those of the
    squares' centres, of the middles of their upper edges, and of their left edges.
    """
    out = np.empty((len(draws), height or size, width or size), np.float32)
    _diamond_square(bits(draws, size * size), size, np.float32(decay), out)
    return out


@compiled
def _diamond_square(drawn: np.ndarray, size: int, decay: float, out: np.ndarray) -> None:
    """Centres, upper and left edges of each level in arrays of their own, so that all loops run along rows.

    The last level, three quarters of all points, is put together only where it is asked for.
    """
    most = size // 2
    corner, centre = np.empty((most, most), np.float32), np.empty((most, most), np.float32)
    across, down = np.empty((most, most), np.float32), np.empty((most, most), np.float32)
    least, largest = np.empty(most, np.float32), np.empty(most, np.float32)
    unit, quarter, whole = np.float32(2 / 65536), np.float32(0.25), np.float32(1)
    for n in range(out.shape[0]):
        corner[0, 0] = 0
        cells, at, wobble = 1, 0, np.float32(100)
        while True:
            swing, shift = wobble * wobble * unit, wobble * wobble * (unit / np.float32(2) - whole)
            last, area = cells - 1, cells * cells
            for i in range(cells):
                row, below, target = corner[i], corner[i + 1 if i < last else 0], centre[i]
                numbers, right, beneath = drawn[n, at + i * cells : at + (i + 1) * cells], row[1:], below[1:]
                for j in range(last):
                    mean = (row[j] + right[j]) + (below[j] + beneath[j])
                    target[j] = mean * quarter + (swing * np.float32(numbers[j]) + shift)
                mean = (row[last] + row[0]) + (below[last] + below[0])
                target[last] = mean * quarter + (swing * np.float32(numbers[last]) + shift)
            for i in range(cells):
                row, here, above = corner[i], centre[i], centre[i - 1 if i else last]
                target, start = across[i], at + area + i * cells
                numbers, right = drawn[n, start : start + cells], row[1:]
                for j in range(last):
                    mean = (row[j] + right[j]) + (here[j] + above[j])
                    target[j] = mean * quarter + (swing * np.float32(numbers[j]) + shift)
                mean = (row[last] + row[0]) + (here[last] + above[last])
                target[last] = mean * quarter + (swing * np.float32(numbers[last]) + shift)
                below, target, start = corner[i + 1 if i < last else 0], down[i], at + 2 * area + i * cells
                numbers = drawn[n, start : start + cells]
                mean = (row[0] + below[0]) + (here[0] + here[last])
                target[0] = mean * quarter + (swing * np.float32(numbers[0]) + shift)
                one, two, three, after = row[1:], below[1:], here[1:], numbers[1:]
                inner = target[1:]
                for j in range(last):
                    mean = (one[j] + two[j]) + (three[j] + here[j])
                    inner[j] = mean * quarter + (swing * np.float32(after[j]) + shift)
            if cells == most:
                break
            for i in range(last, -1, -1):  # from below, so that nothing is overwritten before it was read
                for j in range(last, -1, -1):
                    corner[2 * i, 2 * j] = corner[i, j]
                    corner[2 * i + 1, 2 * j + 1] = centre[i, j]
                    corner[2 * i, 2 * j + 1] = across[i, j]
                    corner[2 * i + 1, 2 * j] = down[i, j]
            at, cells, wobble = at + 3 * area, 2 * cells, wobble / decay
        for j in range(most):
            least[j] = largest[j] = corner[0, j]
        for i in range(most):
            one, two, three, four = corner[i], centre[i], across[i], down[i]
            for j in range(most):
                least[j] = min(least[j], min(min(one[j], two[j]), min(three[j], four[j])))
            for j in range(most):
                largest[j] = max(largest[j], max(max(one[j], two[j]), max(three[j], four[j])))
        low, high = least[0], largest[0]
        for j in range(1, most):
            low, high = min(low, least[j]), max(high, largest[j])
        factor = whole / (high - low)
        for i in range(out.shape[1]):
            even = corner[i // 2] if i % 2 == 0 else down[i // 2]
            odd = across[i // 2] if i % 2 == 0 else centre[i // 2]
            for j in range(out.shape[2] // 2):
                out[n, i, 2 * j] = (even[j] - low) * factor
                out[n, i, 2 * j + 1] = (odd[j] - low) * factor
            if out.shape[2] % 2:
                out[n, i, out.shape[2] - 1] = (even[out.shape[2] // 2] - low) * factor


_FEATHERS = 3
"""So many feathers of ice side by side."""


def frosty(draws: Draws, height: int, width: int) -> np.ndarray:
    """Ice on a window, float32 [n,height,width] in [0,1]: feathers of needles on patches of rime.

    A coarse fractal says where ice has grown, a finer one how thick the rime is, and it bends the needles. Each feather
    has a spine of random slope through a random point, and needles that leave it at 60 degrees.
    """
    size = 1 << (max(height, width, 32) - 1).bit_length()
    thick, rime = (plasma(draws, size, decay, height, width) for decay in (2.0, 1.5))
    side = max(height, width) / _FEATHERS
    down, right = int(np.ceil(height / side)) + 2, int(np.ceil(width / side)) + 2
    drawn = bits(draws, down * right, 4) * np.float32(1 / 65536)
    places = np.indices((down, right), dtype=np.float32).reshape(2, -1).T
    seeds = (places - 1 + drawn[..., :2]) * np.float32(side)
    angles = np.float32(np.pi) * drawn[..., 2]
    spines = np.stack([np.sin(angles), np.cos(angles)], axis=2)
    out = np.empty_like(thick)
    pitch = max(4.0, min(height, width) / 20)
    _feathers(thick, rime, seeds, spines, np.float32(2 * side), np.float32(1 / pitch), out)
    return out


@compiled
def _feathers(
    thick: np.ndarray,
    rime: np.ndarray,
    seeds: np.ndarray,
    spines: np.ndarray,
    reach: float,
    per_pixel: float,
    out: np.ndarray,
) -> None:
    count, height, width = out.shape
    zero, one, two = np.float32(0), np.float32(1), np.float32(2)
    nearest, whose = np.empty(width, np.float32), np.empty(width, np.int32)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                nearest[j] = 1e9
                whose[j] = 0
            for k in range(seeds.shape[1]):
                dy, x, mine = np.float32(i) - seeds[n, k, 0], seeds[n, k, 1], np.int32(k)
                if abs(dy) > reach:
                    continue
                for j in range(width):
                    dx = np.float32(j) - x
                    square = dy * dy + dx * dx
                    closer = square < nearest[j]
                    whose[j] = mine if closer else whose[j]
                    nearest[j] = square if closer else nearest[j]
            for j in range(width):
                k, fine = whose[j], rime[n, i, j]
                dy, dx = (np.float32(i) - seeds[n, k, 0]) * per_pixel, (np.float32(j) - seeds[n, k, 1]) * per_pixel
                along = dy * spines[n, k, 0] + dx * spines[n, k, 1]
                across = abs(dx * spines[n, k, 0] - dy * spines[n, k, 1])
                place = along + np.float32(0.577) * across + np.float32(2.5) * fine
                needle = abs((place - np.floor(place)) * two - one)
                spine = max(zero, one - two * across)
                grown = min(max((thick[n, i, j] - np.float32(0.2)) * two, zero), one)
                ice = np.float32(0.7) * fine + needle * needle * needle * (np.float32(0.15) + np.float32(0.6) * fine)
                out[n, i, j] = min(np.float32(0.2) + grown * (ice + np.float32(0.4) * spine * fine), one)
