"""Threads, devices, precision and the way of images to the device."""

import numpy as np
import pytest
import torch

from unbraid import nets
from unbraid.errors import UsageError
from unbraid.nets import stride2
from unbraid.training import numerics

CPU = torch.device("cpu")


def test_setup_can_be_called_again_and_sets_the_threads():
    before = torch.get_num_threads()
    for _ in range(2):
        numerics.setup(threads=1)
        assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    with pytest.raises(UsageError, match="at least 1"):
        numerics.setup(threads=0)


def test_images_become_floats_between_0_and_1_and_come_back_unchanged():
    images = np.random.default_rng(0).integers(256, size=(3, 4, 5, 3), dtype=np.uint8)
    tensor = numerics.to_tensor(images)
    assert tensor.shape == (3, 3, 4, 5)
    assert tensor.dtype == torch.float32
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    assert tensor[1, 2, 3, 4].item() == pytest.approx(images[1, 3, 4, 2] / 255)
    np.testing.assert_array_equal(numerics.to_array(tensor), images)


def test_black_and_white_are_exact_and_the_input_is_left_alone():
    images = np.array([0, 255], dtype=np.uint8).reshape(1, 1, 2, 1)
    images.flags.writeable = False
    assert numerics.to_tensor(images).flatten().tolist() == [0.0, 1.0]
    assert images.flatten().tolist() == [0, 255]


def test_images_of_another_kind_are_refused():
    for wrong in (np.zeros((2, 4, 4, 1)), np.zeros((4, 4, 1), dtype=np.uint8)):
        with pytest.raises(UsageError, match="uint8"):
            numerics.to_tensor(wrong)


def test_devices_by_name():
    assert numerics.device("cpu") == CPU
    assert numerics.device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(UsageError, match="did you mean 'cuda'"):
        numerics.device("cud")
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="not available"):
            numerics.device("cuda:0")


def test_automatic_precision_is_bfloat16_only_where_the_cpu_has_it():
    assert numerics.precision(CPU) is (torch.bfloat16 if numerics.native_bf16() else torch.float32)
    assert numerics.precision(CPU, "fp32") is torch.float32
    assert numerics.precision(torch.device("mps")) is torch.float32
    with pytest.raises(UsageError, match="precision"):
        numerics.precision(CPU, "fp16")


@pytest.mark.parametrize("name", ["bf16", "fp32"])
def test_autocast_turns_on_fast_kernels_in_the_given_precision(name):
    encoder, decoder = nets.build("conv", (16, 16, 1), 2)
    images = torch.rand(2, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    exact = decoder(encoder(images)[:, :2])
    with numerics.autocast(CPU, name):
        assert stride2.use_fast_kernels(images)
        output = decoder(encoder(images)[:, :2])
        assert nets.likelihood("bernoulli").nll(output, images).dtype == torch.float32
    assert output.dtype == (torch.bfloat16 if name == "bf16" else torch.float32)
    torch.testing.assert_close(output.float(), exact, rtol=0.05, atol=0.02 if name == "bf16" else 1e-5)
    assert not stride2.use_fast_kernels(images)
