"""Multiple choice: a context, perhaps a question, some choices, and which of them is right. JSONL, or one JSON array of objects.

The fields are known by the names that the data sets use: RACE, COPA, SWAG, HellaSwag, CommonsenseQA, ARC, MedQA, and ChID, whose context has a gap
(#idiom#) and is kept as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean
from plume.readers.example import Example, Reading
from plume.readers.json_rows import read_objects
from plume.readers.row_languages import row_languages
from plume.text.languages import has_han

_ADVICE = 'write one object a line, as {"context": "…", "question": "…", "choices": ["…", "…"], "answer": 0}'
_CONTEXTS = ("context", "passage", "article", "text", "content", "document", "premise", "story", "sentence", "ctx", "sent1", "body")
_QUESTIONS = ("question", "query", "sent2", "stem")
_CHOICES = ("choices", "candidates", "options", "endings", "choice", "option")
_ANSWERS = (
    "answer",
    "label",
    "answeridx",
    "answerindex",
    "answerkey",
    "correct",
    "correctanswer",
    "correctidx",
    "correctindex",
    "gold",
    "target",
)
_KEYS = ("id", "qid", "idx", "guid", "exampleid")
_NUMBERED = re.compile(r"(?:choice|option|ending|candidate|answer|alternative|solution|sol|alt)(\d+|[a-h])|([a-h])")  # choice0, option_a, A


@dataclass(frozen=True, kw_only=True)
class _Choices:
    field: str  # where they were found
    texts: list[str]
    labels: list[str]  # what the file calls them; empty: nothing


def read_choices(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """The texts are the context, with the question behind it, and the choices; the answer is the number of the right choice, from 0."""
    for line, record in read_objects(path, advice=_ADVICE):
        place = f"{path}, line {line}"
        if isinstance(record.get("question"), dict):  # CommonsenseQA: {"question": {"stem": …, "choices": […]}}
            record = {name: value for name, value in record.items() if name != "question"} | record["question"]
        fields = {name.lower().replace("_", ""): name for name in record}
        choices = _choices(record, fields, place)
        asked = {kind: fields[name] for kind, names in _KINDS.items() if (name := _known(names, fields))}
        if "context" not in asked and "question" not in asked:
            raise PlumeError(f"{place}: neither a context nor a question among the fields {', '.join(record)}; {_ADVICE}.")
        if labelled and "answer" not in asked:
            raise PlumeError(f"{place}: no answer among the fields {', '.join(record)}; {_ADVICE}.")
        if not reading.format:
            found = [f"{kind}: {name}" for kind, name in asked.items() if labelled or kind != "answer"]
            reading.format = "; ".join(["JSON objects", *found, f"choices: {choices.field}"])
        text = _join([_text(record[asked[kind]], asked[kind], place) for kind in ("context", "question") if kind in asked])
        if not text or not all(choices.texts):
            reading.skip("empty choice" if text else "empty text", place)
            continue
        answer = _answer(record[asked["answer"]], choices, f"{place}: the answer ('{asked['answer']}')") if labelled else None
        reading.read += 1
        key = _known(_KEYS, fields)
        languages = row_languages(record, ("context", "choices"))
        named = str(record[fields[key]]) if key else None
        yield Example(texts=(text, *choices.texts), answer=answer, key=named, line=line, languages=languages)
    if not reading.read and not reading.skipped:
        raise PlumeError(f"{path} is empty: {_ADVICE}.")


_KINDS = {"context": _CONTEXTS, "question": _QUESTIONS, "answer": _ANSWERS}


def _known(names: Sequence[str], fields: Mapping[str, str]) -> str | None:
    return next((name for name in names if name in fields), None)


def _choices(record: Mapping[str, Any], fields: Mapping[str, str], place: str) -> _Choices:
    """A list of texts or of {label, text}, an object of them by letter, or fields that are numbered or lettered."""
    name = _known(_CHOICES, fields)
    if name is None:
        numbered = [(mark[1] or mark[2], field) for key, field in fields.items() if (mark := _NUMBERED.fullmatch(key))]
        numbered.sort(key=lambda entry: (len(entry[0]), entry[0]))
        field, found = ", ".join(field for _, field in numbered), {letter.upper(): record[field] for letter, field in numbered}
        # A number in a field's name is no label: COPA's label 0 means choice1.
        labels, texts = [label for label in found if label.isalpha()], list(found.values())
    else:
        field, value = fields[name], record[fields[name]]
        if isinstance(value, dict) and isinstance(value.get("text"), list):  # ARC: {"text": […], "label": […]}
            named = value.get("label") or [chr(ord("A") + i) for i in range(len(value["text"]))]
            value = [{"label": label, "text": text} for label, text in zip(named, value["text"], strict=False)]
        if isinstance(value, dict):
            value = [{"label": label, "text": text} for label, text in value.items()]
        if not isinstance(value, list):
            raise PlumeError(f"{place}: '{field}' holds {str(value)[:60]!r}, which is no list of choices; {_ADVICE}.")
        labels = [str(item["label"]) for item in value if isinstance(item, dict) and "label" in item]
        texts = [item.get("text") if isinstance(item, dict) else item for item in value]
    if len(texts) < 2:
        raise PlumeError(f"{place}: {len(texts)} choices{f' in {field!r}' if field else ''}, where at least two are needed; {_ADVICE}.")
    return _Choices(field=field, texts=[_text(text, field, place) for text in texts], labels=labels if len(labels) == len(texts) else [])


def _text(value: Any, name: str, place: str) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # a dialogue, turn by turn
        return _join([clean(item).strip() for item in value])
    if isinstance(value, bool | list | dict):
        raise PlumeError(f"{place}: '{name}' holds {str(value)[:60]!r}, which is no text; {_ADVICE}.")
    return "" if value is None else clean(str(value)).strip()


def _join(texts: Sequence[str]) -> str:
    """With a space between, but for Chinese.

    >>> _join(["He fell.", "Why?"]), _join(["他跌倒了。", "为什么？"])
    ('He fell. Why?', '他跌倒了。为什么？')
    """
    joined = ""
    for text in filter(None, texts):
        chinese = has_han(joined[-20:]) and has_han(text[:20])
        joined += text if chinese or not joined else f" {text}"
    return joined


def _answer(value: Any, choices: _Choices, what: str) -> int:
    """Its place from 0, its letter, or its text."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    word = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if word in choices.labels:
        return choices.labels.index(word)
    if isinstance(value, str) and clean(word) in choices.texts:
        return choices.texts.index(clean(word))
    labels = choices.labels or [chr(ord("A") + i) for i in range(len(choices.texts))]
    if (letter := word.strip("().").upper()) in labels:
        return labels.index(letter)
    if re.fullmatch(r"-?\d+", word):
        if 0 <= int(word) < len(choices.texts):
            return int(word)
        raise PlumeError(
            f"{what} is {word}, but the {len(choices.texts)} choices are counted from 0 to {len(choices.texts) - 1}. Subtract 1 if yours begin at 1."
        )
    raise PlumeError(
        f"{what} is {str(value)[:60]!r}: neither a number from 0, nor a letter, nor the text of a choice ({' | '.join(choices.texts)[:120]})."
    )
