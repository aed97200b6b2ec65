"""A user's own parts: classes in files or modules that the user has named, by `use_parts`, by --parts or in PLUME_PARTS.

A model directory names such a class (`own/my_recipe:MyHead`), says which file it came from and that file's hash, and never holds code. Only what
the user has named is executed. The environment variable hands the names on to every process that this one starts.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from plume.core.errors import PlumeError

VARIABLE = "PLUME_PARTS"  # files and modules, separated as in PATH
_OWN = "own/"  # no module of plume's begins so
_PREFIX = "plume_own_"  # of the names that executed files get among Python's modules


@dataclass(frozen=True, kw_only=True)
class OwnModule:
    """A file or module that the user has named. `name` is what files call it: the file's stem, or the module's full name."""

    name: str
    said: str  # as one would name it again: my_parts.py, or my_package.parts
    path: str
    sha256: str
    module: ModuleType


_NAMED: list[OwnModule] = []  # the last named is looked at first
_TOLD: set[tuple[str, str]] = set()  # of which changes the user knows


def use_parts(*sources: str | Path) -> None:
    """Trust these: Python files, or importable modules, whose parts saved models and runs may name. They are executed.

    plume.use_parts("my_parts.py"); plume.load("runs/own")
    """
    for source in sources:
        found = _opened(str(source))
        if found in _NAMED:
            _NAMED.remove(found)
        _NAMED.insert(0, found)
        word = found.path if _is_file(str(source)) else found.name
        os.environ[VARIABLE] = os.pathsep.join([*(one for one in _in_environment() if one != word), word])


def named_file(path: Path) -> ModuleType:
    """Name a file, and return what it declares."""
    use_parts(path)
    return _NAMED[0].module


def load_named() -> None:
    """Open all that PLUME_PARTS names, that is there and not open yet."""
    for word in _in_environment():
        if not _is_missing(word) and not any(word == one.name or os.path.abspath(word) == one.path for one in _NAMED):
            _NAMED.append(_opened(word))


def environment() -> dict[str, str]:
    """What a process elsewhere must be told to know the same."""
    return {VARIABLE: os.environ[VARIABLE]} if os.environ.get(VARIABLE) else {}


def _in_environment() -> list[str]:
    return [word for word in os.environ.get(VARIABLE, "").split(os.pathsep) if word]


def is_plumes(kind: type) -> bool:
    """Is the class one of plume's?"""
    return kind.__module__.partition(".")[0] == "plume"


def executed_file(kind: type) -> str | None:
    """The file that a class was made of by executing it; None: Python imports its module by itself."""
    return sys.modules[kind.__module__].__file__ if kind.__module__.startswith(_PREFIX) else None


def written(kind: type) -> tuple[str, dict[str, str]]:
    """The address of a user's own class, and where it came from, as a file holds them."""
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    same = [one for one in _NAMED if one.module.__name__ == kind.__module__] or [one for one in _NAMED if one.path == path]
    if same:
        return f"{_OWN}{same[0].name}:{kind.__qualname__}", {"name": same[0].said, "sha256": same[0].sha256}
    where = Path(path or kind.__module__).name
    raise PlumeError(
        f"{kind.__qualname__} is a part of your own, of {where}, which was not named: what is made of it could not be opened again. "
        f"Name the file: --parts {where} on the command line, plume.use_parts('{where}') in Python."
    )


def module_of(address: str, class_name: str, origin: Any) -> ModuleType | None:
    """The named module of an address; None: the address is plume's."""
    if not address.startswith(_OWN):
        return None
    name = address.removeprefix(_OWN)
    said, sha256 = (str((origin if isinstance(origin, dict) else {}).get(key, "")) for key in ("name", "sha256"))
    load_named()
    found = [one for one in _NAMED if one.name == name]
    if not found:
        file = said or name
        raise PlumeError(
            f"This model uses {class_name} of {file}, which is not plume's. If you trust that file, name it: "
            f"--parts {file} on the command line, plume.use_parts('{file}') in Python.{_missing()}"
        )
    same = next((one for one in found if one.sha256 == sha256), found[0])
    if same.sha256 != sha256 and (same.path, sha256) not in _TOLD:
        _TOLD.add((same.path, sha256))
        print(f"plume: {same.path} is not as it was when this model was made: {class_name} may do something else.", file=sys.stderr)
    return same.module


def _missing() -> str:
    missing = [word for word in _in_environment() if _is_missing(word)]
    return f" {VARIABLE} names {', '.join(missing)}, which is not there." if missing else ""


def _is_missing(word: str) -> bool:
    return _is_file(word) and not os.path.isfile(word)


def _is_file(source: str) -> bool:
    return source.endswith(".py") or os.sep in source


def _opened(source: str) -> OwnModule:
    if not _is_file(source):
        try:
            module = importlib.import_module(source)
        except ImportError as error:
            raise PlumeError(f"There is no module {source} with parts of your own ({error}): name a file, such as my_parts.py.") from None
        path = getattr(module, "__file__", None) or ""
        return OwnModule(name=source, said=source, path=path, sha256=_hash(Path(path).read_bytes()) if path else "", module=module)
    path = os.path.abspath(source)
    if _is_missing(path):
        raise PlumeError(f"There is no file {source} with parts of your own.")
    content = Path(path).read_bytes()
    module = _imported(path) or _executed(path, content, source)
    return OwnModule(name=Path(path).stem, said=Path(path).name, path=path, sha256=_hash(content), module=module)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _imported(path: str) -> ModuleType | None:
    """The module that the program has made of the file already: its classes must not be there twice."""
    modules = [one for name, one in list(sys.modules.items()) if isinstance(one, ModuleType) and not name.startswith(_PREFIX)]
    return next((one for one in modules if vars(one).get("__file__") == path), None)


def _executed(path: str, content: bytes, source: str) -> ModuleType:
    """The file's module; one for each content that it has had."""
    name = f"{_PREFIX}{Path(path).stem}_{_hash(path.encode() + content)[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses look their annotations up there
    try:
        exec(compile(content, path, "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, PlumeError):
            raise PlumeError(f"{source}: {error}") from None
        if isinstance(error, Exception):  # whatever a user's file may raise
            raise PlumeError(f"{source}{_line(error, path)}: {type(error).__name__}: {error}") from None
        raise
    return module


def _line(error: BaseException, path: str) -> str:
    """Of the file itself, where the error came from."""
    found = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            found = trace.tb_lineno
        trace = trace.tb_next
    return "" if found is None else f", line {found}"
