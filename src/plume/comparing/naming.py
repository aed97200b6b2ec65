"""How a user writes an entrant: a family (bert, bert/mini), a recipe file, a model's directory, or KIND:… for what is made of another; before
each may stand what it shall be called: minilm=./hf-minilm.

Within a study paths are absolute, so that a name says by itself what it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from plume.recipes import _catalog as catalog


def is_recipe_file(name: str) -> bool:
    """Does the name say that it is one?"""
    return Path(name).suffix in (".py", ".json")


def split(text: str) -> tuple[str, str]:
    """The kind, "" where none is named, and what it is made of.

    >>> split("continue:./roberta"), split("bert/mini")
    (('continue', './roberta'), ('', 'bert/mini'))
    """
    found = re.fullmatch(r"([a-z-]+):(.+)", text.strip())
    return (found.group(1), found.group(2)) if found else ("", text.strip())


def labelled(text: str) -> tuple[str, str]:
    """What the user calls it, "" where that is not said, and the rest.

    >>> labelled("minilm=./models/minilm-l6"), labelled("./roberta")
    (('minilm', './models/minilm-l6'), ('', './roberta'))
    """
    found = re.fullmatch(r"([\w.+-]+)=(.+)", text.strip())
    return (found.group(1), found.group(2).strip()) if found else ("", text.strip())


def absolute(text: str, *, beside: str | Path = "", directory: bool = False) -> str:
    """With its path whole; a path that is not is relative to `beside`. `directory`: it can be nothing else."""
    label, rest = labelled(text)
    kind, name = split(rest)
    if directory or is_recipe_file(name) or _is_directory(name, beside):
        name = os.path.abspath(os.path.join(beside, os.path.expanduser(name)))
    return _joined(label, kind, name)


def _joined(label: str, kind: str, name: str) -> str:
    return (f"{label}=" if label else "") + (f"{kind}:" if kind else "") + name


def _is_directory(name: str, beside: str | Path) -> bool:
    """What is written as a path is one; any other name only where no family is called so."""
    if name.startswith((".", "/", "~")):
        return True
    return name.partition("/")[0] not in catalog.families() and os.path.isdir(os.path.join(beside, name))


def relative(text: str, *, beside: Path) -> str:
    """As it is written in a file that lies in `beside`: `absolute` turned round."""
    label, rest = labelled(text)
    kind, name = split(rest)
    if os.path.isabs(name):
        near = os.path.relpath(name, beside)
        name = near if is_recipe_file(near) or near.startswith(os.curdir) else os.path.join(os.curdir, near)
    return _joined(label, kind, name)


def path_in(text: str) -> Path | None:
    """The recipe file or directory that it names, if it does."""
    name = split(labelled(text)[1])[1]
    return Path(name) if os.path.isabs(name) else None


def called(text: str) -> str:
    """What the entrant is called: as the user says, or as it was written, of a path its last part.

    >>> called("bert/mini"), called("/home/me/mine.py"), called("continue:/home/me/roberta")
    ('bert/mini', 'mine', 'continue:roberta')
    """
    label, rest = labelled(text)
    if label:
        return label
    kind, name = split(rest)
    if is_recipe_file(name):
        name = Path(name).stem
    elif os.path.isabs(name):
        name = Path(name).name
    return f"{kind}:{name}" if kind else name


def folder_name(name: str) -> str:
    """Of a model's directories within a study.

    >>> folder_name("continue:minilm")
    'continue-minilm'
    """
    return re.sub("[/:]", "-", name)
