"""``unbraid data show NAME --split KIND``."""

import json

import numpy as np
from PIL import Image

from unbraid.cli import main


def test_a_split_is_shown_and_drawn(tmp_path, capsys):
    out = tmp_path / "seen.png"
    main(["data", "show", "mini-sprites", "--split", "extrapolation", "--out", str(out), "--json"])
    about = json.loads(capsys.readouterr().out)
    assert (about["train"], about["test"], about["unseen_factors"]) == (324, 444, [0, 324, 108, 12])
    assert about["values"] == {"scale": [3], "x": [6, 7], "y": [6, 7]}
    pixels = np.asarray(Image.open(out).convert("RGB")).reshape(-1, 3).tolist()
    # The colour of what is never seen takes up much of the picture of an extrapolation, and is absent where all is.
    assert sum(pixel == [243, 217, 205] for pixel in pixels) > 5_000
    main(["data", "show", "mini-sprites", "--split", "random", "--out", str(out)])
    assert "split random, hash" in capsys.readouterr().out
