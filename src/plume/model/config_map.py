"""ConfigMap: one table of config.json's keys that reads a foreign configuration and writes one, as KeyMap does for parameter names.

An entry ties a key of theirs to fields of ours, named by their dotted paths (`network.width`, `objectives.masked_lm.head.epsilon`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.model.recipe import Recipe
from plume.nn.activation import Activation

Config = dict[str, Any]
Look = Callable[[str], Any]  # the value of ours at a dotted path
Changes = dict[str, Any]  # by dotted path

ACTIVATIONS = {"gelu": Activation.GELU, "gelu_new": Activation.GELU_TANH, "relu": Activation.RELU}  # as transformers names them


class ConfigRule:
    """Ties keys of theirs to fields of ours, both ways."""

    def to_config(self, look: Look) -> Config:
        """What is written of a recipe."""
        raise NotImplementedError

    def from_config(self, config: Config, look: Look) -> Changes:
        """What a configuration says of our fields."""
        raise NotImplementedError


@dataclass(frozen=True)
class Entry(ConfigRule):
    """A key of theirs that is a field of ours.

    Several of theirs must agree. Of several of ours the first is written, and all get what is read. `read` and `write` convert, and may look
    at other fields: those of the entries above, when reading.
    """

    theirs: str | tuple[str, ...]
    ours: str | tuple[str, ...]
    read: Callable[[Any, Look], Any] | None = None
    write: Callable[[Any, Look], Any] | None = None
    written: bool = True  # false: a key that is heeded where others wrote it

    def to_config(self, look: Look) -> Config:
        if not self.written:
            return {}
        value = look(_all(self.ours)[0])
        return dict.fromkeys(_all(self.theirs), value if self.write is None else self.write(value, look))

    def from_config(self, config: Config, look: Look) -> Changes:
        first, *others = _all(self.theirs)
        for other in others:
            if config.get(first) != config.get(other):
                raise PlumeError(f"config.json: {first} and {other} differ, and here they are one declaration.")
        if first not in config:
            return {}
        value = config[first]
        made = _as(look(_all(self.ours)[0]), value, first) if self.read is None else self.read(value, look)
        return dict.fromkeys(_all(self.ours), made)


@dataclass(frozen=True)
class Word(ConfigRule):
    """A key of theirs whose words each stand for values of our fields (an activation; T5's gated-gelu, for two fields)."""

    theirs: str
    ours: tuple[str, ...]
    words: Mapping[Any, tuple[Any, ...]]
    what: str = "word"  # in errors

    def to_config(self, look: Look) -> Config:
        """The word for what a recipe has."""
        held = tuple(look(path) for path in self.ours)
        found = [word for word, values in self.words.items() if values == held]
        if not found:
            raise PlumeError(
                f"config.json has no word for {' and '.join(self.ours)} of this model ({_listed(held)}): "
                f"{self.theirs} is {_listed(self.words)} in transformers' class."
            )
        return {self.theirs: found[0]}

    def from_config(self, config: Config, look: Look) -> Changes:
        """What the word stands for; one that is not in the table is an error."""
        if self.theirs not in config:
            return {}
        word = config[self.theirs]
        if word not in self.words:
            raise PlumeError(f"config.json: {self.theirs}: the {self.what} '{word}' is not known here, only {_listed(self.words)}.")
        return dict(zip(self.ours, self.words[word], strict=True))


@dataclass(frozen=True)
class FixedValue(ConfigRule):
    """A key that has one value in this family. `otherwise` says what another would mean, and that is refused; None: it does not matter."""

    theirs: str
    value: Any
    otherwise: str | None = None
    written: bool = True

    def to_config(self, look: Look) -> Config:
        return {self.theirs: self.value} if self.written else {}

    def from_config(self, config: Config, look: Look) -> Changes:
        if self.otherwise is not None and bool(config.get(self.theirs, self.value)) != self.value:
            raise PlumeError(f"config.json: {self.theirs} is {config[self.theirs]!r}: {self.otherwise}.")
        return {}


@dataclass(frozen=True)
class Implied(ConfigRule):
    """A field of ours that their class has no key for, because it follows from others (a feed-forward width of four times the width)."""

    ours: str
    value: Callable[[Look], Any]

    def to_config(self, look: Look) -> Config:
        if look(self.ours) != self.value(look):
            raise PlumeError(
                f"transformers' class has no key for {self.ours}: it is always {self.value(look)} there, and {look(self.ours)} in this model."
            )
        return {}

    def from_config(self, config: Config, look: Look) -> Changes:
        return {self.ours: self.value(look)}


@dataclass(frozen=True)
class Told(ConfigRule):
    """A key that is written and not read."""

    theirs: str
    ours: str
    missing: Any = None  # what is written of a recipe that lacks the field

    def to_config(self, look: Look) -> Config:
        found = look(self.ours)
        return {self.theirs: self.missing if found is None else found}

    def from_config(self, config: Config, look: Look) -> Changes:
        return {}


def entries(**keys: str | tuple[str, ...]) -> tuple[Entry, ...]:
    """Plain ones, each their key and our path.

    >>> entries(hidden_size="network.width")[0].to_config({"network.width": 768}.__getitem__)
    {'hidden_size': 768}
    """
    return tuple(Entry(theirs, ours) for theirs, ours in keys.items())


def constants(**values: Any) -> tuple[FixedValue, ...]:
    """Keys that always have these values, and may have others in files that are read."""
    return tuple(FixedValue(theirs, value) for theirs, value in values.items())


def activation(theirs: str) -> Word:
    """The key that names the function between the feed-forward products."""
    return Word(theirs, ("network.activation",), {word: (found,) for word, found in ACTIVATIONS.items()}, "activation")


@dataclass(frozen=True, kw_only=True)
class ConfigMap:
    """A family's config.json. What a file leaves out is as in `base`, but for `defaults`: what transformers takes for it."""

    base: Recipe
    entries: tuple[ConfigRule, ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    describes: Callable[[Recipe], Recipe] | None = None  # what of a recipe is written, where it is not all (ELECTRA's generator)

    def write(self, recipe: Recipe) -> Config:
        """What config.json says of the recipe."""
        described = recipe if self.describes is None else self.describes(recipe)
        return {key: value for entry in self.entries for key, value in entry.to_config(lambda path: _at(described, path)).items()}

    def read(self, config: Config) -> Recipe:
        """The recipe that config.json describes; its rows are no longer than it has positions for."""
        changes: Changes = {"size": "imported"}

        def look(path: str) -> Any:
            return changes[path] if path in changes else _at(self.base, path)

        for entry in self.entries:
            changes |= entry.from_config({**self.defaults, **config}, look)
        if (longest := look("positions.longest")) is not None:
            changes["training.length"] = min(look("training.length"), longest)
        made: Recipe = _changed(self.base, changes)
        return made


def _all(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _listed(words: Iterable[Any]) -> str:
    return ", ".join(str(word) for word in words)


def _as(held: Any, value: Any, key: str) -> Any:
    """A number as the field has it: 0 is 0.0 where a share is meant."""
    if isinstance(held, bool) or not isinstance(held, int | float):
        return bool(value) if isinstance(held, bool) else value
    try:
        return float(value) if isinstance(held, float) else value + 0
    except (TypeError, ValueError):
        raise PlumeError(f"config.json: {key} is {value!r}, and a number is needed.") from None


def _at(value: Any, path: str) -> Any:
    """The value at a dotted path; items of a tuple have names. None where a part has no such field."""
    for name in path.split("."):
        value = {item.name: item for item in value}.get(name) if isinstance(value, tuple) else getattr(value, name, None)
    return value


def _changed(part: Any, changes: Changes) -> Any:
    """All changes of a part at once: what lies between two of them need not work."""
    below: dict[str, Changes] = {}
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        below.setdefault(name, {})[rest] = value
    if isinstance(part, tuple):
        return tuple(_changed(item, below[item.name]) if item.name in below else item for item in part)
    assert isinstance(part, Part)
    made = {name: found[""] if "" in found else _changed(getattr(part, name), found) for name, found in below.items()}
    return replace(part, **made)  # type: ignore[type-var]
