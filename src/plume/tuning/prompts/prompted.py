"""A task answered through a blank, by the head that the model was pre-trained with (PET, arXiv:2001.07676)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import HeadModule
from plume.model.use.abilities import Abilities
from plume.readers.example import Example
from plume.text.pieces import bounds
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import Body, network
from plume.tuning.kinds.labelling import LabelTask, softmax
from plume.tuning.prompts.blank import PromptBlank
from plume.tuning.prompts.demonstrations import Demonstrations, Shown
from plume.tuning.prompts.finding import blank_of
from plume.tuning.prompts.layout import PromptLayout
from plume.tuning.prompts.prefixes import table_by_prefixes
from plume.tuning.prompts.prompt import Prompt
from plume.tuning.prompts.questions import PromptQuestions, prompt_questions
from plume.tuning.prompts.scoring import LabelScores
from plume.tuning.prompts.showing import ShownLayout
from plume.tuning.prompts.template import without_soft
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Answering, Prediction, Responses, mark_cut
from plume.tuning.wrapped import WrappedTask


@dataclass(frozen=True, kw_only=True)
class Prompted(WrappedTask):
    """Labels have words, choices are words; which is likelier where the blank is?"""

    prompt: Prompt
    blank: PromptBlank | None = None  # the model's, found when the two meet
    soft_from: int = 0  # the id of the first token that is learned: behind the model's vocabulary
    prior: tuple[float, ...] = ()  # log-probability of each label whatever the text is, taken off; empty: nothing is
    demonstrations: Demonstrations | None = None  # examples that are shown beside each
    nothing: tuple[str, ...] = ()  # texts that say nothing; what labels are worth for them, with the same demonstrations, is taken off

    # Before training

    def learned(self, examples: Sequence[Example]) -> Self:
        made = super().learned(examples)
        if isinstance(made.task, LabelTask):
            made.prompt.words_of(made.labels)
        return made

    def suited(self, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> Self:
        """With the model's way to say what stands in a blank; of a run that goes on it is known."""
        if self.blank is not None:
            return self
        model = network(body, "Word vectors fill no blanks: a prompt needs a model that predicts tokens, such as bert, gpt2 or t5.")
        blank = blank_of(Abilities(model, tokenizer), left_to_right=self.prompt.left_to_right)
        made = replace(self, blank=blank, soft_from=body.vocabulary)
        made.layout(tokenizer, length=body.longest or 512, name=model.recipe.name)  # refuses what cannot be said
        return made

    def anew(self) -> Self:
        """For a student, which has not learned the teacher's tokens. Shown examples and calibration are in the scores that it is taught."""
        prompt = replace(self.prompt, template=without_soft(self.prompt.template))
        return replace(self, prompt=prompt, blank=None, prior=(), nothing=(), demonstrations=None)

    def over_tokens(self, body: Body, tokenizer: Tokenizer) -> Self:
        return replace(self, blank=None).suited(body, tokenizer, ())

    def layout(self, tokenizer: Tokenizer, *, length: int, name: str = "", template: str | None = None) -> PromptLayout:
        """Rows of this prompt, or of another template."""
        assert self.blank is not None, "a task is fitted to its model before it reads"
        made = PromptLayout(
            template or self.prompt.template,
            self.prompt.words_of(self.labels) if isinstance(self.task, LabelTask) else None,
            self.blank,
            tokenizer,
            length=length,
            texts=self.task.texts or 1 if isinstance(self.task, LabelTask) else 1,
            name=name,
            soft_from=self.soft_from,
        )
        if made.words is not None:
            _refuse_alike(made, self.labels)
        return made

    # Rows

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[PromptQuestions, Counter[str]]:
        chosen = None
        if self.demonstrations is not None and not self.demonstrations.choice.by_vectors:
            chosen = self.demonstrations.chosen(examples)
        return self.asked(examples, coder, chosen)

    def asked(
        self, examples: Sequence[Example], coder: Coder, chosen: Sequence[tuple[Shown, ...]] | None
    ) -> tuple[PromptQuestions, Counter[str]]:  # fmt: skip
        """The same with those demonstrations beside each example; None: with none."""
        layout = self.layout(coder.tokenizer, length=coder.length)
        if self.demonstrations is None or chosen is None:
            laid = layout.lay_out(examples)
        else:
            own = ShownLayout(partial(self._other, coder), self.prompt.template, self.demonstrations)
            laid = own.lay_out(examples, chosen)
        told = coder.languages_of(examples, [coder.cut([one.texts[0] for one in examples])])
        made = prompt_questions(
            self.called, layout, laid, value=self._shares(examples), languages=None if told is None else told[:, 0].tolist()
        )
        return made, Counter({f"texts cut to fit the prompt in {coder.length} tokens": sum(one.cut for one in laid)})

    def _other(self, coder: Coder, template: str) -> PromptLayout:
        return self.layout(coder.tokenizer, length=coder.length, template=template)

    def renewed(self, model: Answering, examples: Sequence[Example], epoch: int) -> Questions | None:
        if self.demonstrations is None or not self.demonstrations.choice.renews:
            return None
        return self.asked(examples, model.coder(), self.demonstrations.chosen(examples, embed=model.body.embed, epoch=epoch))[0]

    def _shares(self, examples: Sequence[Example]) -> Floats:
        """[G, L] 1 for the right label; 0 everywhere where nobody knows."""
        number = {label: place for place, label in enumerate(self.labels)} if isinstance(self.task, LabelTask) else {}
        wide = len(self.labels) if number else max(len(one.texts) - 1 for one in examples)
        shares = np.zeros((len(examples), wide), np.float32)
        for row, example in enumerate(examples):
            place = number.get(example.answer) if number else example.answer
            if place is not None:
                shares[row, place] = 1
        return shares

    # Network

    @property
    def objective(self) -> str:
        assert self.blank is not None, "a task is fitted to its model before it is answered"
        return self.blank.objective

    def over(self, head: HeadModule) -> HeadModule:
        return LabelScores(head)

    # Answers

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        table, questions, notes = self._scored(model, examples)
        return mark_cut(self.answers(table, questions, examples), questions), notes

    def taught(self, model: Answering, examples: Sequence[Example]) -> Floats:
        """[G, L] the scores that it decides by, as a student learns them: with what is shown, and what labels are worth taken off."""
        return self._less_prior(self._scored(model, examples)[0])

    def _scored(self, model: Answering, examples: Sequence[Example]) -> tuple[Floats, PromptQuestions, Counter[str]]:
        chosen = None if self.demonstrations is None else self.demonstrations.chosen(examples, embed=model.body.embed)
        questions, notes = self.asked(examples, model.coder(), chosen)
        table = self._table(model, questions)
        if self.nothing and self.labels:
            table = table - self._worth(model, examples, chosen)
        return table, questions, notes

    def _less_prior(self, table: Floats) -> Floats:
        return table - np.array(self.prior, np.float32) if self.prior else table

    def _table(self, model: Answering, questions: PromptQuestions) -> Floats:
        return model.table(questions) if questions.shared is None else table_by_prefixes(model.body.abilities, questions)

    def _worth(self, model: Answering, examples: Sequence[Example], chosen: Sequence[tuple[Shown, ...]] | None) -> Floats:
        """[G, L] the labels' log-probabilities for texts that say nothing, with the same demonstrations as each example has."""
        each = list(dict.fromkeys(chosen or [()] * len(examples)))
        texts = [Example(texts=(text,) * len(examples[0].texts)) for _ in each for text in self.nothing]
        shown = [one for one in each for _ in self.nothing] if chosen else None
        table = self._table(model, self.asked(texts, model.coder(), shown)[0])
        worth = np.log(softmax(table).reshape(len(each), len(self.nothing), -1).mean(1))
        place = {one: number for number, one in enumerate(each)}
        return worth[[place[one] for one in chosen]] if chosen else worth[[0] * len(examples)]

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        table = self._less_prior(table)
        if isinstance(self.task, LabelTask):
            return self.task.answers(table, questions, examples)
        # A line for each choice, as the task has it.
        many = [len(one.texts) - 1 for one in examples]
        lines = np.concatenate([row[:count] for row, count in zip(table, many, strict=True)])[:, None]
        return self.task.answers(lines, replace(questions, groups=bounds(many)), examples)

    def calibrated(self, model: Answering, texts: Sequence[Example]) -> Self:
        """With the labels' probabilities for texts that say nothing, or for all there are, taken off (arXiv:2102.09690 §5)."""
        table = self._table(model, self.questions(texts, model.coder())[0])
        return replace(self, prior=tuple(np.log(softmax(table).mean(0)).round(6).tolist()))


def _refuse_alike(layout: PromptLayout, labels: Sequence[str]) -> None:
    """Words that this tokenizer cuts into the same tokens could not be told apart."""
    known: dict[tuple[int, ...], int] = {}
    for one in layout.fillers:
        other = known.setdefault(one.said.word, one.label)
        if other != one.label:
            raise PlumeError(
                f"This model's tokenizer cannot tell the words of '{labels[other]}' from those of '{labels[one.label]}': say one in other words."
            )
