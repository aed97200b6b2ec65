"""Opened: a directory that is served, loaded and ready to be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._preferred import preferred_runtime
from plume.search.index import Index
from plume.serve.errors import BadRequest
from plume.serve.models.runtimes import with_runtime
from plume.serve.models.served import Served, ServedKind
from plume.serve.settings import ServeSettings
from plume.static.model import WordModel
from plume.tuning.loaded import load
from plume.tuning.tuned import TunedModel

Content = LanguageModel | WordModel | TunedModel | Index


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What was loaded, with what operations ask of it: each refuses what this model is not."""

    served: Served
    content: Content
    bytes: int  # in memory, about
    runtime: str = "torch"  # what embeds
    shares: Opened | None = None  # an index: the model that embeds its queries, if that is served too

    @property
    def name(self) -> str:
        """Under which it is served."""
        return self.served.name

    @cached_property
    def language_model(self) -> LanguageModel:
        """To embed, fill, generate, score and look inside; of a tuned model the one below."""
        if isinstance(self.content, LanguageModel):
            return self.content
        if isinstance(self.content, TunedModel):
            try:
                return self.content.body
            except PlumeError:  # word vectors or terms below
                pass
        raise self._refusal("holds no language model")

    @cached_property
    def width(self) -> int:
        """Of its vectors."""
        return self.content.width if isinstance(self.content, WordModel) else self.language_model.width

    @property
    def tuned(self) -> TunedModel:
        """To predict with."""
        if not isinstance(self.content, TunedModel):
            raise self._refusal("was not fine-tuned for a task")
        return self.content

    @property
    def words(self) -> WordModel:
        """To ask for words that are alike."""
        if not isinstance(self.content, WordModel):
            raise self._refusal("holds no word vectors")
        return self.content

    @property
    def index(self) -> Index:
        """To search."""
        if not isinstance(self.content, Index):
            raise self._refusal("is no index")
        return self.content

    def has(self, part: Callable[[Opened], object]) -> bool:
        """Is it one of those? `opened.has(lambda one: one.tuned)`"""
        try:
            part(self)
        except BadRequest:
            return False
        return True

    def can(self, verb: str) -> bool:
        """Was it trained to do that: fill, generate, score?"""
        return self.has(lambda one: one.language_model) and verb in self.language_model.abilities.verbs()

    def close(self) -> None:
        """Let go of files."""
        if isinstance(self.content, Index):
            self.content.close()

    def _refusal(self, what: str) -> BadRequest:
        return BadRequest(f"'{self.name}' ({self.served.kind.value}) {what}.", param="model")


def open_served(served: Served, settings: ServeSettings, maker: Opened | None = None) -> Opened:
    """Load it; takes seconds. An index asks its maker, if that is loaded already, and needs no copy of its own."""
    if served.kind is ServedKind.INDEX:
        index = Index.open(served.folder, model=None if maker is None else _faithful(maker))
        return Opened(served=served, content=index, bytes=served.bytes if maker is None else 0, shares=maker)
    content = load(served.folder, device=settings.device, runtime="torch")
    if isinstance(content, WordModel):
        return Opened(served=served, content=content, bytes=served.bytes, runtime="table")
    content, runtime = with_runtime(content, settings.runtime or preferred_runtime(served.folder))
    copies = {"torch": 1.0, "onnx": 2.0, "onnx-int8": 1.25, "torch-int8": 1.25}[runtime]  # torch's weights stay, for all but embedding
    return Opened(served=served, content=content, bytes=int(served.bytes * copies), runtime=runtime)


def _faithful(maker: Opened) -> Embedder:
    """With the same weights, and vectors like those in the index: int8's are somewhat off."""
    content = maker.content
    assert not isinstance(content, Index), "indexes make no vectors"
    return content.using("torch") if maker.runtime == "onnx-int8" and not isinstance(content, WordModel) else content


def checked_verb(opened: Opened, verb: str) -> None:
    """Refuse what a language model was not trained to do."""
    can = opened.language_model.abilities
    if verb not in can.verbs():
        raise BadRequest(f"'{opened.name}' ({can.name}) cannot {verb}. {can.words()}", param="model")


def checked_language(opened: Opened, language: str | None) -> None:
    """Refuse a language that the model does not tell apart."""
    try:
        opened.language_model.abilities.check_language(language)
    except PlumeError as error:
        raise BadRequest(str(error), param="language") from None
