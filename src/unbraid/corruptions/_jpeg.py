"""What a JPEG file of low quality leaves of images, without the file.

Writing and reading the file loses nothing, so only what loses is done: colours to brightness and halved chroma, cosine
transform of blocks of eight, rounding to the steps of the quality, and back. The integers are those of the slow
transforms of libjpeg (Loeffler, Ligtenberg & Moschytz, 1989; 13 bits of constants), so that the bytes are its bytes.
"""

import numpy as np

from unbraid.compiled import compiled

__all__ = ["round_trip"]

_LUMA = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56),
    *(14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMA = (
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99),
    *(47, 66, 99, 99, 99, 99, 99, 99, *(99,) * 32),
)
"""Steps of quality 50 (ITU T.81, annex K)."""


def round_trip(images: np.ndarray, quality: int) -> np.ndarray:
    """Images uint8 [n,h,w,1 or 3] as they come back from files of this quality, colours at half the resolution."""
    n, height, width, channels = images.shape
    down, right = -(-height // 8) * 8, -(-width // 8) * 8
    if channels == 1:
        grey = np.pad(images[..., 0], ((0, 0), (0, down - height), (0, right - width)), "edge")
        _through_blocks(grey.reshape(-1, right), _steps(_LUMA, quality))
        return np.ascontiguousarray(grey[:, :height, :width, None])
    luma = np.empty((n, down, right), np.uint8)
    chroma = np.empty((2 * n, -(-height // 16) * 8, -(-width // 16) * 8), np.uint8)
    out = np.empty_like(images)
    _split(images.reshape(n, height, -1), luma, chroma)
    _through_blocks(luma.reshape(-1, right), _steps(_LUMA, quality))
    _through_blocks(chroma.reshape(-1, chroma.shape[2]), _steps(_CHROMA, quality))
    _join(luma, chroma, out.reshape(n, height, -1))
    return out


def _steps(table: tuple[int, ...], quality: int) -> np.ndarray:
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((np.array(table) * scale + 50) // 100, 1, 255).astype(np.int32)


@compiled
def _split(images: np.ndarray, luma: np.ndarray, chroma: np.ndarray) -> None:
    """Brightness of every pixel, chroma of every four; the edges go on to whole blocks."""
    count, height, width = images.shape[0], images.shape[1], images.shape[2] // 3
    blue, red = np.empty((2, luma.shape[2] + 16), np.int32), np.empty((2, luma.shape[2] + 16), np.int32)
    for n in range(count):
        for i in range(0, height, 2):
            for part in range(2):
                row = min(i + part, height - 1)
                source, light, bluish, reddish = images[n, row], luma[n, row], blue[part], red[part]
                for j in range(width):
                    r, g, b = np.int32(source[3 * j]), np.int32(source[3 * j + 1]), np.int32(source[3 * j + 2])
                    light[j] = np.uint8(np.int32(19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
                for j in range(width):
                    r, g, b = np.int32(source[3 * j]), np.int32(source[3 * j + 1]), np.int32(source[3 * j + 2])
                    bluish[j] = np.int32(-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16
                for j in range(width):
                    r, g, b = np.int32(source[3 * j]), np.int32(source[3 * j + 1]), np.int32(source[3 * j + 2])
                    reddish[j] = np.int32(32768 * r - 27439 * g - 5329 * b + 8421375) >> 16
                for j in range(width, luma.shape[2]):
                    light[j] = light[width - 1]
                for j in range(width, 2 * chroma.shape[2]):
                    bluish[j], reddish[j] = bluish[width - 1], reddish[width - 1]
            for c in range(2):
                target, upper, lower = (
                    chroma[2 * n + c, i // 2],
                    blue[0] if c == 0 else red[0],
                    blue[1] if c == 0 else red[1],
                )
                for j in range(chroma.shape[2]):
                    four = np.int32(upper[2 * j] + upper[2 * j + 1] + lower[2 * j] + lower[2 * j + 1] + 1 + (j & 1))
                    target[j] = np.uint8(four >> 2)
        for i in range(height, luma.shape[1]):
            luma[n, i] = luma[n, height - 1]
        for i in range((height + 1) // 2, chroma.shape[1]):
            chroma[2 * n, i] = chroma[2 * n, (height - 1) // 2]
            chroma[2 * n + 1, i] = chroma[2 * n + 1, (height - 1) // 2]


@compiled
def _through_blocks(plane: np.ndarray, steps: np.ndarray) -> None:
    """Each block of eight by eight of a tall plane transformed, rounded and transformed back, in place.

    64 blocks at a time lie side by side, number by number, so that they go through each operation together. Every pass
    reads the numbers of one array by columns and leaves them in the other by rows.
    """
    rows, across = plane.shape[0] // 8, plane.shape[1] // 8
    tall = 64 // across
    first, second = np.zeros(64 * 64, np.int32), np.zeros(64 * 64, np.int32)
    for top in range(0, rows, tall):
        held = min(tall, rows - top)
        for i in range(8 * held):
            line, start = plane[8 * top + i], 64 * (i % 8) + i // 8 * across
            for x in range(8):
                target, source = first[512 * x + start : 512 * x + start + across], line[x:]
                for b in range(across):
                    target[b] = np.int32(source[8 * b]) - 128
        for turn in range(2):
            down = 11 if turn == 0 else 15
            half = np.int32(1 << (down - 1))
            before, after = (first, second) if turn == 0 else (second, first)
            for k in range(8):
                w, v = before[64 * k :], after[512 * k :]
                for b in range(64):
                    s0, d0 = np.int32(w[b] + w[b + 3584]), np.int32(w[b] - w[b + 3584])
                    s1, d1 = np.int32(w[b + 512] + w[b + 3072]), np.int32(w[b + 512] - w[b + 3072])
                    s2, d2 = np.int32(w[b + 1024] + w[b + 2560]), np.int32(w[b + 1024] - w[b + 2560])
                    s3, d3 = np.int32(w[b + 1536] + w[b + 2048]), np.int32(w[b + 1536] - w[b + 2048])
                    even, odd = np.int32(s0 + s3), np.int32(s0 - s3)
                    inner, cross = np.int32(s1 + s2), np.int32(s1 - s2)
                    turned, bent = np.int32((cross + odd) * 4433), np.int32((d3 + d1 + d2 + d0) * 9633)
                    z1, z2 = np.int32((d3 + d0) * -7373), np.int32((d2 + d1) * -20995)
                    z3, z4 = np.int32((d3 + d1) * -16069 + bent), np.int32((d2 + d0) * -3196 + bent)
                    # The sums of the first pass keep two bits more than the numbers, those of the second lose them.
                    v[b] = np.int32((even + inner) * 8192 + half) >> down
                    v[b + 256] = np.int32((even - inner) * 8192 + half) >> down
                    v[b + 128] = np.int32(turned + odd * 6270 + half) >> down
                    v[b + 384] = np.int32(turned - cross * 15137 + half) >> down
                    v[b + 448] = np.int32(d3 * 2446 + z1 + z3 + half) >> down
                    v[b + 320] = np.int32(d2 * 16819 + z2 + z4 + half) >> down
                    v[b + 192] = np.int32(d1 * 25172 + z2 + z3 + half) >> down
                    v[b + 64] = np.int32(d0 * 12299 + z1 + z4 + half) >> down
        for k in range(64):
            step, source, target = steps[8 * (k % 8) + k // 8], first[64 * k :], second[64 * (8 * (k % 8) + k // 8) :]
            # Whole numbers plus a half lie far from the borders of steps: no rounding error tips them over.
            each, half_step = np.float32(1) / np.float32(8 * step), np.float32(4 * step) + np.float32(0.5)
            for b in range(64):
                size = np.int32(np.int32((np.float32(abs(source[b])) + half_step) * each) * step)
                target[b] = size if source[b] > 0 else np.int32(-size)
        for turn in range(2):
            down = 11 if turn == 0 else 18
            half = np.int32(1 << (down - 1))
            before, after = (second, first) if turn == 0 else (first, second)
            for k in range(8):
                w, v = before[64 * k :], after[512 * k :]
                for b in range(64):
                    w2, w6, o7, o5 = w[b + 1024], w[b + 3072], w[b + 3584], w[b + 2560]
                    o3, o1 = w[b + 1536], w[b + 512]
                    turned, bent = np.int32((w2 + w6) * 4433), np.int32((o7 + o3 + o5 + o1) * 9633)
                    a2, a3 = np.int32(turned - w6 * 15137), np.int32(turned + w2 * 6270)
                    a0, a1 = np.int32((w[b] + w[b + 2048]) * 8192), np.int32((w[b] - w[b + 2048]) * 8192)
                    e0, e3 = np.int32(a0 + a3 + half), np.int32(a0 - a3 + half)
                    e1, e2 = np.int32(a1 + a2 + half), np.int32(a1 - a2 + half)
                    z1, z2 = np.int32((o7 + o1) * -7373), np.int32((o5 + o3) * -20995)
                    z3, z4 = np.int32((o7 + o3) * -16069 + bent), np.int32((o5 + o1) * -3196 + bent)
                    b0, b1 = np.int32(o7 * 2446 + z1 + z3), np.int32(o5 * 16819 + z2 + z4)
                    b2, b3 = np.int32(o3 * 25172 + z2 + z3), np.int32(o1 * 12299 + z1 + z4)
                    v[b], v[b + 448] = np.int32(e0 + b3) >> down, np.int32(e0 - b3) >> down
                    v[b + 64], v[b + 384] = np.int32(e1 + b2) >> down, np.int32(e1 - b2) >> down
                    v[b + 128], v[b + 320] = np.int32(e2 + b1) >> down, np.int32(e2 - b1) >> down
                    v[b + 192], v[b + 256] = np.int32(e3 + b0) >> down, np.int32(e3 - b0) >> down
        for i in range(8 * held):
            line, start = plane[8 * top + i], 512 * (i % 8) + i // 8 * across
            for x in range(8):
                source, target = second[64 * x + start : 64 * x + start + across], line[x:]
                for b in range(across):
                    target[8 * b] = np.uint8(min(max(source[b] + 128, 0), 255))


@compiled
def _join(luma: np.ndarray, chroma: np.ndarray, out: np.ndarray) -> None:
    """Chroma at full resolution, three parts of the nearest and one of the next in each direction, and colours."""
    count, height, width = out.shape[0], out.shape[1], out.shape[2] // 3
    tall, wide = (height + 1) // 2, (width + 1) // 2
    sums = np.empty((2, wide + 2), np.int32)
    full = np.empty((2, 2 * wide), np.int32)
    for n in range(count):
        for i in range(height):
            near = i // 2
            far = min(max(near - 1 if i % 2 == 0 else near + 1, 0), tall - 1)
            for c in range(2):
                close, other, line, wider = chroma[2 * n + c, near], chroma[2 * n + c, far], sums[c], full[c]
                for j in range(wide):
                    line[j + 1] = 3 * np.int32(close[j]) + np.int32(other[j])
                line[0], line[wide + 1] = line[1], line[wide]
                left, middle, right = line[:wide], line[1 : wide + 1], line[2:]
                for j in range(wide):
                    wider[2 * j] = (np.int32(3 * middle[j] + left[j] + 8) >> 4) - 128
                    wider[2 * j + 1] = (np.int32(3 * middle[j] + right[j] + 7) >> 4) - 128
            light, blue, red, target = luma[n, i], full[0], full[1], out[n, i]
            for j in range(width):
                y, cb, cr = int(light[j]), int(blue[j]), int(red[j])
                r, b = y + (np.int32(91881 * cr + 32768) >> 16), y + (np.int32(116130 * cb + 32768) >> 16)
                g = y + (np.int32(-22554 * cb - 46802 * cr + 32768) >> 16)
                target[3 * j] = np.uint8(min(max(int(r), 0), 255))
                target[3 * j + 1] = np.uint8(min(max(int(g), 0), 255))
                target[3 * j + 2] = np.uint8(min(max(int(b), 0), 255))
