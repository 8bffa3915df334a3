import pytest
from toy_groups import run, study


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """A group that was run, in a folder of its own."""
    out = tmp_path_factory.mktemp("first")
    run(study("first"), out)
    return out
