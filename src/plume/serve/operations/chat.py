"""What the assistant says next: models that were tuned on dialogue, over all conversations, which join while others are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plume.core.errors import PlumeError
from plume.model.use.completions import CompletionOptions
from plume.serve.errors import BadRequest, Unreadable
from plume.serve.models.opened import Opened
from plume.serve.operations._completing import Completing, CompletionReady, check_bias, ready, warm_up
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.dialogue import Dialogue


@dataclass(frozen=True, kw_only=True)
class ChatAsked:
    """A conversation, as `TunedModel.reply` takes it; `max_tokens` None: as many as training suggests, whatever the options say."""

    messages: Sequence[Mapping[str, Any]]
    options: CompletionOptions
    max_tokens: int | None = None


class Chat(Completing[ChatAsked]):
    """Replies without the spaces around them."""

    name = "chat"
    field = "messages"

    def able(self, opened: Opened) -> bool:
        return isinstance(opened.content, TunedModel) and any(isinstance(task, Dialogue) for task in opened.content.tasks)

    def characters(self, asked: ChatAsked) -> int:
        return sum(len(str(message.get("content", ""))) for message in asked.messages)

    def prepare(self, opened: Opened, asked: ChatAsked) -> CompletionReady:
        if not self.able(opened):
            raise BadRequest(
                f"'{opened.name}' was not tuned to converse. Tune a model that writes: plume tune MODEL --task dialogue --train turns.jsonl "
                "--out DIRECTORY, and serve that. /v1/completions goes on with a text as it is.",
                param="model",
            )
        check_bias(opened, asked.options)
        try:
            begun = opened.tuned.begin_reply(asked.messages, max_tokens=asked.max_tokens)
        except PlumeError as error:
            raise Unreadable(str(error), param="messages") from None
        return ready([(begun, replace(asked.options, max_tokens=begun.room))], trims=True)

    def warm_up(self, opened: Opened) -> None:
        warm_up(opened, lambda: opened.tuned.begin_reply("a", max_tokens=1))


OPERATION = Chat()
