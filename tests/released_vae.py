"""A network in the layout of Dubois's released VAEs, for tests of what reads them."""

import torch
from torch import nn


class Released(nn.Module):
    """The layout of the release, by its names: four convolutions at 64x64, mean and log variance side by side."""

    def __init__(self, size, channels=1, latents=10):
        super().__init__()
        more, strided = size == 64, {"stride": 2, "padding": 1}
        self.latents, self.more = latents, more
        encoder = {f"conv{i}": nn.Conv2d(channels if i == 1 else 32, 32, 4, **strided) for i in (1, 2, 3)}
        encoder |= {"conv_64": nn.Conv2d(32, 32, 4, **strided)} if more else {}
        encoder |= {"lin1": nn.Linear(512, 256), "lin2": nn.Linear(256, 256)}
        encoder |= {"mu_logvar_gen": nn.Linear(256, 2 * latents)}
        decoder = {"lin1": nn.Linear(latents, 256), "lin2": nn.Linear(256, 256), "lin3": nn.Linear(256, 512)}
        decoder |= {"convT_64": nn.ConvTranspose2d(32, 32, 4, **strided)} if more else {}
        decoder |= {f"convT{i}": nn.ConvTranspose2d(32, channels if i == 3 else 32, 4, **strided) for i in (1, 2, 3)}
        self.encoder, self.decoder = nn.ModuleDict(encoder), nn.ModuleDict(decoder)

    def encode(self, images):
        x = images
        for name in ("conv1", "conv2", "conv3", *(("conv_64",) if self.more else ())):
            x = self.encoder[name](x).relu()
        x = self.encoder["lin2"](self.encoder["lin1"](x.flatten(1)).relu()).relu()
        return self.encoder["mu_logvar_gen"](x).view(-1, self.latents, 2).unbind(-1)

    def decode(self, codes):
        x = codes
        for name in ("lin1", "lin2", "lin3"):
            x = self.decoder[name](x).relu()
        x = x.view(-1, 32, 4, 4)
        for name in (*(("convT_64",) if self.more else ()), "convT1", "convT2"):
            x = self.decoder[name](x).relu()
        return self.decoder["convT3"](x).sigmoid()


def released(folder, *args, **extra):
    torch.manual_seed(0)
    net = Released(*args)
    torch.save({**net.state_dict(), **extra}, folder / "model.pt")
    return net
