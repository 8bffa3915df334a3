"""Biases compose, in any order, or say why not."""

import pytest

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.transfer import DOMAINS, Budget, biases, canonical, get_bias, own_scenarios, recipe, scenarios, twin_of

DIGITS = DOMAINS["affine-digits"]
ALONE = [name for name in biases() if name != "verified"]


@pytest.mark.parametrize("name", ALONE)
def test_every_bias_makes_a_recipe_that_can_be_trained(name):
    made = recipe(name, DIGITS).trained()
    objective = objectives.make(made["objective"], made["options"])
    assert len(objective.augmentations) == len(made["options"].get("augment", ()))
    assert get_bias(name).about


@pytest.mark.parametrize("name", ALONE)
def test_own_scenarios_are_scenarios(name):
    assert set(own_scenarios(name)) <= set(scenarios())


def test_a_bias_is_one_change_of_its_twin():
    vanilla, noise = recipe("vanilla", DIGITS), recipe("gaussian-noise", DIGITS)
    assert vanilla.trained()["options"] == {"net": "small-cnn"}
    assert noise.trained()["options"] == {"net": "small-cnn", "augment": ["gaussian-noise:sigma=0.5,share=0.5"]}
    assert twin_of("ice") == "bijection"
    assert recipe("ice", DIGITS).trained()["options"] == recipe("bijection", DIGITS).trained()["options"]


def test_names_of_the_same_parts_are_one_name():
    orders = ("vanilla+gaussian-noise+binarised", "binarised+gaussian-noise", "gaussian-noise+vanilla+binarised")
    assert {canonical(name) for name in orders} == {"gaussian-noise+binarised"}
    assert len({str(recipe(name, DIGITS)) for name in orders}) == 1
    assert canonical("verified+gaussian-noise+slow-vae") == "slow-vae+gaussian-noise+verified"
    assert canonical("vanilla") == "vanilla"


def test_data_biases_share_the_batch():
    made = recipe("stylised+ant1x1", DIGITS).trained()
    assert made["options"]["augment"] == ["ant:kernel=1,eps=5,share=0.25", "stylised:share=0.25"]


def test_networks_nest():
    assert recipe("coordinates+binarised", DIGITS).net == "binarised:net=coordconv:net=small-cnn"
    assert recipe("coordinates+binarised", DIGITS).threshold == 0.5


def test_what_is_asked_otherwise_is_compared_with_the_model_asked_plainly():
    assert twin_of("slow-vae+verified") == "slow-vae"
    assert own_scenarios("slow-vae+verified") == ("l2", "confidence")
    assert recipe("slow-vae+verified", DIGITS).trained() == recipe("slow-vae", DIGITS).trained()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("beta-vae+slow-vae", "one representation"),
        ("abs+slow-vae", "another objective"),
        ("ice+binarised", "networks of its own"),
        ("slow-vae+coordinates", "networks of its own"),
        ("coordinates+spatial-transformer", "one network"),
        ("slow-vae+linf-training", "without classes"),
        ("verified", "does not decode"),
        ("noise+noise", "unknown bias 'noise'"),
        ("speckle+speckle", "twice"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(name, reason):
    with pytest.raises(UsageError, match=reason):
        recipe(name, DIGITS)


@pytest.mark.parametrize(("domain", "other"), [("affine-digits", "fashion-mnist"), ("fashion-mnist", "mnist")])
def test_more_data_come_from_a_domain_of_the_same_shape(domain, other):
    assert recipe("more-data", DOMAINS[domain]).start == other  # all of them 28x28x1


@pytest.mark.parametrize("domain", ["sprites32", "rooms3d-32"])
def test_where_no_domain_has_the_shape_more_data_are_refused(domain):
    with pytest.raises(UsageError, match="no other domain of the shape"):
        recipe("more-data", DOMAINS[domain])


def test_a_budget_reaches_the_recipe():
    made = recipe("linf-training", DIGITS, Budget(steps=7, adversary=40)).trained()
    assert made["steps"] == 7
    assert made["options"]["augment"] == ["adversarial:norm=linf,radius=0.3,steps=40,share=1"]
    growing = recipe("linf-training", DIGITS, Budget(steps=100, warmup=0.6)).trained()
    assert growing["options"]["augment"] == ["adversarial:norm=linf,radius=0.3,steps=10,warmup=60,share=1"]


def test_analysis_by_synthesis_may_train_longer_than_the_others():
    budget = Budget(steps=100, drawing=4.0, anneal=0.05)
    drawn = [recipe(name, DIGITS, budget).trained() for name in ("abs", "gaussian-noise+abs-bernoulli", "abs-exact")]
    assert {one["steps"] for one in drawn} == {400}
    assert {one["options"]["anneal_steps"] for one in drawn} == {20}
    assert recipe("slow-vae", DIGITS, budget).trained()["steps"] == 100


def test_what_there_is_can_be_asked_twice():
    # Folders of the package must not be named like its functions: importing them would take their place.
    from unbraid import transfer

    assert transfer.biases() == transfer.biases()
    assert transfer.scenarios() == transfer.scenarios()
