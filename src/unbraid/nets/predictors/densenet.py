"""Densely connected networks (Huang et al., 2017), with the names of torchvision's weights."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UsageError
from unbraid.nets.layers import BatchNorm
from unbraid.nets.predictors.coordinates import need_image
from unbraid.nets.predictors.registry import register
from unbraid.nets.state_dicts import read_state_dict

__all__ = ["DenseNet", "densenet_121", "load_densenet"]


class DenseLayer(nn.Module):
    """A few new channels, computed from all before them through a narrow layer."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = BatchNorm(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = BatchNorm(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))
        return torch.cat([x, new], dim=1)


class Transition(nn.Module):
    """Half as many channels and, as long as there is something to halve, half as many rows and columns."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.norm, self.conv = BatchNorm(inputs), nn.Conv2d(inputs, inputs // 2, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(F.relu(self.norm(x)))
        return F.avg_pool2d(y, 2) if min(y.shape[-2:]) > 1 else y


class DenseNet(nn.Module):
    """Dense blocks with transitions between them, and a linear layer on the mean over the image."""

    def __init__(self, blocks: Sequence[int], growth: int, width: int, outputs: int) -> None:
        super().__init__()
        features: OrderedDict[str, nn.Module] = OrderedDict(
            conv0=nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False),
            norm0=BatchNorm(width),
            relu0=nn.ReLU(),
            pool0=nn.MaxPool2d(3, stride=2, padding=1),
        )
        for k, count in enumerate(blocks, start=1):
            layers = ((f"denselayer{i + 1}", DenseLayer(width + i * growth, growth)) for i in range(count))
            features[f"denseblock{k}"] = nn.Sequential(OrderedDict(layers))
            width += count * growth
            if k < len(blocks):
                features[f"transition{k}"] = Transition(width)
                width //= 2
        features["norm5"] = BatchNorm(width)
        self.features = nn.Sequential(features)
        self.classifier = nn.Linear(width, outputs)

    def forward(self, images: Tensor) -> Tensor:
        x = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
        return self.classifier(F.relu(self.features(x)).mean(dim=(2, 3)))


@register("densenet-121")
def densenet_121(
    shape: tuple[int, ...],
    outputs: int,
    *,
    blocks: Sequence[int] = (6, 12, 24, 16),
    growth: int = 32,
    width: int = 64,
    weights: str = "",
) -> nn.Module:
    """DenseNet-121; ``weights=FILE`` starts from a state dict (.safetensors, or .pth read without executing anything).

    The last layer is always new. Other ``blocks``, ``growth`` and ``width`` make smaller relatives of it.
    """
    if need_image("densenet-121", shape, 8)[2] not in (1, 3):
        raise UsageError(f"predictor 'densenet-121' takes images of one or three channels, got {shape[2]}")
    counts = [blocks] if isinstance(blocks, int) else list(blocks)
    if not counts or min(*counts, growth, width) < 1:
        raise UsageError(f"blocks, growth and width must be at least 1, got {counts}, {growth} and {width}")
    net = DenseNet(counts, growth, width, outputs)
    if weights:
        load_densenet(net, weights)
    return net


def load_densenet(net: DenseNet, path: str | Path) -> None:
    """Copy the weights of a state dict with torchvision's names, old or new, into a network, but for its last layer."""
    found = read_state_dict(Path(path))
    # The first releases wrote norm.1 for norm1.
    renamed = {
        name.replace("norm.", "norm").replace("conv.", "conv") if "denselayer" in name else name: tensor
        for name, tensor in found.items()
    }
    wanted = {name: tensor for name, tensor in net.state_dict().items() if not name.startswith("classifier.")}
    for name, tensor in wanted.items():
        if name not in renamed:
            if name.endswith("num_batches_tracked"):
                renamed[name] = tensor
                continue
            raise UsageError(f"weights {str(path)!r} hold no {name!r}: not of this network")
        if renamed[name].shape != tensor.shape or not torch.isfinite(renamed[name].float()).all():
            raise UsageError(
                f"weights {str(path)!r}: {name!r} must be finite numbers of shape {list(tensor.shape)}, "
                f"got {list(renamed[name].shape)}"
            )
    net.load_state_dict({name: renamed[name] for name in wanted}, strict=False)
