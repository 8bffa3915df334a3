"""Files are written in one place and read in one place, so that what is checked there is checked everywhere."""

import ast
from collections.abc import Iterator
from pathlib import Path

import unbraid

ROOT = Path(unbraid.__file__).parent

WRITERS = {"savefig", "write_text", "write_bytes", "touch", "mkdir", "makedirs", "fromfile", "tofile"}
"""Methods that write to a path, or make a folder there."""
TABLES = {"write_csv", "write_parquet", "save", "savez", "savez_compressed"}
"""Those that may write to a temporary name, a buffer or an open file."""
HERE = {
    "files.py": "the one place",
    "cli/selftest.py": "half files, written on purpose into a folder of its own",
    "data/files/store.py": "gigabytes under a lock: a temporary name of its own, made anew",
}


def writes(source: str) -> Iterator[tuple[int, str]]:
    """Line and words of every call that writes straight to a path."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        method = isinstance(node.func, ast.Attribute)
        target = ast.unparse(node.args[0]) if node.args else ""
        if (method and name in WRITERS) or (method and name in TABLES and ("path" in target or "/" in target)):
            yield node.lineno, ast.unparse(node)
        elif name == "open":
            modes = [*node.args, *(word.value for word in node.keywords)]
            text = [arg.value for arg in modes if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            owner = ast.unparse(node.func)
            if (
                any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in text)
                and "temporary" not in owner
            ):
                yield node.lineno, ast.unparse(node)


def test_files_are_written_in_one_place():
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        if str(file.relative_to(ROOT)) not in HERE:
            found = writes(file.read_text())
            wrong += [f"{file.relative_to(ROOT)}:{line} {words}; use unbraid.files" for line, words in found]
    assert not wrong, "\n".join(wrong)


def test_writing_elsewhere_would_be_seen():
    lines = [
        'path.write_text("a")',
        "figure.savefig(path)",
        "table.write_csv(folder / name)",
        'path.open("w")',
        'open(path, mode="ab")',
        "folder.mkdir(exist_ok=True)",
    ]
    assert len(list(writes("\n".join(lines)))) == 6
    fine = [
        'path.open("rb")',
        "path.open()",
        "session.save(status)",
        "with replace(p) as temporary:\n  t.write_csv(temporary)",
    ]
    assert not list(writes("\n".join(fine)))


OPENERS = (
    "tomllib.loads",
    "csv.reader",
    "np.load",
    "numpy.load",
    "h5py.File",
    "Image.open",
    "gzip.open",
    "gzip.decompress",
    "json.load",
    "zipfile.ZipFile",
    "tarfile.open",
    "pickle.load",
    "torch.load",
)
"""What reads files of others; ``unbraid.reading`` does it with checks."""


def reads(source: str) -> list[str]:
    """Calls that read a format without the checks."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [name for call in calls if (name := ast.unparse(call.func)) in OPENERS and not _tensors_only(call)]


def _tensors_only(call: ast.Call) -> bool:
    """torch's reader of its own weights, where it is told to make tensors and nothing else (no such reader is ours)."""
    told = {word.arg: ast.unparse(word.value) for word in call.keywords}
    return ast.unparse(call.func) == "torch.load" and told.get("weights_only") == "True"


def test_formats_are_read_in_one_place():
    # The second reads JPEG bytes that it just wrote, the third writes an archive.
    own = {ROOT / "reading", ROOT / "corruptions" / "digital.py", ROOT / "training" / "zoo" / "packing.py"}
    files = [file for file in sorted(ROOT.rglob("*.py")) if not own & {file, file.parent}]
    wrong = {str(file.relative_to(ROOT)): found for file in files if (found := reads(file.read_text(encoding="utf-8")))}
    assert not wrong, f"use unbraid.reading instead: {wrong}"


def test_reading_elsewhere_would_be_seen():
    found = reads("np.load(path)\nwith h5py.File(path) as f: pass\njson.load(f)")
    assert set(found) == {"np.load", "h5py.File", "json.load"}
    assert reads("torch.load(path)\ntorch.load(path, weights_only=False)") == 2 * ["torch.load"]
    assert reads("torch.load(path, weights_only=True)") == []
