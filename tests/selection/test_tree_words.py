"""What a recursion that found nothing to split says."""

from pathlib import Path

from unbraid.selection.tree import Stop, Tree


def test_a_recursion_that_split_nothing_says_what_that_means_and_what_to_try():
    stops = {1: Stop("explained", "latent 0 of 6 has no peak to cut at")}
    tree = Tree(Path("tree"), {"leaf_runs": 1}, 0, {"name": "digits"}, [], stops)
    told = tree.text()
    assert "no peak to cut at" in told
    assert "Nothing was split" in told
    assert "--generations" in told
