"""Images of a model inside the page: PNG in data addresses, every pixel as the network gave it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np

from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, tag
from unbraid.report.tiles import enlarge

__all__ = ["pairs", "png", "strip"]


def png(image: np.ndarray) -> str:
    """The data address of a uint8 image ``[h, w, c]``."""
    from PIL import Image

    rgb = enlarge(image, 1)
    grey = bool((rgb[..., :1] == rgb).all())
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(rgb[..., 0] if grey else rgb)).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def pairs(images: np.ndarray, copies: np.ndarray, about: Sequence[str]) -> Html:
    """Originals with their reconstructions underneath."""
    height, width = images.shape[1:3]
    shown = [
        tag(
            "li",
            tag(
                "img", src=png(np.concatenate([image, copy])), width=width, height=2 * height, alt=text, class_="pixels"
            ),
        )
        for image, copy, text in zip(images, copies, about, strict=True)
    ]
    return tag("ul", shown, class_="pairs")


def strip(images: np.ndarray, values: np.ndarray, name: str, aside: object, about: str) -> Html:
    """One latent's walk, images ``[n, h, w, c]`` side by side; the script scrubs and plays it.

    Works as a slider for the keyboard: arrows move, space plays.
    """
    count, height, width = images.shape[:3]
    sheet = np.concatenate(list(images), axis=1)
    picture = tag("img", src=png(sheet), width=width * count, height=height, alt=about, class_="pixels")
    viewer = tag("canvas", width=width, height=height, class_="pixels", aria_hidden="true")
    return tag(
        "div",
        tag("div", tag("b", name), aside, class_="about"),
        viewer,
        tag(
            "div",
            picture,
            tag("span", class_="cursor"),
            class_="frames",
            tabindex=0,
            role="slider",
            aria_label=f"{name}: arrows move it, space plays",
            aria_valuemin=0,
            aria_valuemax=count - 1,
            aria_valuenow=count // 2,
            aria_valuetext=number(float(values[count // 2])),
            data_values=" ".join(number(float(value)) for value in values),
        ),
        class_="walk",
        data_frames=count,
    )
