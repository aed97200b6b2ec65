"""Pages that look inside a model: attention, predictions by layer, gradients of an answer (`plume.view`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.model.gating import gated_places, heads_of
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.use.language_model import LanguageModel
from plume.serve.errors import BadRequest, EmptyText, TooLarge
from plume.serve.models.about import about
from plume.serve.models.apart import apart
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens
from plume.tuning.tuned import TunedModel
from plume.view.attending import VIEWS, attention_page
from plume.view.inside import gradients_page, predictions_page
from plume.view.page import Page
from plume.view.recording.subject import subject_of
from plume.view.recording.switching import MOST as SWITCHED

_ATTENTION = 8_000_000  # weights on a page, all heads together: of MiniLM 333 tokens
_TOKENS = {"predictions": 128, "gradients": 512}  # each is hidden in turn, or read along the whole path


@dataclass(frozen=True, kw_only=True)
class ViewAsked:
    """What `plume view` is told: the page's language is `page`, that of the text `language`."""

    view: str
    text: str
    pair: str | None = None
    target: str | None = None
    task: str | None = None
    language: str | None = None
    page: str = "en"
    beside: int = 0  # other models on the same page, which share its limit


@dataclass(frozen=True, kw_only=True)
class ViewReady(Prepared):
    """The same, checked."""

    asked: ViewAsked


class ViewPages(Operation[ViewAsked, ViewReady, Page]):
    """One page each. It is computed on a model that shares its weights with the one served, and nothing else."""

    name = "view"
    field = "text"

    def able(self, opened: Opened) -> bool:
        return bool(about(opened).views)

    def characters(self, asked: ViewAsked) -> int:
        return len(asked.text) + len(asked.pair or "") + len(asked.target or "")

    def prepare(self, opened: Opened, asked: ViewAsked) -> ViewReady:
        known = about(opened).views
        if asked.view not in known:
            has = f"there are {', '.join(known)}" if known else "there is nothing to look at"
            raise BadRequest(f"'{opened.name}' has no view '{asked.view[:60]}': {has}.", param="view")
        if asked.beside and asked.view not in VIEWS:
            raise BadRequest(
                f"The view '{asked.view}' shows one model: leave out against. Two can be seen in {', '.join(VIEWS)}.", param="against"
            )
        _check_fields(opened, asked)
        texts = [one for one in (asked.text, asked.pair, asked.target) if one]
        if not asked.text.strip():
            raise EmptyText("The text is empty.", param="text")
        tokens = sum(map(about_tokens, texts))
        if tokens < 8192:  # more are too many by any measure: nothing is spent on them
            tokens = _tokens(opened, texts)
        most = _most(opened, asked)
        if tokens > most:
            raise TooLarge(f"{tokens:,} tokens; this view takes up to {most:,} of '{opened.name}': give a shorter text.", param="text")
        return ViewReady(cost=tokens, group=object(), asked=asked)

    def run(self, opened: Opened, prepared: Sequence[ViewReady]) -> list[Page]:
        content = opened.content
        assert isinstance(content, LanguageModel | TunedModel), "refused before"
        return [_page(apart(content), opened.name, one.asked) for one in prepared]


def _check_fields(opened: Opened, asked: ViewAsked) -> None:
    """What only some models take."""
    if asked.task is not None:
        try:
            opened.tuned.task(asked.task)
        except PlumeError as error:
            raise BadRequest(str(error), param="task") from None
    if asked.target is not None and asked.view in VIEWS and not isinstance(subject_of(opened.content).network, EncoderDecoderModel):
        raise BadRequest(
            f"'{opened.name}' has no decoder: leave out target; two texts that are read together are text and pair.", param="target"
        )


def _page(model: LanguageModel | TunedModel, name: str, asked: ViewAsked) -> Page:
    if asked.view == "predictions":
        return predictions_page(model, asked.text, written=asked.target, said=asked.language, name=name, language=asked.page)
    if asked.view == "gradients":
        assert isinstance(model, TunedModel), "refused before"
        item = asked.text if asked.pair is None else (asked.text, asked.pair)
        return gradients_page(model, item, task=asked.task, name=name, language=asked.page)
    return attention_page(
        [subject_of(model, name)], asked.text, pair=asked.pair, target=asked.target, view=asked.view, task=asked.task,
        said=asked.language, language=asked.page,
    )  # fmt: skip


def _tokens(opened: Opened, texts: list[str]) -> int:
    """As the model cuts them; roughly, where nothing below reads tokens."""
    try:
        return sum(len(pieces.ids) for pieces in opened.language_model.tokenizer.encode_pieces(texts))
    except PlumeError:
        return sum(map(about_tokens, texts))


def _most(opened: Opened, asked: ViewAsked) -> int:
    if asked.view in _TOKENS:
        return _TOKENS[asked.view]
    subject = subject_of(opened.content, opened.name)
    heads = sum(sum(heads_of(stack, place)) for place, stack in gated_places(subject.network).items())
    if asked.view == "switch":
        return SWITCHED // heads
    return int((_ATTENTION / heads / (1 + asked.beside)) ** 0.5)


OPERATION = ViewPages()
