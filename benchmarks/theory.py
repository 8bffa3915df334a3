"""What watching the polarised regime costs a training.

    python benchmarks/theory.py                                # beta-vae on sprites32 with the usual networks
    python benchmarks/theory.py --net mlp:width=64 --rounds 9

Blocks of steps and single looks take turns in one process, on the same model, so that a busy machine slows both alike;
the time is CPU time of the process.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from unbraid.data import load, make_stream
from unbraid.objectives import BetaVAE, Problem
from unbraid.theory import polarisation_hook
from unbraid.training import Loop, numerics
from unbraid.training.loop import run_hooks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="sprites32")
    parser.add_argument("--net", default="conv")
    parser.add_argument("--every", type=int, default=500, help="steps between two looks")
    parser.add_argument("--block", type=int, default=20, help="steps timed together")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()

    numerics.setup()
    data = load(options.data)
    objective = BetaVAE(net=options.net)
    model = objective.build(Problem(data.shape, len(data)), torch.Generator().manual_seed(0))
    loop = Loop(objective, model, make_stream("images", data, 64, 0), 0, torch.device("cpu"))
    hook = polarisation_hook(data, every=1)

    def steps() -> None:
        for _ in range(options.block):
            loop.advance()

    def look() -> None:
        run_hooks([hook], loop)

    def seconds(call: Callable[[], None]) -> float:
        begin = time.process_time()
        call()
        return time.process_time() - begin

    steps()
    look()
    block, single = np.median([(seconds(steps), seconds(look)) for _ in range(options.rounds)], axis=0)
    step = block / options.block
    print(f"{options.data}, {options.net}: a step {1000 * step:.2f} ms, a look {1000 * single:.1f} ms of CPU")
    print(f"a look every {options.every} steps adds {single / (options.every * step):.2%} to the training")


if __name__ == "__main__":
    main()
