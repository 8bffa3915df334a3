"""A matrix of made-up numbers: three seeds of most, one of others, and the outcomes that they are judged by."""

from unbraid.transfer import Matrix, matrix


def made_up(domain: str = "affine-digits") -> Matrix:
    """Training with noise overfits, coordinates are harmful, what was trained once is undecided."""
    return matrix(
        {
            "vanilla": row(iid=0.94, composition=0.40, extrapolation=0.6, noise=0.39, blur=0.40, linf=0.036),
            "gaussian-noise": row(iid=0.94, composition=0.29, noise=0.78, blur=0.40, linf=0.063),
            "coordinates": row(iid=0.94, composition=0.33, extrapolation=0.5, noise=0.48),
            "binarised": {"iid": {0: 0.95}, "linf": {0: 0.2}, "noise": {0: 0.2}},
            "gaussian-noise+binarised": {"iid": {0: 0.9}, "linf": {0: 0.2}, "noise": {0: 0.8}},
            "bijection": row(iid=0.8, noise=0.3),
            "ice": row(iid=0.8, noise=0.31),
        },
        domain,
        scenarios=("iid", "composition", "extrapolation", "noise", "blur", "linf"),
    )


def row(**cells: float) -> dict[str, dict[int, float]]:
    return {name: {seed: value + 0.001 * (seed % 2) for seed in range(3)} for name, value in cells.items()}
