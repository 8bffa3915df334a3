"""Random numbers that belong to counters: nothing is stored, and any of them can be asked for in any order."""

import numpy as np

__all__ = ["hash_bits", "hash_normal"]


def hash_bits(counters: np.ndarray, seed: int | list[int]) -> np.ndarray:
    """64 well mixed bits of each counter, uint64 (splitmix64, Steele et al., 2014)."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    bits = counters * np.uint64(0x9E3779B97F4A7C15) + start
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def hash_normal(counters: np.ndarray, seed: int) -> np.ndarray:
    """A standard normal number of each counter (Box and Muller, 1958, with one of the two numbers of each pair)."""
    bits = hash_bits(counters, seed)
    # The upper half gives the radius, the lower one the angle: 32 bits each, radius never at 0.
    radius = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) / 2**32
    angle = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
    return np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * angle)
