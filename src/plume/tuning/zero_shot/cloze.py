"""Labels read off a cloze (PET, arXiv:2001.07676 §3): how likely is each one's wording in a sentence that follows the text?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from plume.model.use.abilities import Abilities
from plume.readers.example import Example
from plume.train.device import to_device
from plume.tuning.prompts.finding import blank_of
from plume.tuning.prompts.layout import PromptLayout
from plume.tuning.prompts.questions import prompt_questions
from plume.tuning.prompts.scoring import LabelScores
from plume.tuning.prompts.template import SLOT, TEXTS, with_text
from plume.tuning.rows.questions import inference_batches
from plume.tuning.zero_shot.blanks import LONGEST


class Cloze:
    """One template over one model; `labels` are words, or several of each. Scores are mean log-probabilities of a label's tokens."""

    def __init__(self, can: Abilities, template: str, labels: Sequence[str | Sequence[str]], *, left_to_right: bool = False) -> None:
        self.can, self.labels = can, len(labels)
        self.blank = blank_of(can, left_to_right=left_to_right)
        length = can.model.recipe.positions.longest or LONGEST
        words = [(label,) if isinstance(label, str) else label for label in labels]
        self.layout = PromptLayout(with_text(template), words, self.blank, can.tokenizer, length=length, name=can.name)
        self.room = self.layout.room(self.layout.fillers)
        self.scorer = LabelScores(can.model.head(self.blank.objective))

    @torch.inference_mode()
    def scores(self, texts: Sequence[str], *, language: str | None = None) -> NDArray[np.float64]:
        """[texts, labels] in nats. A text that is too long is cut at its end, the template never. A row has the text's language."""
        asked = self.layout.lay_out([Example(texts=(text,)) for text in texts])
        nobody = np.zeros((len(texts), self.labels), np.float32)
        questions = prompt_questions("cloze", self.layout, asked, value=nobody, languages=self._languages(texts, language))
        table = np.zeros((len(texts), nobody.shape[1]))
        for index in inference_batches(questions):
            batch = to_device(questions.batch(index), self.can.device)
            found = self.scorer.scores(self.can.model.token_states(batch), batch.labels["cloze"])
            table[index] = found.double().cpu().numpy()
        return table

    def _languages(self, texts: Sequence[str], said: str | None) -> list[int] | None:
        """[texts]; of no text, that of the template."""
        if self.can.model.languages is None:
            self.can.check_language(said)
            return None
        template = self.layout.template
        for name in TEXTS:
            template = template.replace(name, " ")
        read = [text or SLOT.sub(" ", template) for text in texts]
        found = [self.can.language(*one, said) for one in zip(read, self.can.tokenizer.encode(read), strict=True)]
        return [number for number in found if number is not None]
