"""Templates and words where the user gives none: by the task, and by the language of its texts."""

from __future__ import annotations

from collections.abc import Sequence

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.text.languages import language_mix
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.prompts.label_words import LabelWords
from plume.tuning.prompts.template import slot_in_text
from plume.tuning.task import Task

# The blank stands behind one text, where models that read left to right can fill it, and between two.
_ONE = {
    False: ("{text} This is about ___.", "{text} In a word: ___.", "{text} ( ___ )"),
    True: ("{text}这是关于___的。", "{text}总之，___。", "{text}（___）"),
}
_TWO = {
    False: ("{text}? ___, {text_b}", '"{text}"? ___, "{text_b}"', "{text}? ___. {text_b}"),
    True: ("{text}？___，{text_b}", "“{text}”？___，“{text_b}”", "{text}？___。{text_b}"),
}
# The same for models that read left to right.
_BEHIND_TWO = {
    False: ("{text} {text_b}? ___", '"{text}" "{text_b}"? ___', "{text} {text_b} ( ___ )"),
    True: ("{text}{text_b}？___", "“{text}”“{text_b}”？___", "{text}{text_b}（___）"),
}
_IN_TEXT = ("{text}",)  # which has the blank itself, as ChID's
_CHOICE = {False: ("{text} ___",), True: ("{text}___",)}
# PET's words for entailment and paraphrase (arXiv:2001.07676 §4, arXiv:2009.07118).
_YES = {"entailment": "Yes", "neutral": "Maybe", "contradiction": "No", "not_entailment": "No"}
_LETTERS = 4  # that say as much as one Chinese character, roughly


def usual_templates(task: Task, examples: Sequence[Example], *, between: bool = True) -> tuple[str, ...]:
    """Some that say little, but fit, the plainest first. `between`: may the blank stand before a text?"""
    chinese = _chinese(examples)
    if not isinstance(task, LabelTask):
        return _IN_TEXT if all(slot_in_text(one.texts[0]) for one in examples) else _CHOICE[chinese]
    return (_ONE if task.texts != 2 else _TWO if between else _BEHIND_TWO)[chinese]


def usual_words(task: Task) -> tuple[LabelWords, ...]:
    """Of labels that are known from the data sets; else the labels say themselves."""
    if not isinstance(task, LabelTask):
        return ()
    if task.labels and all(label in _YES for label in task.labels):
        return tuple(LabelWords(label=label, words=(_YES[label],)) for label in task.labels)
    if task.texts == 2 and set(task.labels) == {"0", "1"}:
        return (LabelWords(label="0", words=("No",)), LabelWords(label="1", words=("Yes",)))
    return ()


def refuse_kind(task: Task) -> None:
    """A prompt answers with words."""
    if not isinstance(task, LabelTask) and task.kind != "multiple-choice":
        raise PlumeError(
            f"A prompt answers by words in a blank, and {task.kind} is not answered so: it is for classification, paraphrase, nli and "
            "multiple-choice."
        )


def _chinese(examples: Sequence[Example]) -> bool:
    mix = [language_mix(example.texts[0]) for example in examples[:100]]
    return _LETTERS * sum(one.han for one in mix) > sum(one.latin for one in mix)
