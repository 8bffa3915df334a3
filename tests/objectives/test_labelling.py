"""Labellers, losses of labels and the methods that learn from few."""

import numpy as np
import pytest
import torch

import unbraid
from unbraid.data import FewLabelsStream
from unbraid.errors import UsageError
from unbraid.labelling import Labels
from unbraid.objectives import (
    Inputs,
    Problem,
    S2BetaVAE,
    S2FactorVAE,
    S2Supervised,
    label_loss,
    label_reader,
    make,
)

SMALL = {"net": "mlp:width=32", "latents": 3, "labels": 50}


@pytest.mark.parametrize(
    ("size", "counts"),
    [(6, [2, 1, 1, 1, 1]), (32, [7, 6, 7, 6, 6]), (183, [37, 37, 36, 37, 36]), (5, [1] * 5), (3, [1] * 3)],
)
def test_bins_hold_so_many_values(size, counts):
    # min(floor(v / (size / 5)), 4); 6 values become 0 0 1 2 3 4.
    labels = Labels("binned:bins=5", (size,))
    found = labels.of(np.arange(size)[:, None]).ravel()
    assert np.bincount(found).tolist() == counts
    assert labels.sizes == (min(size, 5),)


@pytest.mark.parametrize(("size", "changed"), [(3, 0.0667), (6, 0.0833), (40, 0.0975)])
def test_noisy_labels_are_wrong_as_often_as_redrawing_says(size, changed):
    # p (1 - 1/s) with p = .1.
    factors = np.random.default_rng(0).integers(size, size=(200_000, 1))
    found = Labels("noisy:p=0.1", (size,), 3).of(factors)
    assert (found != factors).mean() == pytest.approx(changed, abs=0.0025)
    assert (Labels("noisy:p=0.1", (size,), 3).of(factors) == found).all()


def test_permuted_labels_are_another_numbering_and_partial_ones_some_of_the_factors():
    factors = np.random.default_rng(0).integers((4, 7), size=(500, 2))
    found = Labels("permuted", (4, 7), 1).of(factors)
    for k, size in enumerate((4, 7)):
        assert sorted(np.bincount(found[:, k])) == sorted(np.bincount(factors[:, k]))
        assert len({(a, b) for a, b in zip(factors[:, k], found[:, k], strict=True)}) == size
    some = Labels("partial:factors=2", (4, 7, 5, 3), 5)
    wide = np.random.default_rng(0).integers((4, 7, 5, 3), size=(20, 4))
    np.testing.assert_array_equal(some.of(wide), wide[:, list(some.columns)])
    assert len(set(some.columns)) == 2
    assert some.sizes == tuple((4, 7, 5, 3)[k] for k in some.columns)
    assert len({Labels("partial:factors=2", (4, 7, 5, 3), seed).columns for seed in range(30)}) > 6  # of twelve


def test_labellers_that_are_none_are_refused():
    for text, words in (
        ("nosy", "did you mean 'noisy'"),
        ("noisy:q=1", "unknown option of labeller"),
        ("noisy:p=2", "must lie in"),
        ("binned:bins=1", "from 2 on"),
        ("partial:factors=3", r"1\.\.2"),
    ):
        with pytest.raises(UsageError, match=words):
            Labels(text, (4, 7))


def test_the_stream_hands_out_what_the_labeller_says(dots):
    stream = FewLabelsStream(dots, 64, 0, labels=40, labeller="noisy:p=0.5")
    exact = FewLabelsStream(dots, 64, 0, labels=40)
    assert (stream.labelled == exact.labelled).all()
    assert (stream(3).partners == exact(3).partners).all()
    wrong = stream(3).partner_factors != exact(3).partner_factors
    assert 0.2 < wrong.mean() < 0.7
    assert (
        stream(3).partner_factors == FewLabelsStream(dots, 64, 0, labels=40, labeller="noisy:p=0.5")(3).partner_factors
    ).all()


def test_losses_in_closed_form():
    mean, factors = torch.zeros(7, 3), torch.randint(0, 4, (7, 2))
    sizes = torch.tensor([4, 4])
    # sigmoid(0) = 1/2: n K ln 2 whatever the labels.
    assert float(label_loss(mean, factors, sizes)) == pytest.approx(14 * np.log(2), rel=1e-6)
    # Targets of l2 are y / s; a mean whose sigmoid is that has none left.
    target = torch.tensor([[1.0, 2.0]])
    assert float(label_loss(torch.logit(target / sizes), target, sizes, "l2")) == pytest.approx(0, abs=1e-12)
    # (00, 10, 01, 11) against swapped labels: both off-diagonal covariances are 1/4, squared and added 1/8.
    codes = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert float(label_loss(codes, codes.flip(1), torch.tensor([2, 2]), "cov")) == pytest.approx(0.125)
    assert float(label_loss(codes, codes, torch.tensor([2, 2]), "cov")) == pytest.approx(0)


