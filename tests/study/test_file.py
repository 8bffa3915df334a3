"""Study files: what they mean, and how mistakes in them are answered."""

import pytest

from unbraid.errors import UsageError
from unbraid.evaluation import UDR, Disentanglement, Losses
from unbraid.metrics import METRICS
from unbraid.options import Named
from unbraid.study import PRESETS, Study, parse_study, read_study
from unbraid.study.file import KEYS
from unbraid.study.method import batch_size_of, objective_of

GOOD = """
data = ["mini-sprites", "sprites16"]
seeds = 3
steps = 100
[objectives.beta-vae]
beta = [1, 4]
[objectives.annealed-vae]
gamma = 10
[options]
latents = 5
[evaluation]
metrics = ["dci", "mig"]
train = 300
"""


def test_a_study_is_the_product_of_its_axes():
    study = parse_study(GOOD, "my.toml")
    # Two strengths of beta-vae, the six published ones of annealed-vae: 8 settings on 2 data sets with 3 seeds.
    assert len(study) == 2 * 8 * 3
    assert [s.strength for s in study.settings] == [1, 4, 5, 10, 25, 50, 75, 100]
    assert study.settings[2].parameter == "c_max"
    assert study.settings[2].options == {"latents": 5, "gamma": 10, "c_max": 5}
    assert study.seeds == (0, 1, 2)
    assert study.batch_size == 64
    scores, losses, agreement = (entry.measure for entry in study.measures)
    assert scores == Disentanglement(metrics=("mig", "dci"), train=300)
    assert (losses, agreement) == (Losses(), UDR())


def test_a_list_of_objectives_takes_their_published_sweeps():
    study = parse_study('data = "mini-sprites"\nsteps = 1\nobjectives = ["factor-vae", "vae"]', "s")
    assert [s.strength for s in study.settings] == [10, 20, 30, 40, 50, 100, None]


def test_a_fixed_strength_is_one_setting():
    study = parse_study('data = "mini-sprites"\nsteps = 1\n[objectives.beta-vae]\nbeta = 4', "s")
    assert [(s.parameter, s.strength) for s in study.settings] == [("beta", 4.0)]


def test_penalties_are_a_list_and_no_sweep():
    start = 'data = "mini-sprites"\nsteps = 1\nseeds = 1\n[[objectives.vae]]\n[[objectives.vae]]\n'
    plain, study = parse_study(start + 'penalties = ["hfs:weight=2", "bio"]', "s")
    assert study.options["penalties"] == ["hfs:weight=2", "bio"]
    assert study.method == "vae, hfs:weight=2 + bio"
    assert plain.group != study.group
    with pytest.raises(UsageError, match=r"objectives.vae: unknown penalty 'hsf'; did you mean 'hfs'"):
        parse_study(start + 'penalties = ["hsf"]', "s")


def test_networks_and_numbers_of_steps_can_be_axes():
    study = parse_study('data = "mini-sprites"\nsteps = [1, 2]\nnet = ["fc", "mlp"]\nobjectives = ["vae"]', "s")
    assert [(r.net, r.steps) for r in study] == [("fc", 1), ("fc", 2), ("mlp", 1), ("mlp", 2)]
    assert study[2].options == {"net": "mlp"}


def test_all_metrics_are_those_of_single_models():
    study = parse_study('data = "mini-sprites"\nsteps = 1\nobjectives = ["vae"]', "s")
    usual = {name for name, entry in METRICS.items() if entry.usual} - {"udr"}
    assert set(study.measures[0].measure.metrics) == usual
    without = parse_study(
        'data = "mini-sprites"\nsteps = 1\nobjectives = ["vae"]\n[evaluation]\ndownstream = false', "s"
    )
    assert set(study.measures[0].measure.metrics) - set(without.measures[0].measure.metrics) == {"downstream"}


MEASURES = """
[measures.disentanglement]
metrics = ["mig"]
data = ["training", "sprites16"]
[measures.summary]
images = 7
seed = 3
"""


