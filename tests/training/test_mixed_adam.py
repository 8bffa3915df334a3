"""The compiled Adam is torch's, and its copies are torch's rounding."""

import pytest
import torch

from unbraid.training.mixed_adam import MixedAdam

SHAPES = [(3, 700, 5), (1,), (2, 1024)]  # below, above and exactly at the size of a block


def weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def adam(parameters, **more):
    return torch.optim.Adam(parameters, lr=1e-2, betas=(0.8, 0.99), eps=1e-6, **more)


def gradients(step):
    generator = torch.Generator().manual_seed(100 + step)
    return [(10.0 ** (step % 5 - 3) * torch.randn(shape, generator=generator)).bfloat16() for shape in SHAPES]


def advance_torch(optimizer, parameters, steps):
    for step in steps:
        for parameter, gradient in zip(parameters, gradients(step), strict=True):
            parameter.grad = gradient.float()
        optimizer.step()


def advance_mixed(mixed, leaves, steps):
    for step in steps:
        mixed.zero_grad()
        assert all(leaf.grad is None for leaf in leaves)
        for leaf, gradient in zip(leaves, gradients(step), strict=True):
            leaf.grad = gradient.to(leaf.dtype)
        mixed.step()


@pytest.mark.parametrize("rounded", [(), (0, 1, 2), (0, 2)], ids=["no copies", "all copies", "some copies"])
def test_the_update_is_that_of_torch(rounded):
    ours, theirs = weights(), weights()
    copies = {ours[k]: ours[k].detach().bfloat16().requires_grad_() for k in rounded}
    optimizer, reference = adam(ours), adam(theirs)
    advance_mixed(MixedAdam(optimizer, copies), [copies.get(weight, weight) for weight in ours], range(40))
    advance_torch(reference, theirs, range(40))
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-6)
        assert optimizer.state[own].keys() == reference.state[other].keys()
        for key, value in reference.state[other].items():
            torch.testing.assert_close(optimizer.state[own][key], value, rtol=1e-5, atol=1e-6)
    for weight, copy in copies.items():
        assert torch.equal(copy, weight.bfloat16())


def test_it_goes_on_from_the_state_of_torch_and_gives_it_back():
    ours, theirs = weights(), weights()
    optimizer, reference = adam(ours), adam(theirs)
    advance_torch(reference, theirs, range(30))
    advance_torch(optimizer, ours, range(10))
    advance_mixed(MixedAdam(optimizer, {}), ours, range(10, 20))
    advance_torch(optimizer, ours, range(20, 30))
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-6)


def test_copies_are_rounded_to_the_nearest_and_ties_to_even():
    # Between 1 and the next bfloat16 1 + 2^-7: below, at and above the middle; the same one further; infinities.
    values = [1 + 2.0**-9, 1 + 2.0**-8, 1 + 3 * 2.0**-9, 1 + 3 * 2.0**-8, -1 - 2.0**-8, float("inf"), -3.4e38, 1e-40]
    weight = torch.nn.Parameter(torch.tensor(values))
    copy = torch.zeros(len(values), dtype=torch.bfloat16, requires_grad=True)
    copy.grad = torch.zeros_like(copy)
    MixedAdam(adam([weight]), {weight: copy}).step()
    assert torch.equal(weight, torch.tensor(values))  # no gradient, no change
    assert torch.equal(copy, torch.tensor(values).bfloat16())
    assert copy[:4].tolist() == [1, 1, 1 + 2.0**-7, 1 + 2.0**-6]


def test_a_gradient_in_another_memory_order_is_read_in_its_own():
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    weight.grad = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]]).T
    MixedAdam(adam([weight]), {}).step()
    assert weight.sign().tolist() == [[-1, 0, 0], [0, 0, 1]]