@pytest.mark.parametrize(("size", "floor"), [(2, 0.346574), (3, 0.424343), (6, 0.477883), (40, 0.499305)])
def test_the_floor_of_the_cross_entropy_is_the_entropy_of_its_targets(size, floor):
    values = torch.arange(size, dtype=torch.float64)[:, None]
    best = torch.logit((values / size).clamp(1e-12, 1))
    found = label_loss(best, values, torch.tensor([size], dtype=torch.float64)) / size
    assert float(found) == pytest.approx(floor, abs=1e-6)


def test_places_of_values_are_told_by_a_cross_entropy():
    # e = (0, 1), sigma 1, mu = e_y: logits 0 and -1, so -log(1 / (1 + 1/e)) = ln(1 + 1/e), whatever y is.
    reader = label_reader("embed", (2,))
    with torch.no_grad():
        reader.free.copy_(torch.tensor([0.0, 1.0]))
    labels = torch.tensor([[0], [1], [1]])
    found = label_loss(labels.float(), labels, torch.tensor([2]), "embed", reader)
    assert float(found.detach()) == pytest.approx(np.log(1 + np.exp(-1)), rel=1e-6)
    assert float(found.detach()) == pytest.approx(0.313262, abs=1e-6)
    # Twice the sigma: ln(1 + e^-4). Two labels: twice the loss; thrice the batch: the same.
    sharp = label_reader("embed:even=true,sigma=2.0", (2, 2))
    with torch.no_grad():
        sharp.slope.fill_(1), sharp.bias.fill_(0)
    doubled = label_loss(labels.float().expand(3, 2), labels.expand(3, 2), torch.tensor([2, 2]), "embed", sharp)
    assert float(doubled.detach()) == pytest.approx(2 * np.log(1 + np.exp(-4)), rel=1e-5)


@pytest.mark.parametrize("kind", ["embed", "embed:even=true"])
def test_places_begin_evenly_and_learn_what_they_may(kind):
    reader = label_reader(f"{kind},learned=true" if ":" in kind else f"{kind}:learned=true", (3, 1, 2))
    for found, wanted in zip(reader.places(), ([-1, 0, 1], [0], [-1, 1]), strict=True):
        assert found.tolist() == wanted
    codes, labels = torch.tensor([[0.3, 2.0, -0.1, 7.0]]), torch.tensor([[2, 0, 0]])
    label_loss(codes, labels, torch.tensor([3, 1, 2]), kind, reader).backward()
    # Six places, or three slopes and three biases, and sigma. A label of one value cannot be missed and teaches none.
    assert [name for name, _ in reader.named_parameters()].count("sigma") == 1
    assert sum(p.numel() for p in reader.parameters()) == 7
    moved = {name: p.grad.count_nonzero() for name, p in reader.named_parameters()}
    assert moved == ({"free": 5, "sigma": 1} if kind == "embed" else {"slope": 2, "bias": 2, "sigma": 1})
    assert "sigma" not in dict(label_reader(kind, (3, 1, 2)).named_parameters())


def test_a_learned_scale_begins_at_one_and_can_meet_labels_exactly():
    reader, labels = label_reader("l2:learned=true", (4, 4)), torch.tensor([[3, 1], [0, 2]])
    assert float(label_loss(labels.float(), labels, torch.tensor([4, 4]), "l2", reader).detach()) == 0
    with torch.no_grad():
        reader.scale.fill_(0.5)
    assert float(label_loss(labels / 0.5, labels, torch.tensor([4, 4]), "l2", reader).detach()) == 0
    # (1/2 * 3 - 3)^2 + (1/2 - 1)^2 + 0 + (1 - 2)^2.
    missed = label_loss(labels.float(), labels, torch.tensor([4, 4]), "l2", reader)
    assert float(missed.detach()) == pytest.approx(2.25 + 0.25 + 0 + 1)


@pytest.mark.parametrize("kind", ["embed:learned=true", "embed:even=true", "l2:learned=true"])
def test_what_a_loss_learns_is_trained_kept_and_found_again(kind, dots, tmp_path):
    objective = S2FactorVAE(**SMALL, label_loss=kind, learning_rate=1e-2, discriminator_width=16)
    options = {"progress": "none", "batch_size": 16}
    whole = unbraid.train(objective, dots, out=tmp_path / "whole", steps=6, **options)
    unbraid.train(objective, dots, out=tmp_path / "parts", steps=3, **options)
    unbraid.train(objective, dots, out=tmp_path / "parts", steps=6, **options)
    saved = [(tmp_path / part / "checkpoint.safetensors").read_bytes() for part in ("whole", "parts")]
    assert saved[0] == saved[1]
    start = label_reader(kind, (12, 12)).state_dict()
    learned = unbraid.open_run(tmp_path / "whole").model.get_submodule("label_reader").state_dict()
    assert learned.keys() == start.keys()
    assert all(not torch.equal(learned[name], start[name]) for name in start)
    assert whole.finished


