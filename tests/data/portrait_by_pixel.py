"""Portraits pixel by pixel, as they are described: what the renderer's rows and tables must agree with."""

from math import exp, sin, sqrt

import numpy as np


def portraits_by_pixel(traits, size):
    """Images uint8 ``[n, size, size, 3]`` of traits ``[n, 24]``."""
    images = np.empty((len(traits), size, size, 3), np.uint8)
    count, size = images.shape[0], images.shape[1]
    soft = 3.0 / size  # width of an edge: one and a half pixels

    def cover(distance):  # how much of a pixel lies inside, from its signed distance
        t = min(max(0.5 - distance / soft, 0), 1)
        return t * t * (3 - 2 * t)

    def over(below, above, share):
        return below + (above - below) * share

    for n in range(count):
        t = traits[n].tolist()
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
        grey = 0.75 * age * age
        hair = (
            over(0.20 + 0.68 * blond, 0.78, grey),
            over(0.12 + 0.60 * blond, 0.78, grey),
            over(0.08 + 0.32 * blond, 0.80, grey),
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
        for row in range(size):
            y = (row + 0.5) * 2 / size - 1
            for column in range(size):
                x = (column + 0.5) * 2 / size - 1
                dx, dy = x - cx, y - cy
                shade = 1 - 0.16 * (y + 0.4 * (x * x)) + 0.10 * light * x
                r, g, b = ground[0] * shade, ground[1] * shade, ground[2] * shade
                # Hair behind the head: round above, falling straight below.
                rx, ry = wide + volume, high + 0.9 * volume
                if dy < 0:
                    d = (sqrt((dx / rx) ** 2 + (dy / ry) ** 2) - 1) * rx
                else:
                    d = max(abs(dx) - rx * (1 + 0.08 * dy), dy - length - 0.25 * (rx - abs(dx)))
                a = cover(d)
                strand = 0.86 + 0.07 * sin(34 * dx + 6 * dy) + 0.10 * light * dx
                r, g, b = over(r, hair[0] * strand, a), over(g, hair[1] * strand, a), over(b, hair[2] * strand, a)
                # Neck and clothes.
                if dy > 0.2:
                    a = cover(max(abs(dx) - 0.19, 0.2 - dy))
                    r, g, b = over(r, skin[0] * 0.78, a), over(g, skin[1] * 0.76, a), over(b, skin[2] * 0.76, a)
                    d = (sqrt((dx / 0.78) ** 2 + ((y - 1.14) / 0.42) ** 2) - 1) * 0.42
                    d = max(d, 0.17 - sqrt(dx**2 + (y - 0.74 - 0.5 * cy) ** 2))  # an open collar
                    a, shade = cover(d), 0.95 + 0.2 * light * dx - 0.25 * max(0.0, abs(dx) - 0.45)
                    r, g, b = over(r, cloth[0] * shade, a), over(g, cloth[1] * shade, a), over(b, cloth[2] * shade, a)
                # Ears, then the face, which narrows to the chin.
                d = sqrt(((abs(dx) - wide) / 0.06) ** 2 + ((dy - 0.02) / 0.12) ** 2) - 1
                a = cover(d * 0.06)
                r, g, b = over(r, skin[0] * 0.86, a), over(g, skin[1] * 0.82, a), over(b, skin[2] * 0.82, a)
                below = min(max(dy, 0) / high, 1.2)  # no chin turns inside out
                rx = wide * (1 - jaw * below * below)
                d = (sqrt((dx / rx) ** 2 + (dy / high) ** 2) - 1) * rx
                a = cover(d)
                if a > 0:
                    shade = 1.02 - 0.22 * (dx / wide) ** 2 - 0.06 * below + 0.30 * light * dx / wide
                    fr, fg, fb = skin[0] * shade, skin[1] * shade, skin[2] * shade
                    # Cheeks, and the lines that age draws on the forehead and beside the mouth.
                    cheek = exp(-(((abs(dx) - 0.24) / 0.11) ** 2) - ((dy - 0.17 + 0.03 * smile) / 0.09) ** 2)
                    fr, fg, fb = fr + 0.05 * cheek, fg - 0.05 * cheek * (1 + 0.4 * smile), fb - 0.04 * cheek
                    fold = abs(abs(dx) - 0.13 - 0.35 * max(0.0, dy - nose) - 0.02 * smile)
                    crease = exp(-((fold / 0.022) ** 2)) * cover(abs(dy - 0.27) - 0.11)
                    brow_lines = 0.5 + 0.5 * sin(75 * (dy + 0.1 * dx * dx))
                    crease += brow_lines * exp(-(((dy + 0.34) / 0.09) ** 2)) * cover(abs(dx) - 0.24)
                    bags = exp(-(((abs(dx) - apart) / 0.09) ** 2) - ((dy - 0.06) / 0.028) ** 2)
                    worn = 1 - age * age * (0.30 * crease + 0.22 * bags)
                    fr, fg, fb = fr * worn, fg * worn, fb * worn
                    # Eyes, mirrored, and brows.
                    ex, ey = abs(dx) - apart, dy + 0.06
                    if abs(ex) < 0.2 and abs(ey) < 0.35:
                        w = cover((sqrt((ex / eye) ** 2 + (ey / squint) ** 2) - 1) * squint)
                        inside = sqrt(ex * ex + ey * ey)
                        k, p = cover(inside - 0.052), cover(inside - 0.022)
                        wr, wg, wb = over(0.95, eyes[0], k), over(0.95, eyes[1], k), over(0.94, eyes[2], k)
                        wr, wg, wb = over(wr, 0.05, p), over(wg, 0.05, p), over(wb, 0.05, p)
                        lid = cover(abs(sqrt((ex / eye) ** 2 + (ey / squint) ** 2) - 1) * squint - 0.006) * 0.7
                        fr, fg, fb = over(fr, wr, w), over(fg, wg, w), over(fb, wb, w)
                        fr, fg, fb = fr * (1 - 0.6 * lid), fg * (1 - 0.65 * lid), fb * (1 - 0.65 * lid)
                        arch = abs(ey + brow + tilt * ex - 0.9 * ex * ex + 0.012) - 0.018
                        w = cover(max(arch, abs(ex) - 0.13)) * 0.85
                        fr, fg, fb = over(fr, hair[0] * 0.6, w), over(fg, hair[1] * 0.6, w), over(fb, hair[2] * 0.6, w)
                    # Nose: a shaded side and two nostrils.
                    bridge = exp(-(((dx - 0.035) / 0.03) ** 2)) * cover(abs(dy - nose / 2) - nose / 2)
                    nostril = cover(sqrt(((abs(dx) - 0.04) / 1.3) ** 2 + (dy - nose - 0.015) ** 2) - 0.014)
                    tip = exp(-((dx / 0.05) ** 2) - ((dy - nose + 0.02) / 0.035) ** 2)
                    worn = 1 - 0.10 * bridge - 0.45 * nostril + 0.07 * tip
                    fr, fg, fb = fr * worn, fg * worn, fb * worn
                    # Mouth: lips along a curve, teeth between them when it smiles.
                    my = y - lips
                    if abs(my) < 0.22 and abs(dx) < mouth + 0.06:
                        u = dx / mouth
                        curve = my + smile * 0.10 * (u * u - 0.45)
                        taper = max(0.0, 1 - u * u)
                        opened = max(0.0, smile) * 0.045 * taper
                        w = cover(max(abs(curve) - 0.034 * sqrt(taper) - opened, abs(dx) - mouth))
                        fr, fg, fb = (
                            over(fr, skin[0] * 0.80, w),
                            over(fg, skin[1] * 0.50, w),
                            over(fb, skin[2] * 0.52, w),
                        )
                        w = cover(max(abs(curve) - opened, abs(dx) - 0.85 * mouth)) * min(1.0, opened * 60)
                        fr, fg, fb = over(fr, 0.96, w), over(fg, 0.95, w), over(fb, 0.92, w)
                        w = cover(max(abs(curve) - 0.007, abs(dx) - mouth)) * max(0.0, 1 - opened * 60)
                        fr, fg, fb = over(fr, 0.30, 0.7 * w), over(fg, 0.12, 0.7 * w), over(fb, 0.12, 0.7 * w)
                    # Hair over the forehead.
                    w = cover(y - line - 0.9 * dx * dx * (1 - 0.5 * age) + 0.06 * sin(7 * dx + 1))
                    strand = 0.93 + 0.08 * sin(30 * dx - 10 * dy) + 0.10 * light * dx
                    fr, fg, fb = (
                        over(fr, hair[0] * strand, w),
                        over(fg, hair[1] * strand, w),
                        over(fb, hair[2] * strand, w),
                    )
                    r, g, b = over(r, fr, a), over(g, fg, a), over(b, fb, a)
                images[n, row, column, 0] = int(min(max(r, 0.0), 1.0) * 255 + 0.5)
                images[n, row, column, 1] = int(min(max(g, 0.0), 1.0) * 255 + 0.5)
                images[n, row, column, 2] = int(min(max(b, 0.0), 1.0) * 255 + 0.5)
    return images
