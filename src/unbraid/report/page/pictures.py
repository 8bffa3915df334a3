"""Images of a model inside the page: PNG in data addresses, every pixel as the network gave it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np

from unbraid.report.page.axes import number
from unbraid.report.page.markup import Html, tag
from unbraid.report.page.svg import label, svg
from unbraid.report.page.tables import scroll
from unbraid.report.tiles import enlarge

__all__ = ["class_map", "image_rows", "pairs", "png", "strip"]

MAP = ((11, 102, 179, 90), (194, 75, 0, 90))
"""Two classes as red, green, blue and opacity: they show on light and on dark paper."""


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


def image_rows(rows: Sequence[np.ndarray], labels: Sequence[str], about: str, *, apart: bool = False) -> Html:
    """Rows of images ``[n, h, w, c]`` under each other, each with its label; ``apart`` sets the last one off."""
    body = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            [
                tag("td", tag("img", src=png(image), alt=f"{name}, column {place}", class_="pixels"))
                for place, image in enumerate(images, start=1)
            ],
            class_="apart" if apart and number == len(rows) - 1 else None,
        )
        for number, (images, name) in enumerate(zip(rows, labels, strict=True))
    ]
    return scroll(tag("table", tag("caption", about, class_="unseen"), tag("tbody", body), class_="images"), about)


def class_map(
    classes: np.ndarray, reach: float, radii: Sequence[float], points: np.ndarray, title: str, told: str
) -> Html:
    """Two classes on a square of a plane from -reach to reach, rows upwards, with circles around its middle."""
    from PIL import Image

    side, top = 220, 36
    buffer = io.BytesIO()
    Image.fromarray(np.array(MAP, dtype=np.uint8)[np.flipud(classes)], "RGBA").save(buffer, "PNG", optimize=True)
    address = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    scale, middle = side / (2 * reach), side / 2
    dots = "".join(f"M{middle + scale * x:.1f} {top + middle - scale * y:.1f}h0" for x, y in points)
    body = [
        tag("text", title, x=0, y=12, class_="name"),
        label(told, 0, 28),
        tag("image", href=address, x=0, y=top, width=side, height=side, class_="pixels"),
        *(tag("circle", cx=middle, cy=top + middle, r=round(scale * radius, 1), class_="ring") for radius in radii),
        tag("path", d=dots, class_="dots big ink"),
    ]
    return svg(body, f"{title}: {told}", (264, top + side))
