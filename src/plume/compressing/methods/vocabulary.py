"""Vocabulary: tokens that a text never uses are taken out, and tokenizer and tables shrink together; other text falls into smaller pieces."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.recovering import finish_shrunk
from plume.compressing.shrinking.method import Shrinking
from plume.compressing.shrinking.tuned import network_of, with_body
from plume.compressing.shrinking.used_tokens import count_needed, needed_texts
from plume.compressing.shrinking.vocabulary import network_with_tokens
from plume.compressing.shrinking.words import frequent_words, save_with_words, word_body_with
from plume.core.errors import PlumeError
from plume.core.files import write_folder
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel
from plume.text.fewer_tokens import Ids, choose_tokens
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.linear.model import LinearModel
from plume.tuning.loaded import Loaded, load
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class FewerTokens(Shrinking):
    """What occurs in `--text`, and in what the model was tuned on, stays. Nothing is learned again unless `recover` says so: no number changes."""

    keep: float | None = None  # of the tokens, the most frequent: a share up to 1, or their number; None: all that occur
    at_least: int = 1  # times that a token must occur
    characters: bool = True  # do single ones stay that never occur? Without them some texts have unknown tokens
    recover: bool | None = False

    def reads_text(self, *, tuned: bool) -> bool:
        return True

    def run(self, job: CompressionJob) -> str | None:
        model = load(job.source)
        if isinstance(model, WordModel):
            kept, also = self._chosen(job, model), frequent_words(model, needed_texts(job, model), self.at_least)
            write_folder(job.folder, lambda folder: save_with_words(model, job.source, folder, kept, also))
            return None
        if isinstance(model, LinearModel):
            raise PlumeError(f"{job.source} is made of a task's terms alone: it has no vocabulary to take tokens out of.")
        return finish_shrunk(job, self.smaller(job, model), recover=self.recover)

    def smaller(self, job: CompressionJob, model: TunedModel | LanguageModel) -> TunedModel | LanguageModel:
        kept = self._chosen(job, model)
        if isinstance(model, TunedModel) and isinstance(model.model.body, WordBody):
            words = model.embedder
            assert isinstance(words, WordModel), "word vectors are below"
            body, fewer = word_body_with(words, kept, frequent_words(words, needed_texts(job, model), self.at_least))
            return with_body(model, body, tokenizer=fewer)
        network, fewer = network_with_tokens(network_of(model), model.tokenizer, kept)
        if isinstance(model, TunedModel):
            return with_body(model, network, tokenizer=fewer)
        return LanguageModel(network, fewer, model.sentence)

    def _chosen(self, job: CompressionJob, model: Loaded) -> Ids:
        size = model.tokenizer.size
        if self.keep is not None and not 0 < self.keep <= size:
            raise PlumeError(f"--keep is a share of the {size:,} tokens, such as 0.5, or a number of them, not {self.keep:g}.")
        most = None if self.keep is None else round(self.keep * size if self.keep <= 1 else self.keep)
        return choose_tokens(model.tokenizer, count_needed(job, model), at_least=self.at_least, most=most, characters=self.characters)


METHOD = FewerTokens()
