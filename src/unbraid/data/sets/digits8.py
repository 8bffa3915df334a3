"""Real handwritten digits 8x8 that come with scikit-learn: always there."""

import numpy as np

from unbraid.data.arrays import ArrayLabels, HeldArray
from unbraid.data.dataset import Card
from unbraid.data.registry import register

__all__ = ["load_digits8"]

_CARD = Card(
    title="Digits 8x8",
    source="scikit-learn's copy of the test part of Optical Recognition of Handwritten Digits (UCI)",
    licence="CC BY 4.0",
    citation="Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998",
    traps=("Only 1,797 images and 17 grey levels.", "13 writers; images of one writer are not independent."),
    stands_in_for="MNIST on a machine without any data: real digits too, but 8x8 and few",
)


@register("digits8", card=_CARD, images=1_797, size="8x8x1")
def load_digits8() -> ArrayLabels:
    """1,797 digits; the 17 grey levels 0..16 become 0..255."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    return ArrayLabels(HeldArray(images), digits.target, tuple("0123456789"), name="digits8", card=_CARD)
