"""study.toml: a study written down. Paths in it are relative to the file."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from plume.comparing import naming
from plume.comparing.compress_entries import absolute_entry, relative_entry
from plume.comparing.results import MARGIN
from plume.comparing.study import TUNE_OPTIONS, Study, StudyTask, make_study, make_task
from plume.core.errors import PlumeError, suggest

_WORDS = {"title": str, "corpus_note": str, "budget": str, "size": str, "tokenizer": str, "static": str, "continue_on": str}
_NUMBERS = {"seeds": int, "threads": int, "probes": bool, "tfidf": bool, "margin": (int, float)}
_LISTS = ("corpus", "recipes", "models", "continue", "compress", "set")
_TASK = {"kind": str, "train": str, "dev": str, "test": str, "text": list, "label": str, "note": str}


def read_study_file(path: Path, **given: Any) -> Study:
    """The study in a file; what is `given` on the command line goes before it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlumeError(f"There is no study at {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlumeError(f"{path} is no readable TOML: {error}.") from None
    known = {**_WORDS, **_NUMBERS, **dict.fromkeys(_LISTS, list), "tasks": dict, "tune": dict}
    _check(data, known, str(path))

    def beside(name: str) -> str:
        return os.path.join(path.parent, name)

    made: dict[str, Any] = {name: data[name] for name in (*_WORDS, *_NUMBERS) if name in data}
    made["corpus"] = [beside(one) for one in _strings(data, "corpus", path)]
    made["recipes"] = [naming.absolute(one, beside=path.parent) for one in _strings(data, "recipes", path)]
    made["models"] = [naming.absolute(one, beside=path.parent, directory=True) for one in _strings(data, "models", path)]
    made["continued"] = _strings(data, "continue", path)
    made["compress"] = [absolute_entry(one, beside=path.parent) for one in _strings(data, "compress", path)]
    made["overrides"] = _strings(data, "set", path)
    made["tune"] = [f"{name}={value}" for name, value in data.get("tune", {}).items()]
    made["tasks"] = [_task(name, table, path, beside) for name, table in data.get("tasks", {}).items()]
    made |= {name: value for name, value in given.items() if value is not None}
    return make_study(**({"budget": "10m"} | made))


def _check(data: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    for name, value in data.items():
        if name not in known:
            raise PlumeError(f"{where}: there is no setting '{name}'; {suggest(name, known)}.")
        if not isinstance(value, known[name]):
            raise PlumeError(f"{where}: '{name}' should be {_kind(known[name])}, not {value!r}.")


def _kind(wanted: Any) -> str:
    words = {str: "a text in quotes", int: "a whole number", bool: "true or false", list: "a list [ … ]", dict: "a table"}
    return words.get(wanted, "a number")


def _strings(data: Mapping[str, Any], name: str, path: Path) -> list[str]:
    for value in data.get(name, []):
        if not isinstance(value, str):
            raise PlumeError(f"{path}: '{name}' should be a list of texts in quotes; {value!r} is none.")
    return list(data.get(name, []))


def _task(name: str, table: Any, path: Path, beside: Callable[[str], str]) -> StudyTask:
    where = f"{path}, [tasks.{name}]"
    if not isinstance(table, dict):
        raise PlumeError(f"{path}: write [tasks.{name}] with its files below: train = …, test = …")
    _check(table, _TASK, where)
    if "train" not in table or not ("test" in table or "dev" in table):
        raise PlumeError(f"{where}: name the training file and the test file: train = …, test = …")
    scored: str = table["test"] if "test" in table else table["dev"]
    return make_task(
        name=name, kind=table.get("kind", ""), train=beside(table["train"]), scored=beside(scored),
        dev=beside(table["dev"]) if "dev" in table and "test" in table else None,
        text=tuple(_strings(table, "text", path)), label=table.get("label"), note=table.get("note", ""),
    )  # fmt: skip


def write_study_file(study: Study, *, beside: Path) -> str:
    """The text of a study.toml that lies in the folder `beside`: reading it gives the same study."""

    def relative(path: str) -> str:
        return os.path.relpath(path, beside)

    lines = [f"title = {_text(study.title)}"] if study.title else []
    lines += [
        f"corpus = {_list(map(relative, study.corpus))}",
        *([f"corpus_note = {_text(study.corpus_note)}"] if study.corpus_note else []),
        f"recipes = {_list(naming.relative(one, beside=beside) for one in study.recipes)}",
        f"size = {_text(study.size)}",
        f"budget = {_text(study.budget.text)}",
        f"seeds = {study.seeds}",
        f"tokenizer = {_text(study.tokenizer.value)}",
        f"static = {_text(study.static)}",
        f"tfidf = {str(study.tfidf).lower()}",
        f"threads = {study.threads}",
        f"probes = {str(study.probes).lower()}",
        *([f"margin = {study.margin:g}"] if study.margin != MARGIN else []),
    ]
    if study.models:
        lines.append(f"models = {_list(naming.relative(one, beside=beside) for one in study.models)}")
    if study.continued:
        lines += [f"continue = {_list(study.continued)}", f"continue_on = {_text(study.continue_on.value)}"]
    if study.compress:
        lines.append(f"compress = {_list(relative_entry(one, beside=beside) for one in study.compress)}")
    if study.overrides:
        lines.append(f"set = {_list(study.overrides)}")
    if study.tune:
        options = [assignment.partition("=") for assignment in study.tune]
        lines += ["", "[tune]", *(f"{name} = {_text(value) if TUNE_OPTIONS[name] is str else value}" for name, _, value in options)]
    for task in study.tasks:
        files = {"train": task.train, "dev": task.dev, "test": task.scored}
        lines += ["", f"[tasks.{_text(task.name)}]", f"kind = {_text(task.kind)}"]
        lines += [f"{name} = {_text(relative(file))}" for name, file in files.items() if file]
        lines += [f"text = {_list(task.text)}"] if task.text else []
        lines += [f"{name} = {_text(value)}" for name, value in (("label", task.label), ("note", task.note)) if value]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a TOML string too


def _list(values: Any) -> str:
    return f"[{', '.join(_text(value) for value in values)}]"
