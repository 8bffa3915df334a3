"""Python files of one's own, imported by path: they register objectives, networks, data sets, metrics and measures."""

import importlib.util
import sys
from pathlib import Path
from traceback import extract_tb

from unbraid.errors import UsageError

__all__ = ["import_file", "imported"]

_IMPORTED: list[Path] = []


def import_file(path: str | Path) -> None:
    """Import a file under its own name, once per process; worker processes do the same with :func:`imported`.

    It may import modules that lie beside it, as a script may; what is installed comes first.
    """
    path = Path(path)
    if not path.is_file() or path.suffix != ".py":
        raise UsageError(f"plugin {path}: no such Python file on this machine")
    known = sys.modules.get(path.stem)
    if known is None:
        _check_free(path)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        folder = str(path.parent.resolve())
        new = folder not in sys.path
        sys.path += [folder] * new
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[path.stem]  # half a module must not pass for a whole one
            if new:
                sys.path.remove(folder)
            if isinstance(error, Exception) and not isinstance(error, UsageError):
                raise _failed(path, error) from error
            raise
    elif Path(getattr(known, "__file__", None) or "").resolve() != path.resolve():
        raise _taken(path)
    if path.absolute() not in _IMPORTED:
        _IMPORTED.append(path.absolute())


def _check_free(path: Path) -> None:
    """Refuse a name under which somebody else's module would be imported later."""
    try:
        spec = importlib.util.find_spec(path.stem)
    except ValueError:
        spec = None
    if spec is not None and Path(spec.origin or "").resolve() != path.resolve():
        raise _taken(path)


def _failed(path: Path, error: Exception) -> UsageError:
    """What went wrong in one line, with the last line of the file that was reached."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename) == path]
    if isinstance(error, SyntaxError) and Path(error.filename or "") == path:
        lines.append(error.lineno)
    at = f", line {lines[-1]}" if lines else ""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return UsageError(f"plugin {path}{at}: {type(error).__name__}: {' '.join(text.split())}")


def _taken(path: Path) -> UsageError:
    return UsageError(f"plugin {path}: there is a module {path.stem!r} already; give the file another name")


def imported() -> list[str]:
    """The files this process imported, for those that must import them too."""
    return [str(path) for path in _IMPORTED]
