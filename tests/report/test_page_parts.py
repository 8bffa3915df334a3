"""The building blocks of the report page."""

import json
import math
import re

import numpy as np
import pytest

from unbraid.metrics import Score
from unbraid.report.page.axes import Scale, linear_ticks, number
from unbraid.report.page.captions import ANSWERS
from unbraid.report.page.charts import Bar, Series, bars, line_chart, scatter
from unbraid.report.page.folder import Folder, read_folder, read_history, train_command
from unbraid.report.page.markup import Html, fragment, tag
from unbraid.report.page.matching import match
from unbraid.report.page.model import Look
from unbraid.report.page.palette import DARK, LIGHT, SERIES, contrast, heat, shade
from unbraid.report.page.pictures import png
from unbraid.report.page.tables import data_table, heat_table
from unbraid.study import ANALYSES
from unbraid.study.analysis import QUESTIONS


def test_everything_that_is_not_markup_is_escaped():
    made = tag("p", "<b>", [tag("i", "&"), None, 3], title="\"'>")
    assert made == '<p title="&quot;&#x27;&gt;">&lt;b&gt;<i>&amp;</i>3</p>'
    assert fragment(Html("<b>"), "<b>") == "<b>&lt;b&gt;"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_and_curves_are_visible_on_their_ground(theme):
    # The accessibility guidelines ask for 4.5 between text and ground, and for 3 between graphics and ground.
    for ground in ("paper", "page"):
        for text in ("ink", "quiet", "accent"):
            assert contrast(theme[text], theme[ground]) >= 4.5
    assert contrast(theme["gap-ink"], theme["gap"]) >= 4.5
    assert contrast(theme["ink"], theme["soft"]) >= 4.5
    for tone in range(SERIES):
        assert contrast(theme[f"s{tone}"], theme["paper"]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_in_heat_maps_are_readable_on_every_shade(theme):
    assert all(contrast(back, text) >= 4.5 for back, text in heat(theme).values())


def test_a_grey_of_the_guidelines_has_the_known_contrast_with_white():
    # #767676 is the lightest grey that passes on white, with 4.54.
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


def test_shades_grow_with_the_value_and_turn_below_zero():
    assert [shade(v, 0, 2) for v in (0.0, 1.0, 2.0, 9.0)] == ["h0", "h5", "h10", "h10"]
    assert [shade(v, -1, 1) for v in (-1.0, -0.04, 0.3)] == ["n10", "h0", "h3"]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 7.9), (1e-4, 3e-4), (120, 125_000)])
def test_ticks_are_round_inside_and_even(low, high):
    ticks = linear_ticks(low, high)
    assert 3 <= len(ticks) <= 7
    assert low - 1e-9 <= ticks[0] <= ticks[-1] <= high + 1e-9
    steps = np.diff(ticks)
    assert np.allclose(steps, steps[0])


def test_a_logarithmic_scale_puts_the_geometric_mean_in_the_middle():
    scale = Scale(1.0, 100.0, 0.0, 200.0, logarithmic=True)
    assert scale(10.0) == 100.0
    assert set(scale.ticks()) <= {1, 3, 10, 30, 100}


def test_things_that_are_counted_have_no_half_ticks():
    assert Scale(0.0, 9.0, 0.0, 1.0).ticks(4) == [0, 2.5, 5, 7.5]
    assert Scale(0.0, 9.0, 0.0, 1.0).ticks(4, whole=True) == [0, 5]


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "-"), (-0.5, "−0.5"), (0.0, "0"), (999.6, "1000"), (math.inf, "∞")]
)
def test_numbers_are_written_for_people(value, text):
    assert number(value) == text


def test_what_rounding_leaves_of_zero_is_zero():
    assert ">0<" in data_table(["difference"], [[-2.2e-14]], "t")
    assert ">0<" in heat_table(np.array([[-0.2]]), ["a"], ["b"], "t", low=-100, high=100, digits=0)
    assert "e-14" not in bars([Bar("a", -2.2e-14)], "t", x_label="percent")


def test_a_long_curve_is_thinned_and_keeps_both_ends():
    x = np.arange(5000.0)
    made = line_chart([Series("loss", x, x)], "Loss")
    points = json.loads(re.search(r'data-points="([^"]*)"', made).group(1).replace("&quot;", '"'))
    assert len(points[0]["p"]) == 160
    assert points[0]["t"][0] == ["0", "0"]
    assert points[0]["t"][-1] == ["4,999", "4,999"]


def test_charts_survive_nothing_one_point_and_what_is_no_number():
    for x, y in (([], []), ([1.0], [2.0]), ([1.0, 2.0, 3.0], [math.nan, math.inf, 1.0])):
        series = [Series("a", np.array(x), np.array(y))]
        assert "nan" not in line_chart(series, "t")
        assert 'role="img"' in line_chart(series, "t")
    empty = [Series("a", np.zeros(0), np.zeros(0))]
    assert "<svg" in scatter(empty, "t", x_label="x", y_label="y", logarithmic=True, diagonal=True)
    assert "<svg" in bars([], "t", x_label="x")


