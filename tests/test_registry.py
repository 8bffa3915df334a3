import sys

import pytest

from unbraid.errors import UsageError
from unbraid.registry import Registry, import_modules


def test_a_taken_name_is_refused_and_the_owner_named():
    shapes: Registry = Registry("shape")

    @shapes.register("disc")
    def disc(): ...

    with pytest.raises(UsageError, match=r"there is a shape 'disc' already \(.*disc\); give yours another name"):

        @shapes.register("Disc")
        def other(): ...


def test_what_is_defined_again_takes_the_place_of_the_earlier_one():
    shapes: Registry = Registry("shape")

    def make(size):
        @shapes.register("disc")
        def disc():
            return size

    make(1)
    make(2)
    assert shapes["disc"]() == 2
    assert len(shapes) == 1


def test_an_unknown_name_gets_the_nearest_one():
    shapes: Registry = Registry("shape", hint="See the list")
    shapes.add("disc", object())
    with pytest.raises(UsageError, match=r"unknown shape 'disk'; did you mean 'disc'.*See the list"):
        shapes["disk"]
    assert shapes.get("disk") is None


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a,b", "a=b", "a/b", None])
def test_a_name_must_be_a_word_the_command_line_can_hold(name):
    with pytest.raises(UsageError, match="name of a shape"):
        Registry("shape").add(name, object())


def test_names_come_in_order_of_arrival_after_those_that_are_first():
    shapes: Registry = Registry("shape", first=("square", "disc"))
    for name in ("star", "disc", "cross", "square"):
        shapes.add(name, object())
    assert list(shapes) == ["square", "disc", "star", "cross"]
    assert shapes.names() == ["cross", "disc", "square", "star"]


def test_a_file_dropped_into_a_package_is_imported_unless_it_is_a_helper(tmp_path, monkeypatch):
    package = tmp_path / "dropped_shapes"
    package.mkdir()
    (package / "__init__.py").write_text("found = []")
    for name in ("disc", "_helper"):
        (package / f"{name}.py").write_text(f"from dropped_shapes import found\nfound.append({name!r})")
    monkeypatch.syspath_prepend(tmp_path)
    import_modules("dropped_shapes")
    assert sys.modules["dropped_shapes"].found == ["disc"]
