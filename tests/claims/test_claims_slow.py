"""Every claim's smoke recipe, end to end: minutes."""

import pytest

from unbraid.claims import claims, run_claims
from unbraid.engines import make_engine


@pytest.mark.slow
def test_every_claim_runs_at_smoke_scale(tmp_path):
    records = run_claims(
        list(claims().values()), "smoke", tmp_path, engine=lambda: make_engine("process", workers=2), progress="none"
    )
    assert [record["id"] for record in records] == list(claims())
    broken = {record["id"]: record["reason"] for record in records if record["verdict"] == "not run"}
    # Without its files a data set is named, and nothing else may be missing.
    assert all("is not here" in reason for reason in broken.values()), broken
    # Everything was measured, but where the claim says that so short a training may leave no number.
    small = {record["id"]: record["reason"] for record in records if "too small to judge" in record["reason"]}
    assert set(small) <= {name for name, one in claims().items() if one.too_small}, small
    for record in records:
        if record["id"] not in broken and record["id"] not in small:
            asked = claims()[record["id"]].rules
            assert [one["name"] for one in record["statistic"]] == list(asked)
    judged = {
        record["id"]: record["verdict"] for record in records if record["verdict"] in ("reproduced", "not reproduced")
    }
    assert judged == {
        "study/impossibility": "reproduced",
        "pca/theorems": "reproduced",
        "invariance/misaligned-rule": "reproduced",
        "invariance/theorem-8": "not reproduced",
    }
