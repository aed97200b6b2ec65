"""A task's head between our names and those of transformers' classes: which class, which tensors, what config.json says."""

from __future__ import annotations

from typing import Any

from plume.core.errors import PlumeError
from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.heads.token_labelling import TokenLabelling
from plume.model.bridge import Bridge
from plume.model.config_map import Config
from plume.model.keymap import State
from plume.model.task_head import TaskHead

PROBLEMS: dict[type[Head], str] = {
    SentenceClassification: "single_label_classification",
    MultiLabelClassification: "multi_label_classification",
    SentenceRegression: "regression",
}


def head_of_config(bridge: Bridge, config: Config) -> TaskHead | None:
    """The head that config.json's class has, if it is one for a task."""
    named = config.get("architectures") or ()
    head = next((head for head in bridge.tasks if head.architecture in named), None)
    if head is None:
        return None
    for key, wanted in head.config.items():
        if (found := config.get(key, wanted)) != wanted:
            raise PlumeError(f"config.json: {head.architecture} with {key} = {found!r} is not supported, only {wanted!r}.")
    return head


def head_of_part(bridge: Bridge, part: Head) -> TaskHead:
    """The class of transformers that has this head on this family."""
    head = next((head for head in bridge.tasks if type(part) in head.parts), None)
    if head is None:
        known = ", ".join(head.architecture for head in bridge.tasks) or "none"
        raise PlumeError(
            f"transformers has no class for {_asks(part)} on {bridge.model_type}, so this model cannot be exported to it. "
            f"It has for tasks: {known}."
        )
    if isinstance(part, TokenLabelling) and part.chain:
        raise PlumeError(f"This model decides by a CRF, which {head.architecture} does not have: tune with --no-crf to export.")
    if isinstance(part, SentenceClassification) and (part.hidden is not head.hidden or part.bias is not head.bias):
        raise PlumeError(
            f"{head.architecture} has another head than this model: hidden is {head.hidden} there and {part.hidden} here, "
            f"bias {head.bias} and {part.bias}. Tune with the family's own classifier to export."
        )
    return head


def _asks(part: Head) -> str:
    if isinstance(part, Choice):
        return "multiple choice"
    return {TokenLabelling: "token classification", AnswerSpan: "question answering"}.get(type(part), "sequence classification")


def part_of(head: TaskHead, config: Config, classes: int) -> Head:
    """Our head, as config.json and the number of its classes ask for it."""
    if AnswerSpan in head.parts:
        if classes != 2:
            raise PlumeError(f"{head.architecture} has {classes} outputs a token; an answer has 2, its beginning and its end.")
        return AnswerSpan()
    if TokenLabelling in head.parts:
        return TokenLabelling(labels=labels_of(config, classes))
    shape: dict[str, Any] = {"classes": classes, "hidden": head.hidden, "bias": head.bias}
    if Choice in head.parts:
        return Choice(**shape)
    problem = config.get("problem_type") or ("regression" if classes == 1 else PROBLEMS[SentenceClassification])
    kind = next((kind for kind, name in PROBLEMS.items() if name == problem), None)
    if kind is None or (kind is SentenceRegression and classes > 1):
        raise PlumeError(f"config.json: problem_type '{problem}' with {classes} outputs is not supported.")
    made = kind(**shape)
    assert isinstance(made, Head)
    return made


def labels_of(config: Config, classes: int) -> tuple[str, ...]:
    """id2label in the order of its numbers; transformers' own names where it says nothing of use."""
    named = {int(number): str(label) for number, label in (config.get("id2label") or {}).items()}
    labels = tuple(named.get(number, f"LABEL_{number}") for number in range(classes))
    return labels if len(set(labels)) == classes else tuple(f"LABEL_{number}" for number in range(classes))


def head_config(head: TaskHead, part: Head, labels: tuple[str, ...]) -> Config:
    """What config.json says of the head; an answer's two outputs need no names."""
    dropout = dict.fromkeys(head.dropout, getattr(part, "dropout", 0.0))
    config: Config = {"architectures": [head.architecture], **head.config, **dropout}
    if AnswerSpan in head.parts or Choice in head.parts:
        return config
    names = labels or ("LABEL_0",)
    config |= {"id2label": {str(place): label for place, label in enumerate(names)}}
    config |= {"label2id": {label: place for place, label in enumerate(names)}}
    return config | ({"problem_type": PROBLEMS[type(part)]} if type(part) in PROBLEMS else {})


def apart(bridge: Bridge, head: TaskHead, theirs: State) -> tuple[State, State]:
    """Their tensors as (the body's under the family's names for a class with heads, our head's)."""
    keys = head.keys
    own = {f"{rule.theirs}.{leaf}" for rule in keys.rules for leaf in ("weight", "bias")}
    ours = keys.apply({name: value for name, value in theirs.items() if name in own})
    if lacking := sorted(head.names - set(ours)):
        raise PlumeError(f"The weights lack the head of {head.architecture}: {', '.join(lacking)}. Are they of another class?")
    prefix = bridge.prefix if head.prefix is None else head.prefix
    body = {bridge.prefix + name.removeprefix(prefix): value for name, value in theirs.items() if name not in own}
    return body, ours


def joined(bridge: Bridge, head: TaskHead, body: State, ours: State) -> State:
    """Our body's and our head's parameters as the class of transformers names them."""
    kept = {name: value for name, value in body.items() if _has_place(bridge, head, name)}
    if head.pooler and "pooler.dense.weight" not in kept:
        raise PlumeError(f"{head.architecture} reads a pooler, and this model was trained without one: transformers has no class for it.")
    prefix = bridge.prefix if head.prefix is None else head.prefix
    theirs = {prefix + name.removeprefix(bridge.prefix): value for name, value in bridge.keys.revert(kept).items()}
    if set(ours) != head.names:
        raise PlumeError(
            f"{head.architecture} has {', '.join(sorted(head.names))} in its head; this model's has {', '.join(sorted(ours))}."
        )
    return theirs | head.keys.revert(ours)


def _has_place(bridge: Bridge, head: TaskHead, name: str) -> bool:
    """What pre-training needed stays behind: its heads, a generator; and what this class has not."""
    if name.startswith("heads.") or any(name.startswith(f"{module}.") for module in bridge.unmatched):
        return False
    if bridge.second is not None and bridge.second.keys.knows(name) and not bridge.keys.knows(name):
        return False
    if name.startswith("pooler."):
        return head.pooler
    return not head.encoder_alone or name.startswith(("embedding.", "stack."))
