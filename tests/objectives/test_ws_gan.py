"""The weakly supervised GAN: published sizes, what pairs share, who moves whom."""

import numpy as np
import pytest
import torch

from unbraid.data import load, make_stream
from unbraid.errors import UsageError
from unbraid.nets import WeakGAN
from unbraid.objectives import WSGAN, Inputs, Problem
from unbraid.training import Loop, problem_of

NAMES = tuple("abcde")
PUBLISHED = Problem((64, 64, 1), 1000, factor_sizes=(3,) * 5, factor_names=NAMES)
BATCH_NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)
RULES = pytest.mark.parametrize("rule", ["share", "change", "rank"])


def count(module):
    """Weights but those of batch norms; weight norm keeps the lengths of the vectors that it normalises apart."""
    norms = {id(weight) for part in module.modules() if isinstance(part, BATCH_NORMS) for weight in part.parameters()}
    kept = [weight for name, weight in module.named_parameters() if not name.endswith("original0")]
    return sum(weight.numel() for weight in kept if id(weight) not in norms)


def test_parameter_counts_are_the_published_ones():
    model = WeakGAN(PUBLISHED, latents=5, conditions=5, breadth=2)
    assert count(model.generator) == 248_193
    assert count(model.encoder) == 247_882
    assert count(model.discriminator) == 1_183_360


@RULES
def test_real_pairs_obey_their_rule_and_follow_from_the_seed(rule):
    data = load("mini-sprites")
    stream = make_stream(f"weak-pairs:rule={rule}", data, 64, 3)
    batch = stream(5)
    rows = np.arange(64)
    chosen = batch.labels // 2 if rule == "rank" else batch.labels
    first, second = batch.factors, batch.partner_factors
    differs = first != second
    assert set(chosen) == {0, 1, 2, 3}
    if rule == "share":
        assert not differs[rows, chosen].any()
        assert differs.mean() > 0.5  # of the others most changed
    elif rule == "change":
        differs[rows, chosen] = False
        assert not differs.any()
    else:
        assert differs[rows, chosen].all()
        assert (batch.labels % 2 == (first[rows, chosen] > second[rows, chosen])).all()
    assert (batch.partners == data.images(data.space.index(second))).all()
    again = make_stream(f"weak-pairs:rule={rule}", data, 64, 3)(5)
    assert (again.images == batch.images).all()
    assert (again.labels == batch.labels).all()


@RULES
def test_drawn_pairs_obey_the_same_rule(rule):
    objective = WSGAN(rule=rule, nuisance=2)
    model = objective.build(Problem((16, 16, 1), 9, factor_sizes=(3, 3), factor_names=("x", "y")), torch.Generator())
    chosen = torch.arange(40) % 2
    first, second, condition = objective.latent_pairs(model, chosen, torch.Generator().manual_seed(0))
    same = first == second
    own = torch.nn.functional.one_hot(chosen, 4).bool()
    expected = {"share": own, "change": ~own & torch.tensor([True, True, False, False]), "rank": torch.zeros_like(own)}
    assert torch.equal(same, expected[rule])
    if rule == "rank":
        assert torch.equal(condition, 2 * chosen + (first > second)[own])


def played(dots, objective):
    return Loop(
        objective,
        objective.build(problem_of(dots), torch.Generator().manual_seed(0)),
        make_stream(objective.needs, dots, 8, 0),
        0,
        torch.device("cpu"),
    )


def test_each_player_moves_itself_alone(dots):
    loop = played(dots, WSGAN())
    weights = {name: [p.clone() for p in loop.model.get_submodule(name).parameters()] for name in loop.optimizers}
    for player, terms in loop._played(0):
        loop._update(player, terms.total)
        for name, before in weights.items():
            now = list(loop.model.get_submodule(name).parameters())
            moved = any(not torch.equal(a, b) for a, b in zip(before, now, strict=True))
            assert moved == (name == player)
            weights[name] = [p.clone() for p in now]


def test_the_encoder_never_sees_a_real_image(dots):
    objective = WSGAN()
    loop = played(dots, objective)
    batch = loop.inputs(loop.stream(0))

    def codes(images):
        """The encoder's loss of a step on other real images, before anybody has moved."""
        torch.manual_seed(0)
        given = Inputs(images, images, labels=batch.labels)
        terms = dict(objective.losses(loop.model, given, 0, torch.Generator().manual_seed(1)))
        return terms["encoder"].total.item()

    loop.model.eval()
    assert codes(batch.images) == codes(torch.rand_like(batch.images))


def test_what_it_cannot_do_is_refused():
    with pytest.raises(UsageError, match="rule"):
        WSGAN(rule="guess")
    with pytest.raises(UsageError, match="known factors"):
        WSGAN().build(Problem((16, 16, 1), 9), torch.Generator())
    with pytest.raises(UsageError, match="draws images"):
        WSGAN().build(Problem((4,), 9, factor_sizes=(3,), factor_names=("x",)), torch.Generator())
    with pytest.raises(UsageError, match="full grid"):
        make_stream("weak-pairs", load("mixed-pairs:pairs=10"), 4, 0)


@pytest.mark.slow
def test_two_hundred_steps_on_sprites_stay_finite(tmp_path):
    import unbraid

    run = unbraid.train("ws-gan", load("mini-sprites"), steps=200, out=tmp_path, progress="none", batch_size=16)
    history = run.history()
    assert run.finished
    assert all(np.isfinite(history[name].to_numpy()).all() for name in history.columns)
    assert np.isfinite(run.encode(run.data().images(np.arange(8)))).all()
