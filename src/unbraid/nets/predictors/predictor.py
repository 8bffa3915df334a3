"""A predicting network with the problem it was made for."""

from torch import Tensor, nn

from unbraid.problem import Problem

__all__ = ["Predictor"]


class Predictor(nn.Module):
    """A network from images to class scores or factors, and what it may know of the data."""

    def __init__(self, net: nn.Module, problem: Problem) -> None:
        super().__init__()
        self.net, self.problem = net, problem

    def forward(self, images: Tensor) -> Tensor:
        return self.net(images)

    def trunk(self) -> list[str]:
        """The tensors of all layers but the last linear one, which fits the task: what another task can begin from."""
        linear = [name for name, layer in self.named_modules() if isinstance(layer, nn.Linear)]
        return [name for name in self.state_dict() if not linear or not name.startswith(f"{linear[-1]}.")]
