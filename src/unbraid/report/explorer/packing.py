"""How data reaches the page: as scripts, which a browser also loads from a disk, where it fetches nothing."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from unbraid.sharing import sharable

__all__ = ["ASSETS", "asset", "data_script", "packed_script", "page"]

ASSETS = ("explorer.js", "explorer.css", "runtime.js", "LICENCES.txt")
"""Files of the page that are the same for all runs; made by ``make pages``."""


@cache
def asset(name: str) -> bytes:
    """A file of the page."""
    return (resources.files(__package__) / "static" / name).read_bytes()


def page(title: str, kind: str, assets: str) -> bytes:
    """The HTML of a page of a ``kind`` (run, study), with the way from it to the ``assets``."""
    values = {"title": title, "page": kind, "assets": assets}
    return re.sub(r"{{(\w+)}}", lambda found: escape(values[found[1]]), asset("page.html").decode()).encode()


def data_script(name: str, value: Any) -> bytes:
    """A script that gives a JSON value to the page."""
    return f"unbraid({json.dumps(name)}, {json.dumps(_shared(value), allow_nan=False)});\n".encode()


def _shared(value: Any) -> Any:
    """The value with no absolute path in its texts."""
    if isinstance(value, str):
        return sharable(value)
    if isinstance(value, dict):
        return {key: _shared(one) for key, one in value.items()}
    return [_shared(one) for one in value] if isinstance(value, list | tuple) else value


def packed_script(name: str, content: bytes) -> bytes:
    """A script that gives bytes to the page, compressed and as text."""
    text = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f'unbraid({json.dumps(name)}, "{text}");\n'.encode()
