"""What users install is whole: the wheel, in an environment that has nothing but what its metadata asks for."""

import ast
import os
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GUARDED = {
    "ray": "ray",
    "torch.utils.tensorboard": "tensorboard",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "mlflow.entities": "mlflow",
}
"""Modules that are asked for with a remedy, and the extra that brings them."""


def needed(name: str) -> set[str]:
    """A distribution and all that it needs here, by their names."""
    found: set[str] = set()
    left = [name]
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        wanted = map(Requirement, metadata.requires(one) or ())
        left += [ask.name for ask in wanted if ask.marker is None or ask.marker.evaluate({"extra": ""})]
    return found


def declared() -> set[str]:
    """The names in the project's list of dependencies, without those of extras."""
    return {Requirement(one).name for one in PROJECT["dependencies"]}


def test_every_package_that_is_imported_is_a_declared_dependency():
    homes = metadata.packages_distributions()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in map(str, names):
                top = name.split(".")[0]
                if top in sys.stdlib_module_names or top == "unbraid" or name in GUARDED:
                    continue
                assert set(homes[top]) & declared(), f"{path}: {name} comes from no declared dependency"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment outside the tree with links to the declared dependencies and what they need, and the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    quiet = {"check": True, "capture_output": True, "cwd": place}
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", ROOT], **quiet)
    venv.create(place / "venv", with_pip=False, symlinks=True)
    python = place / "venv" / "bin" / "python"
    packages = next((place / "venv" / "lib").glob("python*/site-packages"))
    for name in set().union(*map(needed, declared())):
        found = metadata.distribution(name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(top))))
    (wheel,) = (place / "dist").glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, **quiet)
    return place


def outside(**more: str) -> dict[str, str]:
    """The environment variables of somebody who has never seen the tree."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | more


def test_every_command_of_the_wheel_runs_with_its_declared_dependencies(environment):
    script = environment / "wheel_commands.py"
    for name in (script.name, "released_vae.py"):
        (environment / name).write_text((ROOT / "tests" / name).read_text())
    python, there = environment / "venv" / "bin" / "python", environment / "work"
    there.mkdir()
    done = subprocess.run(
        [python, script],
        cwd=there,
        env=outside(UNBRAID_DATA=str(environment / "data"), MPLBACKEND="agg"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_the_console_script_of_the_wheel_tells_its_version(environment):
    script = environment / "venv" / "bin" / "unbraid"
    told = subprocess.run([script, "--version"], cwd=environment, env=outside(), capture_output=True, text=True)
    assert told.stdout.strip() == f"unbraid {PROJECT['version']}", told.stderr


def test_without_onnx_the_explorer_ends_with_the_remedy_and_writes_nothing(environment):
    blocked = "import sys; sys.modules['onnx'] = None; from unbraid.cli import main; sys.exit(main(sys.argv[1:]))"
    python = environment / "venv" / "bin" / "python"
    (environment / "bare").mkdir(exist_ok=True)
    (environment / "bare" / "run.json").write_text("{}", encoding="utf-8")
    words = ["explore", "bare", "--out", "empty"]
    told = subprocess.run(
        [python, "-c", blocked, *words], cwd=environment, env=outside(), capture_output=True, text=True
    )
    assert told.returncode == 2
    assert "pip install onnx" in told.stderr
    assert not (environment / "empty").exists()
