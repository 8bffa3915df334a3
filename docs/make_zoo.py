"""Train the runs of the zoo again, by the commands of its catalogue: ``python docs/make_zoo.py [NAME ...]``.

Archives and catalogue are written anew with what the runs score. A run whose weights are no longer those of its
archive is told of: on another machine, or after a change of how it is trained, that is to be expected. The commands
name precision and threads, which decide the weights, too.
``--runs FOLDER`` takes runs that are there already (the commands go on with them).
"""

import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path

import unbraid.metrics
from unbraid.cli.app import main as unbraid_command
from unbraid.files import write_json
from unbraid.training import CHECKPOINT, open_run
from unbraid.training.zoo import entries, entry, fetch_run, pack_run

HOME = Path(unbraid.__file__).parent / "training" / "zoo"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(entries()))
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "unbraid-zoo")
    given = parser.parse_args()
    for name in given.names:
        made(name, given.runs / name)
    return 0


def made(name: str, folder: Path) -> None:
    """Train a run, score it and put both into the catalogue."""
    found = entry(name)
    words = shlex.split(found.command)
    words[words.index("--out") + 1] = str(folder)
    if unbraid_command(words[1:]):
        sys.exit(f"{found.command} failed")
    run = open_run(folder)
    scores = unbraid.metrics.evaluate(run, run.data(), preset=found.scores["preset"], seed=found.scores["seed"])
    path = HOME / "archives" / f"{name}.zip"
    before = (fetch_run(name) / CHECKPOINT).read_bytes() if path.exists() else b""
    catalogue = json.loads((HOME / "catalogue.json").read_text(encoding="utf-8"))
    record = catalogue["runs"][name]
    record["scores"]["values"] = {key: float(score) for key, score in scores.items()}
    record["sha256"] = pack_run(run, path, found.command)
    record["size"] = path.stat().st_size
    write_json(HOME / "catalogue.json", catalogue)
    after = (fetch_run(name) / CHECKPOINT).read_bytes()
    print(
        f"{name}: {record['size']:,} bytes,", "new" if not before else "same" if before == after else "other", "weights"
    )


if __name__ == "__main__":
    sys.exit(main())
