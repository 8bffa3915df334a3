"""Build the pages anew and compare them with those shipped in the package; ends with exit code 1 if they differ."""

import base64
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "src/unbraid/report/explorer/static"


def contents(folder: Path) -> dict[str, bytes]:
    """Files by name; the runtime is unpacked, since how it was compressed depends on the version of Node."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    if "runtime.js" in files:
        files["runtime.js"] = gzip.decompress(base64.b64decode(files["runtime.js"].split(b'"')[3]))
    return files


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npx", "tsc", "--noEmit"], cwd=HERE, check=True)
        build = ["npx", "vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", folder]
        subprocess.run(build, cwd=HERE, check=True)
        built, shipped = contents(Path(folder)), contents(SHIPPED)
    stale = sorted(name for name in built.keys() | shipped.keys() if built.get(name) != shipped.get(name))
    if stale:
        print(f"{SHIPPED} is stale ({', '.join(stale)}): run `make pages` and commit what it makes", file=sys.stderr)
        return 1
    print("the shipped pages are those that the sources give")
    return 0


if __name__ == "__main__":
    sys.exit(main())