def test_losses_that_are_none_are_refused():
    for kind, words in (
        ("l3", "unknown label_loss 'l3'"),
        ("xent:learned=true", "unknown option of label loss 'xent'"),
        ("embed:sigma=0.0", "sigma of label loss 'embed' must be a positive number, got 0.0"),
        ("embed:evn=true", "did you mean 'even'"),
    ):
        with pytest.raises(UsageError, match=words):
            S2BetaVAE(label_loss=kind)
    with pytest.raises(UsageError, match="needs places of the values"):
        label_loss(torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([2]), "embed")


def test_schedules_begin_and_end_where_they_say():
    tuned = S2BetaVAE(schedule="fine-tune", label_steps=10, gamma_sup=7.0)
    assert [tuned.label_weight(step) for step in (0, 10, 11)] == [0, 0, 7]
    rising = S2BetaVAE(schedule="anneal", label_steps=10, gamma_sup=7.0)
    assert [rising.label_weight(step) for step in (0, 5, 10, 20)] == [0, 3.5, 7, 7]
    assert S2BetaVAE(gamma_sup=7.0).label_weight(0) == 7
    for wrong in ({"schedule": "anneal"}, {"schedule": "sudden"}, {"label_loss": "l3"}):
        with pytest.raises(UsageError):
            S2BetaVAE(**wrong)
    with pytest.raises(UsageError, match="second_batch"):
        S2FactorVAE(second_batch=True)


@pytest.mark.parametrize("name", ["beta-vae", "beta-tcvae", "factor-vae", "dip-vae-i", "dip-vae-ii"])
def test_labels_of_no_weight_change_nothing(name, dots, tmp_path):
    options = {"steps": 3, "progress": "none", "batch_size": 8}
    shared = {"net": "mlp:width=32", "latents": 3}
    shared |= {"discriminator_width": 16, "discriminator_depth": 2} if name == "factor-vae" else {}
    labelled = make(f"s2-{name}", {**shared, "gamma_sup": 0.0, "labels": 50})
    with_labels = unbraid.train(labelled, dots, out=tmp_path / "a", **options)
    without = unbraid.train(make(name, shared), dots, out=tmp_path / "b", **options)
    left, right = (run.model.state_dict() for run in (with_labels, without))
    assert all(torch.equal(left[name], right[name]) for name in right)


def test_the_supervised_baseline_learns_its_codes_from_labels_alone(dots):
    objective = S2Supervised(**SMALL)
    model = objective.build(Problem((16, 16, 1), 144, factor_sizes=(12, 12)), torch.Generator().manual_seed(0))
    batch = FewLabelsStream(dots, 8, 0, labels=50)(0)

    def floats(images):
        return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255

    labels = torch.from_numpy(batch.partner_factors)
    inputs = Inputs(floats(batch.images), partners=floats(batch.partners), partner_factors=labels)
    found = objective.loss(model, inputs, 0, torch.Generator().manual_seed(0))
    found.terms["reconstruction"].backward(retain_graph=True)
    assert all(p.grad is None or not p.grad.any() for p in model.encoder.parameters())
    assert any(p.grad is not None and p.grad.any() for p in model.decoder.parameters())
    found.terms["supervised"].backward()
    assert any(p.grad is not None and p.grad.any() for p in model.encoder.parameters())


def test_a_loss_that_is_not_the_one_asked_for_is_refused():
    mean, factors, sizes = torch.zeros(4, 2), torch.zeros(4, 2), torch.tensor([3.0, 4.0])
    for kind, words in (
        ("l2:learned=true", r"needs its learned scale: reader=label_reader\('l2:learned=true', sizes\)"),
        ("embed", "needs places"),
        ("xnet", "label_loss.*'xnet'"),
        ("l2:learnt=true", "learnt"),
    ):
        with pytest.raises(UsageError, match=words):
            label_loss(mean, factors, sizes, kind)
    reader = label_reader("l2:learned=true", (3, 4))
    assert label_loss(mean, factors, sizes, "l2:learned=true", reader) == 0  # b 0 - 0, where the other has sigmoid(0)
    assert label_loss(mean, factors, sizes, "l2:learned=false") == 2
