"""Answers as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def in_short(record: Mapping[str, Any]) -> str:
    """One line: the prediction and the text.

    >>> in_short({"text": "小明在北京", "entities": [{"start": 0, "end": 2, "label": "PER"}, {"start": 3, "end": 5, "label": "LOC"}], "tags": []})
    '[小明 PER]在[北京 LOC]'
    >>> in_short({"text": "good", "label": "positive", "score": 0.973, "scores": {}})
    'positive  97.3%  good'
    """
    text = record.get("text") or " | ".join(record.get("texts", ()))
    cut = "  (cut)" if record.get("cut") else ""
    return _found(record, text) + cut


def _found(record: Mapping[str, Any], text: str) -> str:
    match record:
        case {"source": _, "text": written} | {"texts": _, "text": written}:
            return str(written)
        case {"words": [str(), *_] as words}:
            return " ".join(words)
        case {"words": [dict(), *_] as words}:
            return " ".join(f"{word['text']}/{word['tag']}" for word in words)
        case {"entities": entities}:
            return _marked(text, entities)
        case {"label": label, "score": score}:
            return f"{label}  {score:.1%}  {text}"
        case {"labels": labels}:
            return f"{', '.join(labels) or '–'}  {text}"
        case {"choice": choice, "score": score}:
            return f"{choice}  {score:.1%}"
        case {"answer": answer}:
            return str(answer) or "(no answer)"
        case {"score": float() as score}:
            return f"{score:.4f}  {text}"
        case _:
            from plume.tuning.stream import json_line

            return json_line(record)


def _marked(text: str, entities: Sequence[Mapping[str, Any]]) -> str:
    parts, end = [], 0
    for entity in entities:
        parts += [text[end : entity["start"]], f"[{text[entity['start'] : entity['end']]} {entity['label']}]"]
        end = entity["end"]
    return "".join(parts) + text[end:]
