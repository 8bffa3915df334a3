"""Grids of published data sets that loaders and splits both speak of."""

from unbraid.data.space import FactorSpace

__all__ = ["MPI3D", "SHAPES3D"]

SHAPES3D = FactorSpace(
    ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    (10, 10, 10, 8, 4, 15),
    ("periodic", "periodic", "periodic", "ordinal", "categorical", "ordinal"),
)
MPI3D = FactorSpace(
    (
        "object_color",
        "object_shape",
        "object_size",
        "camera_height",
        "background_color",
        "horizontal_axis",
        "vertical_axis",
    ),
    (6, 6, 2, 3, 3, 40, 40),
    ("categorical", "categorical", "ordinal", "ordinal", "categorical", "ordinal", "ordinal"),
)
