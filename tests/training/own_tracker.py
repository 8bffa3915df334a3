"""A tracker of one's own: a line of JSON per call, in a file that the environment names; it may break at a step."""

import json
import os
from pathlib import Path

from unbraid.training.tracking import Tracker


class Lines(Tracker):
    def start(self, folder, record, before):
        self.write("start", folder.name, record["seed"], before)
        return before or "id-7"

    def log(self, step, scalars):
        if step >= int(os.environ.get("BREAKS_AT", 1 << 30)):
            raise ConnectionError("no line")
        self.write("log", step, dict(scalars))

    def picture(self, name, file):
        self.write("picture", name, file.name)

    def scores(self, table, step):
        self.write("scores", list(table), step)

    def finish(self, status):
        self.write("finish", status)

    def write(self, *call):
        with Path(os.environ["TOLD"]).open("a") as file:
            file.write(json.dumps(call) + "\n")


class Raises:
    def start(self, *_):
        raise RuntimeError("always")

    log = picture = scores = finish = start


class Half:
    def start(self, *_): ...
