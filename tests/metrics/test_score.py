import json
import math

import numpy as np
import pytest
from metric_toys import draws, grid

from unbraid.errors import UsageError
from unbraid.metrics import Score, Scores, infomec, mig
from unbraid.metrics._score import check_arrays, check_codes, check_factors, check_kinds, split


def test_a_score_is_a_number_and_prints_its_ceiling():
    score = Score("mig", 0.421, 0.9)
    assert float(score) == 0.421
    assert repr(score) == "mig 0.42 of 0.90"
    assert repr(Score("tc", 0.5)) == "tc 0.50"


def test_json_gives_the_score_back():
    score = mig(grid(3, 4), grid(3, 4)).with_settings(seconds=np.float64(0.5))
    text = json.dumps(score.to_json(), allow_nan=False)
    again = Score.from_json(json.loads(text))
    assert (again.name, again.value, again.ceiling) == (score.name, score.value, score.ceiling)
    assert again.settings == score.settings
    for key, part in score.parts.items():
        np.testing.assert_array_equal(again.parts[key], part)
        assert np.asarray(again.parts[key]).dtype.kind == np.asarray(part).dtype.kind


def test_json_keeps_a_missing_ceiling_missing():
    record = Score("tc", 0.5, parts={"rows": [[1, 2], [3]], "text": "x"}).to_json()
    assert record["ceiling"] is None
    again = Score.from_json(record)
    assert math.isnan(again.ceiling)
    assert again.parts["rows"] == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros(3), r"codes must be \[n, d\].*got shape \(3,\)"),
        (np.zeros((3, 0)), r"got shape \(3, 0\)"),
        (np.array([["a"], ["b"]]), "real numbers"),
        (np.zeros((1, 2)), r"1 row\(s\).*at least two samples"),
        (np.array([[0.0, 1.0], [0.0, np.nan], [0.0, np.inf]]), "2 of 6 entries.*first in column 1"),
        (np.array([[0.0], [1e200]]), "overflow"),
    ],
)
def test_bad_codes_are_named(codes, message):
    with pytest.raises(UsageError, match=message):
        check_codes(codes)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (np.zeros(3, int), r"factors must be \[n, K\].*got shape \(3,\)"),
        (np.full((3, 2), 0.5), "must be integers.*got float64"),
        (np.array([["a"], ["b"]]), "must be numbers, got dtype <U1"),
        (np.array([[0, 4], [1, 4]]), "factor 1 .*single value 4 in all 2 samples"),
    ],
)
def test_bad_factors_are_named(factors, message):
    with pytest.raises(UsageError, match=message):
        check_factors(factors)


def test_booleans_are_factors_and_integers_are_codes():
    codes, factors = check_arrays(np.array([[0], [1]]), np.array([[True], [False]]))
    assert codes.dtype == np.float64
    assert factors.dtype == np.int64


def test_lengths_must_agree():
    with pytest.raises(UsageError, match="3 rows and 2 rows"):
        check_arrays(np.zeros((3, 1)), np.array([[0], [1]]))


def test_split_is_two_to_one_disjoint_and_seeded():
    codes, factors = np.arange(90.0)[:, None], draws((3,), 90)
    (train, _), (test, truth) = split(codes, factors, seed=1)
    assert (len(train), len(test)) == (60, 30)
    assert not set(train[:, 0]) & set(test[:, 0])
    np.testing.assert_array_equal(truth, factors[test[:, 0].astype(int)])
    np.testing.assert_array_equal(split(codes, factors, seed=1)[1][0], test)
    assert (split(codes, factors, seed=2)[1][0] != test).any()


def test_split_refuses_a_test_set_of_another_shape():
    codes, factors = np.zeros((9, 2)), draws((2, 2), 9)
    with pytest.raises(UsageError, match="test codes have 3 columns, the training codes 2"):
        split(codes, factors, test=(np.zeros((4, 3)), draws((2, 2), 4)))
    with pytest.raises(UsageError, match="4 rows and 5 rows"):
        split(codes, factors, test=(np.zeros((4, 2)), draws((2, 2), 5)))


def test_fewer_training_samples_than_values_are_refused():
    with pytest.raises(UsageError, match="6 training samples are too few for factor 0 with its 9 values"):
        split(np.zeros((9, 1)), np.arange(9)[:, None])


