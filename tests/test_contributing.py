"""What CONTRIBUTING promises: an objective dropped into its folder is found, tested, and told what is missing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DROPPED = '''"""A VAE with a penalty on the mean codes."""

from dataclasses import dataclass

from unbraid.objectives.base import Terms, register
from unbraid.objectives.vae import BetaVAE

__all__ = ["DroppedVAE"]


@register("dropped-vae")
@dataclass(frozen=True)
class DroppedVAE(BetaVAE):
    """VAE that also pays for the squares of its mean codes."""

    sweep = None
    price: float = 0.1
    """Weight of the mean square of the codes."""

    def penalty(self, posterior, sample, step):
        kl = super().penalty(posterior, sample, step).terms["penalty"]
        return Terms({"penalty": kl + self.price * posterior.mean.square().mean()})
'''
TITLES = '    title, formula = "DroppedVAE", "VAE + {price} · E[μ²]"\n'


@pytest.fixture
def copy(tmp_path) -> Path:
    """The parts of the project that an objective concerns."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignore)
    shutil.copytree(ROOT / "docs" / "objectives", tmp_path / "docs" / "objectives")
    (tmp_path / "tests" / "objectives").mkdir(parents=True)
    for name in ("conftest.py", "dots.py", "objectives/test_objectives_common.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def common_tests(copy: Path) -> tuple[int, str]:
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-k",
        "dropped-vae",
        "tests",
    ]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_an_objective_dropped_into_its_folder_is_found_and_told_what_is_missing(copy):
    file = copy / "src" / "unbraid" / "objectives" / "dropped.py"
    silent = re.sub(r'^    """.*\n', "", DROPPED, flags=re.MULTILINE)
    file.write_text(silent)
    code, said = common_tests(copy)
    assert code == 1
    for missing in (
        "give DroppedVAE a title",
        "give DroppedVAE a docstring and a string under the option 'price'",
        "docs/objectives needs one page with the command `unbraid train dropped-vae",
    ):
        assert missing in said
    assert said.count("FAILED") == 3  # it trains and resumes already
    file.write_text(DROPPED.replace("    sweep", f"{TITLES}    sweep"))
    page = "# DroppedVAE\n\n```sh\nunbraid train dropped-vae --data sprites32 --out runs/dropped\n```\n"
    (copy / "docs" / "objectives" / "dropped-vae.md").write_text(page)
    index = copy / "docs" / "objectives" / "index.md"
    index.write_text(index.read_text() + "\n| [DroppedVAE](dropped-vae.md) | `dropped-vae` |\n")
    code, said = common_tests(copy)
    assert code == 0, said
    assert "passed" in said


def test_no_two_test_files_share_a_name():
    # The folders of tests are no packages: a second file of the same name keeps all of them from being collected.
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