def test_a_heat_map_is_a_table_with_named_rows_and_columns():
    made = heat_table(np.array([[0.0, 1.0], [math.nan, 0.5]]), ["z0", "z1"], ["scale", "pos_x"], "Information")
    assert made.count('scope="row"') == made.count('scope="col"') == 2
    assert "pos_<wbr>x" in made
    assert 'class="h10">1.00' in made
    assert 'class="hx"></td>' in made


def test_numbers_sort_by_their_full_value():
    made = data_table(["name", "mig"], [["a", 0.123456], ["b", None]], "t")
    assert 'data-key="0.123456">0.123<' in made
    assert 'data-key="">-<' in made


def test_a_grey_image_comes_back_from_its_address_pixel_by_pixel():
    import base64
    import io

    from PIL import Image

    image = np.random.default_rng(0).integers(0, 256, (8, 9, 1), dtype=np.uint8)
    data = base64.b64decode(png(image).removeprefix("data:image/png;base64,"))
    assert (np.asarray(Image.open(io.BytesIO(data))) == image[..., 0]).all()


def test_every_analysis_of_a_study_says_what_to_look_for():
    assert set(ANALYSES) <= set(ANSWERS)
    assert {analysis.question for analysis in ANALYSES.values()} <= set(QUESTIONS)


def test_a_history_that_was_cut_off_gives_the_rows_before_it(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("step,loss,kl\n100,3.5,1\n200,2.5,2\n300,1.\n")
    history = read_history(file)
    assert history.step.tolist() == [100, 200]
    assert history.terms["kl"].tolist() == [1, 2]
    assert history.damaged == 1


def test_a_term_that_came_late_is_no_damage(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("step,loss,late\n100,3.5,\n200,2.5,2\n300,1.5,")
    history = read_history(file)
    assert history.step.tolist() == [100, 200]
    assert str(history.terms["late"].tolist()) == "[nan, 2.0]"
    assert history.damaged == 1


def test_what_hooks_measured_becomes_a_curve_and_half_a_row_does_not(tmp_path):
    (tmp_path / "run.json").write_text('{"status": "finished", "step": 200}')
    (tmp_path / "history.csv").write_text("step,loss\n100,3\n200,2\n")
    (tmp_path / "evaluations.csv").write_text("step,name,value\n100,mig,0.1\n200,mig,0.25\n200,sap,0.\n300,mi")
    measured = read_folder(tmp_path).history.measured
    assert {name: (x.tolist(), y.tolist()) for name, (x, y) in measured.items()} == {
        "mig": ([100, 200], [0.1, 0.25]),
        "sap": ([200], [0.0]),
    }


def test_factors_are_matched_with_the_latents_that_follow_them(dots, tmp_path):
    # Latent 2 follows x, latent 1 runs against y, latent 0 follows x a little: the best one-to-one choice is 2 and 1.
    factors = dots.space.factors(np.arange(len(dots)))
    x, y = factors.T
    noise = np.random.default_rng(0).normal(size=len(dots))
    found = Look(Folder(tmp_path, {}, None, None, []), dots)
    found.codes, found.factors = np.stack([x + 9 * noise, -(y**3), x + 0.0], axis=1), factors
    assert match(found) == {"x": (2, pytest.approx(1)), "y": (1, pytest.approx(1))}
    found.scores = {"mcc": Score("mcc", 0.5, 1.0, {"code_of_factor": [0, -1], "per_factor": [0.5, 0.0]})}
    assert match(found) == {"x": (0, 0.5), "y": (-1, 0.0)}
    found.scores = {"mcc": Score("mcc", 0.5, 1.0, {"code_of_factor": [7, 1], "per_factor": [0.5, 0.0]})}
    assert match(found)["x"][0] == 2, "a stored matching of another model does not count"


def test_the_command_of_a_run_is_read_back_by_the_command_line(tmp_path):
    import tyro

    from unbraid.cli.train import TrainOptions
    from unbraid.report.page.folder import _data_name

    options = {"latents": 4, "gamma": 12.5, "half_steps": True, "second_batch": False}
    recipe = {"name": "sprites32", "options": {"shape": 0, "orientation": "::4", "scale": [0, 5]}}
    info = {
        "objective": {"name": "factor-vae", "options": options},
        "data": {"recipe": recipe},
        "seed": 7,
        "step": 50,
        "batch_size": 32,
        "log_every": 10,
        "arithmetic": {"precision": "torch.bfloat16", "threads": 2},
    }
    import shlex

    words = shlex.split(train_command(info, tmp_path / "a b"))
    assert words[:3] == ["unbraid", "train", "factor-vae"]
    own = {"--latents", "--gamma", "--half-steps", "--no-second-batch"}
    assert own <= set(words)
    assert _data_name(info) == "sprites32:shape=0,orientation=::4,scale=0+5"
    kept = [*words[3:5], *words[words.index("--steps") :]]
    read = tyro.cli(TrainOptions, args=kept)
    # Half steps count both players, so 50 updates were asked for as 100.
    assert (read.steps, read.seed, read.batch_size, read.log_every) == (100, 7, 32, 10)
    assert (read.precision, read.threads, read.out) == ("bf16", 2, tmp_path / "a b")
