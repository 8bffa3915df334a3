"""Batches drawn from tensors that are held in memory."""

import torch

from unbraid.training import MemoryStream

IMAGES = torch.arange(50, dtype=torch.float32).reshape(50, 1, 1, 1)


def test_a_batch_follows_from_seed_and_step_alone():
    forward, backward = MemoryStream(IMAGES, 8, 3), MemoryStream(IMAGES, 8, 3)
    steps = [0, 1, 255, 256, 700]
    found = {step: forward(step).images for step in steps}
    assert all(backward(step).images.equal(found[step]) for step in reversed(steps))
    assert len({tuple(batch.flatten().tolist()) for batch in found.values()}) == len(steps)
    assert not MemoryStream(IMAGES, 8, 4)(0).images.equal(found[0])


def test_draws_are_uniform_and_partners_go_with_their_images():
    stream = MemoryStream(IMAGES, 200, 0, partners=IMAGES + 100)
    batches = [stream(step) for step in range(100)]
    assert all(batch.partners.equal(batch.images + 100) for batch in batches)
    counts = torch.cat([batch.images.flatten() for batch in batches]).long().bincount(minlength=50)
    # 20000 draws from 50: each about 400, with a standard deviation of 19.8.
    assert (counts - 400).abs().max() < 5 * 19.8


def test_size_0_takes_everything_in_order():
    assert MemoryStream(IMAGES, 0, 0)(7).images is IMAGES
