"""A domain that trains in seconds: small sprites, a small network."""

import pytest

from unbraid.transfer import DOMAINS, Domain


@pytest.fixture
def small(monkeypatch):
    domain = Domain("mini-sprites", factor="x", net="mlp:width=64,depth=1")
    monkeypatch.setitem(DOMAINS, "mini-sprites", domain)
    return domain
