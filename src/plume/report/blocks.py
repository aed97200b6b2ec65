"""What a section is made of, before it is HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field

from plume.report.markup import Markup
from plume.report.tables import Table


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str
    class_: str = ""
    strong: str = ""  # a word of it to stand out, where it first occurs


@dataclass(frozen=True)
class Bullets:
    """Sentences, one below the other."""

    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart, with the key to its signs. Markdown leaves it out: its numbers are in a table too."""

    drawing: Markup
    caption: str
    key: Markup = field(default_factory=Markup)


@dataclass(frozen=True, kw_only=True)
class Code:
    """Something to copy, under a label."""

    text: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One number with its name and a word about it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """The few numbers that a reader takes away."""

    items: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerGroup:
    """An answer, and all models that gave it."""

    text: str
    right: bool
    models: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ExampleBlock:
    """A scored example with what each model answered, equal answers together."""

    heading: str
    texts: tuple[str, ...]
    gold: str
    gold_name: str
    answers: tuple[AnswerGroup, ...]
    right_word: str
    wrong_word: str


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Shown when asked for."""

    summary: str
    blocks: tuple[Block, ...]
    is_open: bool = False


Block = Paragraph | Bullets | Figure | Code | Facts | ExampleBlock | Fold | Table


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with what stands below it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    class_: str = ""
