"""Numbers are asked anew where what they rest on has changed, and nowhere else."""

import subprocess
import sys

NEWER = """
import unbraid.corruptions
unbraid.corruptions.VERSION += 1
from unbraid.transfer import get_scenario
print(*(get_scenario(name).version for name in ("noise", "confidence", "iid")))
"""


def test_what_is_asked_of_corrupted_images_follows_the_version_of_the_corruptions():
    from unbraid.transfer import get_scenario

    before = [get_scenario(name).version for name in ("noise", "confidence", "iid")]
    found = subprocess.run([sys.executable, "-c", NEWER], check=True, capture_output=True, text=True)
    assert [int(word) for word in found.stdout.split()] == [before[0] + 1, before[1] + 1, before[2]]
