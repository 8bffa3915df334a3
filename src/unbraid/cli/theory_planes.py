"""unbraid theory planes RUN..."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from unbraid.errors import UsageError, unknown_name
from unbraid.files import make_folders

__all__ = ["theory_planes"]


def theory_planes(
    runs: Positional[tuple[Annotated[Path, arg(metavar="RUN")], ...]],
    *,
    factors: Annotated[str, arg(metavar="NAME,NAME")],
    out: Path,
    count: int = 4,
    values: int = 9,
    reach: float = 2.0,
    points: int = 10_000,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Look how two factors are laid out in restarts: one per axis (cartesian), or as angle and radius (polar).

    Takes the best and the worst restarts by MIG and draws what each decodes over the two latents that know most about
    the factors (figures 4.10 and 4.11 of Zietlow, 2022). A positive polar score says that angle and radius tell more.

    Args:
        runs: Folders of runs on the same data set.
        factors: Two factors, as in wall_hue,orientation: the one that may be an angle first.
        out: Picture to write.
        count: How many of the best and of the worst runs (at most half of them).
        values: Pictures along each side.
        reach: How far to go on either side of the mean code.
        points: Images that are encoded.
        seed: Decides which images.
        json: Print the result as JSON.
    """
    from unbraid.data import counter_rng
    from unbraid.metrics import mig
    from unbraid.report.theory import draw_planes, plane_images
    from unbraid.theory import best_and_worst, polar_score
    from unbraid.training import open_run

    if points < 100:
        raise UsageError(f"points must be at least 100, got {points}")
    opened = [open_run(path) for path in runs]
    if len(opened) < 2:
        raise UsageError(f"planes compares at least two runs, got {len(opened)}")
    data = opened[0].data()
    for run in opened[1:]:
        run.check_data(data)
    names = [name.strip() for name in factors.split(",")]
    if len(names) != 2:
        raise UsageError(f"factors must be two names, as in wall_hue,orientation; got {factors!r}")
    for name in names:
        if name not in data.factor_names:
            raise unknown_name("factor", name, data.factor_names)
    rng = counter_rng(seed, 0)
    index = data.sample_index(points, rng)
    pixels, truth = data.images(index, rng), data.factors(index)
    codes = [run.encode(pixels) for run in opened]
    scores = [float(mig(each, truth)) for each in codes]
    pair = (data.factor_names.index(names[0]), data.factor_names.index(names[1]))
    best, worst = best_and_worst(opened, scores, min(count, len(opened) // 2))
    rows: list[dict[str, Any]] = []
    planes, titles = [], []
    for kind, chosen in (("best", best), ("worst", worst)):
        for place in chosen:
            found = polar_score(codes[place], truth, pair)
            rows.append(
                {
                    "run": str(opened[place].path),
                    "kind": kind,
                    "mig": scores[place],
                    "latents": list(found.latents),
                    "cartesian": found.cartesian,
                    "polar": found.polar,
                    "polar_score": found.score,
                }
            )
            planes.append(plane_images(opened[place], codes[place], found.latents, values=values, reach=reach))
            first, second = found.latents
            titles.append(f"{kind}: MIG {scores[place]:.2f}, z{first} × z{second}\npolar score {found.score:+.2f}")
    make_folders(out.parent)
    draw_planes(planes, titles, out, columns=len(best))
    if json:
        print(json_module.dumps(rows))
        return
    for row in rows:
        first, second = row["latents"]
        print(
            f"{row['kind']:<6} MIG {row['mig']:.3f}  z{first} z{second}  cartesian {row['cartesian']:.3f}  "
            f"polar {row['polar']:.3f}  score {row['polar_score']:+.3f}  {row['run']}"
        )
    print(f"wrote {out}")
