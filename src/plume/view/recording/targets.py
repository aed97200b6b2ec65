"""What a decoder reads while an encoder–decoder is looked into: the answer that was given, or the model's own."""

from __future__ import annotations

from plume.tuning.adapting.decoder_rows import decoder_start
from plume.view.recording.subject import Subject
from plume.view.recording.texts import SPECIAL, TextRead, shown

_ROOM = 32  # tokens of an answer of its own


def decoder_text(subject: Subject, text: str, read: TextRead, target: str | None) -> TextRead:
    """The decoder's tokens, shifted: each row of its attention is the place where the next token is predicted.

    A tuned model whose head reads the decoder gives it the text itself (BART §3.1).
    """
    can, tuned = subject.can, subject.tuned
    if target is None and tuned is not None and not tuned.model.writing:
        start = next((found for one in tuned.tasks if (found := decoder_start(tuned.model, one.called, tuned.tokenizer)) is not None), None)
        tokens = [can.start if start is None else start, *read.tokens[:-1]]
        return TextRead(tokens=tokens, names=shown(can.tokenizer, tokens), text=[SPECIAL, *read.text[:-1]])
    answer = own_answer(subject, text) if target is None else target
    ids, kind = can.tokenizer.encode([answer])[0], can.decoder()
    opening = [] if kind is None else can.opening(kind)
    tokens = [can.start, *opening, *ids]
    owner = [SPECIAL] * (1 + len(opening)) + [0] * len(ids)
    can.check_length(tokens, answer)
    return TextRead(tokens=tokens, names=shown(can.tokenizer, tokens), text=owner)


def own_answer(subject: Subject, text: str) -> str:
    """What the model writes after reading the text, the likeliest token each time."""
    return subject.body.generate("", source=text, greedy=True, max_tokens=_ROOM, echo=False)
