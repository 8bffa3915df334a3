"""Portraits from 24 numbers: hair, face, eyes, brows, nose, mouth, neck, clothes and background, with soft edges."""

from __future__ import annotations

import numpy as np

from unbraid.compiled import compiled

__all__ = ["TRAITS", "portraits"]

TRAITS = (
    "smile",
    "blond",
    "age",
    "face_width",
    "face_height",
    "jaw",
    "eye_size",
    "eye_distance",
    "eye_colour",
    "brow_height",
    "brow_tilt",
    "nose",
    "mouth_width",
    "skin_dark",
    "skin_warm",
    "hair_length",
    "hair_volume",
    "ground_blue",
    "ground_light",
    "light",
    "cloth_red",
    "cloth_light",
    "across",
    "down",
)
"""What each number changes; every one lies in (-1, 1)."""


def portraits(traits: np.ndarray, size: int = 64) -> np.ndarray:
    """Images uint8 ``[n, size, size, 3]`` of traits in (-1, 1), ``[n, 24]``."""
    images = np.empty((len(traits), size, size, 3), dtype=np.uint8)
    _paint(np.ascontiguousarray(traits, dtype=np.float64), images)
    return images


@compiled
def _paint(traits: np.ndarray, images: np.ndarray) -> None:
    """Row by row, part over part, each on the rows and columns that it can reach.

    Pixels need neither sines nor exponentials: those are products of terms of the column, in tables, and of the row.
    """
    count, size = images.shape[0], images.shape[1]
    soft = 3.0 / size  # width of an edge: one and a half pixels
    edge, sharp = soft / 2, 1 / soft

    def cover(distance):  # type: ignore[no-untyped-def]  # how much of a pixel lies inside, from its signed distance
        t = min(max(0.5 - distance * sharp, 0.0), 1.0)
        return t * t * (3 - 2 * t)

    def bell(distance):  # type: ignore[no-untyped-def]
        return np.exp(-distance * distance)

    def mixed(below, above, share):  # type: ignore[no-untyped-def]
        return below + (above - below) * share

    def over(canvas, column, colour, light, share):  # type: ignore[no-untyped-def]
        for k in range(3):
            canvas[k, column] += (colour[k] * light - canvas[k, column]) * share

    def darken(canvas, column, light):  # type: ignore[no-untyped-def]
        for k in range(3):
            canvas[k, column] *= light

    def columns(centre, reach):  # type: ignore[no-untyped-def]  # those whose middle is no farther from the centre
        first = np.int64(np.ceil((centre - reach + 1) * size / 2 - 0.5))
        last = np.int64(np.floor((centre + reach + 1) * size / 2 - 0.5))
        return max(first, 0), min(last + 1, size)

    white, lash, teeth, gap = (0.95, 0.95, 0.94), (0.60, 0.65, 0.65), (0.96, 0.95, 0.92), (0.30, 0.12, 0.12)
    canvas, face, worn = np.empty((3, size)), np.empty((3, size)), np.empty(size)
    ground_light, hair_light, face_light, fringe_light = np.empty((4, size))
    hair_sin, hair_cos, fringe_sin, fringe_cos, lines_sin, lines_cos = np.empty((6, size))
    dx, aside, cheek_at, lines_at, bags_at, bridge_at, tip_at, fringe_end = np.empty((8, size))
    for n in range(count):
        t = traits[n]
        smile, blond, age = t[0], (t[1] + 1) / 2, (t[2] + 1) / 2
        wide, high, jaw = 0.43 + 0.05 * t[3], 0.56 + 0.05 * t[4], 0.30 + 0.16 * t[5]
        eye, apart, iris = 0.105 + 0.022 * t[6] - 0.008 * smile, 0.185 + 0.03 * t[7], (t[8] + 1) / 2
        brow, tilt, nose = 0.155 + 0.03 * t[9], 0.15 * t[10], 0.17 + 0.04 * t[11]
        mouth = 0.17 + 0.03 * t[12] + 0.03 * smile
        dark, warm = 0.5 + 0.5 * t[13], 0.5 + 0.5 * t[14]
        length, volume = 0.35 + 0.38 * t[15], 0.13 + 0.06 * t[16]
        light = 0.5 * t[19]
        cx, cy = 0.10 * t[22], -0.06 + 0.06 * t[23]
        skin = (0.96 - 0.34 * dark, 0.80 - 0.36 * dark + 0.03 * warm, 0.70 - 0.36 * dark - 0.08 * warm)
        shadow = (skin[0] * 0.78, skin[1] * 0.76, skin[2] * 0.76)
        ear = (skin[0] * 0.86, skin[1] * 0.82, skin[2] * 0.82)
        lip = (skin[0] * 0.80, skin[1] * 0.50, skin[2] * 0.52)
        grey = 0.75 * age * age
        hair = (
            mixed(0.20 + 0.68 * blond, 0.78, grey),
            mixed(0.12 + 0.60 * blond, 0.78, grey),
            mixed(0.08 + 0.32 * blond, 0.80, grey),
        )
        ground = (
            0.42 + 0.22 * t[18] - 0.14 * t[17],
            0.50 + 0.22 * t[18],
            0.54 + 0.22 * t[18] + 0.20 * t[17],
        )
        cloth = (0.38 + 0.30 * t[20] + 0.15 * t[21], 0.34 + 0.15 * t[21], 0.42 - 0.22 * t[20] + 0.15 * t[21])
        eyes = (0.30 - 0.12 * iris, 0.22 + 0.20 * iris, 0.14 + 0.46 * iris)
        line = cy - high * (0.52 + 0.20 * age)  # where the hair begins
        lips = cy + 0.58 * high
        squint = eye * (0.62 - 0.14 * smile - 0.08 * age)
        for c in range(size):
            x = (c + 0.5) * 2 / size - 1
            dx[c] = x - cx
            aside[c] = abs(x - cx)
            ground_light[c] = 1 - 0.064 * x * x + 0.10 * light * x
            hair_light[c], fringe_light[c] = 0.86 + 0.10 * light * dx[c], 0.93 + 0.10 * light * dx[c]
            face_light[c] = 1.02 - 0.22 * (dx[c] / wide) ** 2 + 0.30 * light * dx[c] / wide
            hair_sin[c], hair_cos[c] = np.sin(34 * dx[c]), np.cos(34 * dx[c])
            fringe_sin[c], fringe_cos[c] = np.sin(30 * dx[c]), np.cos(30 * dx[c])
            lines_sin[c], lines_cos[c] = np.sin(7.5 * dx[c] ** 2), np.cos(7.5 * dx[c] ** 2)
            cheek_at[c], bags_at[c] = bell((aside[c] - 0.24) / 0.11), bell((aside[c] - apart) / 0.09)
            bridge_at[c], tip_at[c] = bell((dx[c] - 0.035) / 0.03), bell(dx[c] / 0.05)
            lines_at[c] = cover(aside[c] - 0.24)
            fringe_end[c] = line + 0.9 * dx[c] ** 2 * (1 - 0.5 * age) - 0.06 * np.sin(7 * dx[c] + 1)
        for row in range(size):
            y = (row + 0.5) * 2 / size - 1
            dy = y - cy
            for c in range(size):
                for k in range(3):
                    canvas[k, c] = ground[k] * (ground_light[c] - 0.16 * y)
            # Hair behind the head: round above, falling straight below.
            rx, ry = wide + volume, high + 0.9 * volume
            a_sin, a_cos = 0.07 * np.sin(6 * dy), 0.07 * np.cos(6 * dy)
            if dy < 0:
                first, last = columns(cx, rx + edge)
                for c in range(first, last):
                    a = cover((np.sqrt((dx[c] / rx) ** 2 + (dy / ry) ** 2) - 1) * rx)
                    strand = hair_light[c] + hair_sin[c] * a_cos + hair_cos[c] * a_sin
                    over(canvas, c, hair, strand, a)
            elif dy < length + 0.25 * rx + edge:
                first, last = columns(cx, rx * (1 + 0.08 * dy) + edge)
                for c in range(first, last):
                    a = cover(max(aside[c] - rx * (1 + 0.08 * dy), dy - length - 0.25 * (rx - aside[c])))
                    strand = hair_light[c] + hair_sin[c] * a_cos + hair_cos[c] * a_sin
                    over(canvas, c, hair, strand, a)
            if dy > 0.2:
                first, last = columns(cx, 0.19 + edge)
                for c in range(first, last):
                    over(canvas, c, shadow, 1.0, cover(max(aside[c] - 0.19, 0.2 - dy)))  # the neck
            if dy > 0.2 and 1.14 - y < 0.42 + edge:
                first, last = columns(cx, 0.78 * (1 + edge / 0.42))
                for c in range(first, last):
                    d = (np.sqrt((dx[c] / 0.78) ** 2 + ((y - 1.14) / 0.42) ** 2) - 1) * 0.42
                    d = max(d, 0.17 - np.sqrt(dx[c] ** 2 + (y - 0.74 - 0.5 * cy) ** 2))  # an open collar
                    shade = 0.95 + 0.2 * light * dx[c] - 0.25 * max(0.0, aside[c] - 0.45)
                    over(canvas, c, cloth, shade, cover(d))
            if abs(dy - 0.02) < 0.12 * (1 + edge / 0.06):
                first, last = columns(cx, wide + 0.06 + edge)
                for c in range(first, last):
                    d = np.sqrt(((aside[c] - wide) / 0.06) ** 2 + ((dy - 0.02) / 0.12) ** 2) - 1
                    over(canvas, c, ear, 1.0, cover(d * 0.06))
            # The face, which narrows to the chin: painted beside the canvas, then laid over it.
            below = min(max(dy, 0.0) / high, 1.2)  # no chin turns inside out
            rx = wide * (1 - jaw * below * below)
            left, right = columns(cx, rx + edge)
            if abs(dy) < high * (1 + edge / rx):
                # Cheeks, and the lines that age draws on the forehead, below the eyes and beside the mouth.
                cheek = bell((dy - 0.17 + 0.03 * smile) / 0.09)
                lines = 0.5 * bell((dy + 0.34) / 0.09)
                lines_a, lines_b = lines * np.sin(75 * dy), lines * np.cos(75 * dy)
                bags = 0.22 * bell((dy - 0.06) / 0.028)
                for c in range(left, right):
                    shade, blush = face_light[c] - 0.06 * below, cheek * cheek_at[c]
                    face[0, c] = skin[0] * shade + 0.05 * blush
                    face[1, c] = skin[1] * shade - 0.05 * blush * (1 + 0.4 * smile)
                    face[2, c] = skin[2] * shade - 0.04 * blush
                    wrinkles = lines_at[c] * (lines + lines_a * lines_cos[c] + lines_b * lines_sin[c])
                    worn[c] = 0.30 * wrinkles + bags * bags_at[c]
                if abs(dy - 0.27) < 0.11 + edge:
                    fold, deep = 0.13 + 0.35 * max(0.0, dy - nose) + 0.02 * smile, 0.30 * cover(abs(dy - 0.27) - 0.11)
                    for c in range(left, right):
                        if abs(aside[c] - fold) < 0.07:  # beyond it is fainter than e^-10
                            worn[c] += deep * bell((aside[c] - fold) / 0.022)
                for c in range(left, right):
                    darken(face, c, 1 - age * age * worn[c])
                # Eyes, mirrored, and brows.
                ey = dy + 0.06
                first, last = columns(cx, min(apart + 0.2, rx + edge))
                if abs(ey) < squint + 0.006 + edge:
                    for c in range(first, last):
                        ex = aside[c] - apart
                        rim = (np.sqrt((ex / eye) ** 2 + (ey / squint) ** 2) - 1) * squint
                        inside = np.sqrt(ex * ex + ey * ey)
                        coloured, black = cover(inside - 0.052), cover(inside - 0.022)
                        share, lid = cover(rim), 0.7 * cover(abs(rim) - 0.006)
                        for k in range(3):
                            ball = mixed(mixed(white[k], eyes[k], coloured), 0.05, black)
                            face[k, c] = mixed(face[k, c], ball, share) * (1 - lash[k] * lid)
                if abs(ey + brow + 0.012) < 0.018 + edge + 0.2 * abs(tilt) + 0.9 * 0.04:
                    for c in range(first, last):
                        ex = aside[c] - apart
                        arch = abs(ey + brow + tilt * ex - 0.9 * ex * ex + 0.012) - 0.018
                        over(face, c, hair, 0.6, 0.85 * cover(max(arch, abs(ex) - 0.13)))
                # Nose: a shaded side, two nostrils and a bright tip.
                if -edge < dy < nose + 0.15:
                    bridge, tip = 0.10 * cover(abs(dy - nose / 2) - nose / 2), 0.07 * bell((dy - nose + 0.02) / 0.035)
                    first, last = columns(cx, min(0.2, rx + edge))
                    for c in range(first, last):
                        hole = np.sqrt(((aside[c] - 0.04) / 1.3) ** 2 + (dy - nose - 0.015) ** 2)
                        shade = 1 - bridge * bridge_at[c] - 0.45 * cover(hole - 0.014) + tip * tip_at[c]
                        darken(face, c, shade)
                # Mouth: lips along a curve, teeth between them when it smiles.
                my = y - lips
                if abs(my) < 0.22:
                    first, last = columns(cx, min(mouth + 0.06, rx + edge))
                    for c in range(first, last):
                        u = dx[c] / mouth
                        curve = abs(my + smile * 0.10 * (u * u - 0.45))
                        taper = max(0.0, 1 - u * u)
                        opened = max(0.0, smile) * 0.045 * taper
                        over(face, c, lip, 1.0, cover(max(curve - 0.034 * np.sqrt(taper) - opened, aside[c] - mouth)))
                        w = cover(max(curve - opened, aside[c] - 0.85 * mouth)) * min(1.0, opened * 60)
                        over(face, c, teeth, 1.0, w)
                        w = cover(max(curve - 0.007, aside[c] - mouth)) * max(0.0, 1 - opened * 60)
                        over(face, c, gap, 1.0, 0.7 * w)
                # Hair over the forehead.
                if y < line + 0.06 + 0.9 * (rx + edge) ** 2 + edge:
                    a_sin, a_cos = 0.08 * np.sin(10 * dy), 0.08 * np.cos(10 * dy)
                    for c in range(left, right):
                        strand = fringe_light[c] + fringe_sin[c] * a_cos - fringe_cos[c] * a_sin
                        over(face, c, hair, strand, cover(y - fringe_end[c]))
                for c in range(left, right):
                    a = cover((np.sqrt((dx[c] / rx) ** 2 + (dy / high) ** 2) - 1) * rx)
                    over(canvas, c, face[:, c], 1.0, a)
            for c in range(size):
                for k in range(3):
                    images[n, row, c, k] = np.uint8(min(max(canvas[k, c], 0.0), 1.0) * 255 + 0.5)