def test_kinds_must_name_each_factor_rightly():
    factors = grid(2, 2)
    assert check_kinds(None, factors) == ("ordinal", "ordinal")
    with pytest.raises(UsageError, match="one kind per factor, 2 in all"):
        check_kinds(["ordinal"], factors)
    with pytest.raises(UsageError, match="did you mean 'periodic'"):
        check_kinds(["ordinal", "periodical"], factors)


def test_tensors_and_masked_arrays_are_taken_as_they_are():
    import torch

    codes, factors = draws((2, 3), 60) + 0.5, draws((2, 3), 60)
    plain = float(mig(codes, factors))
    learning = torch.tensor(codes, dtype=torch.float32, requires_grad=True)
    assert float(mig(learning, torch.tensor(factors))) == plain
    assert float(mig(learning.bfloat16(), factors)) == plain  # halves are exact in bfloat16
    assert float(mig(np.ma.array(codes), factors)) == plain
    assert float(mig(codes.astype(object), factors.astype(object))) == plain


def test_missing_entries_are_counted_or_named():
    codes, factors = draws((2, 3), 60) + 0.5, draws((2, 3), 60)
    with pytest.raises(UsageError, match="codes has 60 masked entries; drop those rows"):
        mig(np.ma.array(codes, mask=np.tile([False, True], (60, 1))), factors)
    gaps = factors.astype(object)
    gaps[3, 1] = None
    with pytest.raises(UsageError, match="factors has entries that are missing or no numbers"):
        mig(codes, gaps)


class Frame:
    """As pandas hands out columns of its own integers: objects, with a missing one that is no number."""

    def __init__(self, rows):
        self.rows = rows

    def to_numpy(self):
        return np.array(self.rows, dtype=object)


def test_frames_hand_out_their_own_integers():
    factors = draws((2, 3), 60)
    assert check_factors(Frame(factors.tolist())).tolist() == factors.tolist()
    with pytest.raises(UsageError, match=r"must be integers.*float64") as told:
        check_factors(Frame((factors + 0.5).tolist()))
    assert "unique" not in str(told.value)  # a value per sample would make every score 0


def test_frames_of_pandas_with_its_own_integers_are_taken():
    import pandas as pd

    codes, factors = draws((2, 3), 60) + 0.5, draws((2, 3), 60)
    frame = pd.DataFrame(factors, columns=["a", "b"]).astype("Int64")
    assert float(mig(pd.DataFrame(codes).astype("Float64"), frame)) == float(mig(codes, factors))
    frame.loc[3, "b"] = pd.NA
    with pytest.raises(UsageError, match="factors has entries that are missing or no numbers"):
        mig(codes, frame)


def test_codes_whose_squares_vanish_are_refused():
    codes = draws((2, 3), 60) * np.array([1.0, 1e-200])
    with pytest.raises(UsageError, match=r"column 1 of codes varies by 2.0e-200 only; .*rescale"):
        check_codes(codes)


def test_a_factor_with_a_value_per_sample_is_refused_where_each_value_is_a_class():
    factors = np.stack([np.arange(600), np.arange(600) % 2], axis=1)
    with pytest.raises(UsageError, match="factor 0 takes 600 values in 600 samples"):
        infomec(factors + 0.0, factors)


def test_infinity_and_its_sign_come_back_from_json():
    score = Score(
        "x",
        math.inf,
        -math.inf,
        {"live": math.inf, "row": np.array([1.0, -math.inf, math.nan]), "table": np.array([[math.inf, 0.0]])},
    )
    back = Score.from_json(json.loads(json.dumps(score.to_json(), allow_nan=False)))
    assert (back.value, back.ceiling, back.parts["live"]) == (math.inf, -math.inf, math.inf)
    np.testing.assert_array_equal(back.parts["row"], score.parts["row"])
    np.testing.assert_array_equal(back.parts["table"], score.parts["table"])


def test_a_value_above_its_ceiling_is_printed_with_the_reason():
    assert repr(Score("sap", 0.43, 0.27)).startswith("sap 0.43 (above the 0.27 of a perfect code")
    assert repr(Score("mig", 0.9001, 0.9)) == "mig 0.90 of 0.90"


def test_tables_of_scores_escape_names():
    page = Scores({"<b>": Score("<b>", 0.43, 0.27)}, {"<i>": "a < b"})._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page
    assert "0.43*" in page
    assert "a &lt; b" in page
