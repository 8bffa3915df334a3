"""Black and white masks of one walking figure: head, trunk, arms and legs that swing with the gait."""

from dataclasses import dataclass

import numpy as np

from unbraid.compiled import compiled

__all__ = ["Poses", "render_silhouettes"]

SIZE = 64
LIMBS = 12


@dataclass(frozen=True)
class Poses:
    """One figure per entry, in pixels of the 64 x 64 mask; arrays ``[n]``."""

    x: np.ndarray
    """Middle of the body."""
    y: np.ndarray
    """Middle of the height, downwards."""
    height: np.ndarray
    phase: np.ndarray
    """Of the gait, in radians."""
    swing: np.ndarray
    """How far the limbs swing: 0 stands, 1 strides."""
    facing: np.ndarray
    """-1 walks left, 1 right, 0 towards the camera."""
    width: np.ndarray
    """Thickness of trunk and limbs, about 1."""

    def __getitem__(self, rows: np.ndarray) -> "Poses":
        return Poses(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.x)


def render_silhouettes(poses: Poses) -> np.ndarray:
    """Packed masks, uint8 ``[n, 512]``; a pixel is white if its centre lies in the figure."""
    out = np.zeros((len(poses), SIZE * SIZE // 8), dtype=np.uint8)
    _fill(np.ascontiguousarray(_limbs(poses)), out)
    return out


def _limbs(poses: Poses) -> np.ndarray:
    """Tapered strokes ``[n, 12, 6]``: both ends and their radii, in pixels.

    In units of the height, from the crown (0) to the soles (1).
    """
    strokes = np.zeros((len(poses), LIMBS, 6))
    facing, wide = poses.facing, poses.width
    front = 1 - np.abs(facing)  # seen from the front, shoulders and hips show their breadth

    def stroke(k: int, *ends: float | np.ndarray) -> None:
        for column, value in enumerate(ends):
            strokes[:, k, column] = value

    stroke(0, 0.012 * facing, 0.062, 0.018 * facing, 0.082, 0.062, 0.056)
    stroke(1, 0.0, 0.13, 0.0, 0.20, 0.04 * wide, 0.06 * wide)
    breadth = (0.035 + 0.045 * front) * wide
    stroke(2, -breadth, 0.205, breadth, 0.205, 0.05 * wide, 0.05 * wide)
    stroke(3, 0.0, 0.22, 0.0, 0.47, 0.085 * wide, 0.075 * wide)
    hips = 0.035 * front * wide
    for side in (0, 1):
        sign = 1 - 2 * side
        angle = sign * 0.5 * poses.swing * np.sin(poses.phase)
        arm = -0.8 * angle
        shoulder = sign * breadth * (0.4 + 0.8 * front)
        elbow_x, elbow_y = shoulder + 0.15 * np.sin(arm) * facing + sign * 0.03 * front, 0.21 + 0.15 * np.cos(arm)
        bend = arm + 0.25 + 0.2 * poses.swing
        hand_x, hand_y = elbow_x + 0.15 * np.sin(bend) * facing, elbow_y + 0.15 * np.cos(bend)
        stroke(4 + 2 * side, shoulder, 0.21, elbow_x, elbow_y, 0.034 * wide, 0.03 * wide)
        stroke(5 + 2 * side, elbow_x, elbow_y, hand_x, hand_y, 0.03 * wide, 0.024 * wide)
        lift = poses.swing * np.maximum(0, np.cos(poses.phase) * sign)  # the leg that comes forward bends its knee
        hip_x = sign * hips
        knee_x, knee_y = hip_x + 0.25 * np.sin(angle) * facing, 0.49 + 0.25 * np.cos(angle)
        lower = angle - 0.7 * lift
        foot_x = knee_x + 0.23 * np.sin(lower) * facing
        foot_y = knee_y + 0.23 * np.cos(lower) - 0.04 * lift * front
        stroke(8 + 2 * side, hip_x, 0.47, knee_x, knee_y, 0.062 * wide, 0.046 * wide)
        stroke(9 + 2 * side, knee_x, knee_y, foot_x, foot_y, 0.042 * wide, 0.032 * wide)
    strokes[:, :, 1] -= 0.5
    strokes[:, :, 3] -= 0.5
    strokes *= poses.height[:, None, None]
    strokes[:, :, 0::2][:, :, :2] += poses.x[:, None, None]
    strokes[:, :, 1:4:2] += poses.y[:, None, None]
    return strokes


@compiled
def _fill(strokes: np.ndarray, out: np.ndarray) -> None:
    """set the bits of all pixels whose centre lies in one of the strokes."""
    for image in range(len(strokes)):
        for limb in range(strokes.shape[1]):
            x0, y0, x1, y1, r0, r1 = strokes[image, limb]
            reach = max(r0, r1)
            top, bottom = max(int(np.floor(min(y0, y1) - reach)), 0), min(int(max(y0, y1) + reach) + 1, SIZE)
            left, right = max(int(np.floor(min(x0, x1) - reach)), 0), min(int(max(x0, x1) + reach) + 1, SIZE)
            u, v = x1 - x0, y1 - y0
            length = max(u * u + v * v, 1e-12)
            for row in range(top, bottom):
                for column in range(left, right):
                    a, b = column + 0.5 - x0, row + 0.5 - y0
                    along = min(max((a * u + b * v) / length, 0.0), 1.0)
                    a, b = a - along * u, b - along * v
                    radius = r0 + along * (r1 - r0)
                    if a * a + b * b <= radius * radius:
                        out[image, row * (SIZE // 8) + column // 8] |= np.uint8(128 >> (column % 8))
