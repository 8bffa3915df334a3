"""An encoder and a decoder as one module."""

from torch import nn

from unbraid.problem import Problem

__all__ = ["Autoencoder"]


class Autoencoder(nn.Module):
    """An encoder, a decoder, and the problem they were made for.

    A method that trains a further network adds it with ``add_module`` and finds it with ``get_submodule``. Calling the
    model is left to objectives: what happens between encoder and decoder is what they differ in.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, problem: Problem) -> None:
        super().__init__()
        self.encoder, self.decoder, self.problem = encoder, decoder, problem