def test_measures_can_be_named_with_settings_data_and_seeds():
    start = 'data = "mini-sprites"\nsteps = 1\nobjectives = ["vae"]\n'
    study = parse_study(start + MEASURES, "s")
    assert [entry.measure.name for entry in study.measures] == ["disentanglement", "summary"]
    assert [entry.data for entry in study.measures] == [("training", "sprites16"), ()]
    assert [entry.seed for entry in study.measures] == [0, 3]
    assert study.measures[1].measure.images == 7
    both = parse_study(start + "[evaluation]\ntrain = 50\n[measures.summary]", "s")
    assert [entry.measure.name for entry in both.measures] == ["disentanglement", "losses", "udr", "summary"]
    listed = parse_study(start + 'measures = ["summary", "losses:batches=4"]', "s")
    assert [entry.measure.name for entry in listed.measures] == ["summary", "losses"]
    assert listed.measures[1].measure.batches == 4
    assert Study.from_json(study.to_json(), "s").measures == study.measures


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds", "seds", ("seds", "did you mean 'seeds'")),
        ("steps = 100", "steps = 0", ("steps", "at least 1", "got 0")),
        ("steps = 100", "", ("'steps' is missing",)),
        ("seeds = 3", "seeds = [1, 1]", ("seeds", "different numbers")),
        ("beta-vae", "beta-vea", ("objectives.beta-vea", "did you mean 'beta-vae'")),
        ("beta = [1, 4]", "beta = [1, -4]", ("objectives.beta-vae.beta", "not negative, got -4")),
        ("beta = [1, 4]", "bta = [1, 4]", ("objectives.beta-vae.bta", "did you mean 'beta'")),
        ("beta = [1, 4]", "beta = [1, 1]", ("objectives.beta-vae.beta", "different values")),
        ("beta = [1, 4]", 'beta = ["one"]', ("objectives.beta-vae.beta", "numbers, got 'one'")),
        ("beta = [1, 4]", "beta = [1]\nlatents = [2]", ("latents and beta", "one option can be swept")),
        ("latents = 5", "latent = 5", ("objectives.beta-vae", "did you mean 'latents'")),
        ('"sprites16"', '"sprite16"', ("data", "did you mean 'sprites16'")),
        ('"mig"', '"mgi"', ("evaluation", "did you mean 'mig'")),
        ("train = 300", "trian = 300", ("evaluation.trian", "did you mean 'train'")),
        ("train = 300", 'representations = ["maen"]', ("evaluation", "did you mean 'mean'")),
        ("train = 300", "options.sap.x = 1", ("options.sap", "not among the chosen")),
        ("[evaluation]", "[measures.accurac]\n[evaluation]", ("measures.accurac", "unknown measure")),
        ("[evaluation]", "[measures.udr]\n[evaluation]", ("measures.udr", "twice")),
        ("[evaluation]", "[measures.summary]\nimage = 3\n[evaluation]", ("measures.summary", "mean 'images'")),
        ("[evaluation]", '[measures.summary]\ndata = "sprite16"\n[evaluation]', ("summary.data", "'sprites16'")),
        ("[evaluation]", "[measures.summary]\nseed = -1\n[evaluation]", ("measures.summary.seed", "at least 0")),
        ("[options]", "[options", ("not readable as TOML",)),
    ],
)
def test_mistakes_name_the_file_the_key_and_the_remedy(old, new, words):
    assert old in GOOD
    with pytest.raises(UsageError) as caught:
        parse_study(GOOD.replace(old, new, 1), "my.toml")
    assert str(caught.value).startswith("my.toml")
    for word in words:
        assert word in str(caught.value)


def test_files_and_presets_that_do_not_exist(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'smoke'"):
        read_study("smok")
    with pytest.raises(UsageError, match="does not exist"):
        read_study(tmp_path / "mine.toml")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_good_study_files(name, tmp_path):
    study = read_study(name)
    assert study.name == name
    (tmp_path / "copy.toml").write_text(PRESETS[name])
    assert read_study(tmp_path / "copy.toml").to_json() == study.to_json()


def test_the_small_preset_is_six_objectives_three_strengths_five_seeds_on_two_sets():
    study = read_study("small")
    assert len(study) == 2 * 6 * 3 * 5
    assert len({s.objective for s in study.settings}) == 6


def test_every_key_is_documented():
    import unbraid.study.file as module

    for key in set(KEYS) - {"name", "precision"}:
        assert key in (module.__doc__ or "")


def test_data_sets_may_say_how_pairs_are_made():
    study = parse_study(
        'data = ["mini-sprites @ protocol=uni", "mini-sprites"]\nsteps = 1\nobjectives = ["pcl", "vae"]', "s"
    )
    first, last = study[0], study[3]
    assert (first.data, first.data_set, first.pairs) == ("mini-sprites @ protocol=uni", "mini-sprites", "protocol=uni")
    assert (last.data_set, last.pairs) == ("mini-sprites", "")
    # Two of 64 images are a pair; objectives on single images need not know of pairs.
    chosen = [objective_of(spec) for spec in study]
    assert [Named.read(objective.needs).name for objective in chosen] == ["pairs", "images", "pairs", "images"]
    assert chosen[0].needs == Named("pairs", {"protocol": "uni"})
    assert [batch_size_of(spec, objective) for spec, objective in zip(study, chosen, strict=True)] == [32, 64, 32, 64]


@pytest.mark.parametrize(
    ("data", "told"),
    [("mini-sprites @ protocoll=uni", "did you mean 'protocol'"), ("mini-sprites @ uni", "write name:option=value")],
)
def test_mistakes_in_pairs_are_answered(data, told):
    with pytest.raises(UsageError, match=told):
        parse_study(f'data = "{data}"\nsteps = 1\nobjectives = ["pcl"]', "s")


def test_pairs_given_twice_are_refused():
    text = 'data = "mini-sprites @ protocol=uni"\nsteps = 1\n[objectives.pcl]\npairs = "protocol=lap"'
    with pytest.raises(UsageError, match="given twice"):
        objective_of(parse_study(text, "s")[0])


def test_one_objective_may_have_several_settings():
    text = """
    data = "mini-sprites"
    steps = 1
    [[objectives.slow-vae]]
    [[objectives.slow-vae]]
    rate = [1, 12]
    [[objectives.slow-vae]]
    gamma = [1]
    """
    study = parse_study(text, "s")
    assert [(s.parameter, s.strength) for s in study.settings] == [
        (None, None),
        ("rate", 1),
        ("rate", 12),
        ("gamma", 1),
    ]
    with pytest.raises(UsageError, match="could not tell apart"):
        parse_study(text + '[[objectives.slow-vae]]\nvariant = "release"', "s")
