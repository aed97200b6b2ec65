"""Going on with a text, by the way each family was trained to write."""

from __future__ import annotations

import torch

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities, Said
from plume.model.use.generate import Sampling, write
from plume.model.use.writers import CausalWriter, DecoderWriter, MaskWriter, QueryWriter, SpanWriter, Writer
from plume.noise.decoder_target import Continuation, TheSpan
from plume.noise.sentinels import SpansAfterSentinels
from plume.text.control import require_control_id


@torch.inference_mode()
def continuation(
    can: Abilities,
    prompt: str,
    *,
    room: int,
    sampling: Sampling,
    code: str | None = None,
    source: str | None = None,
    language: Said = None,
) -> str:
    """The prompt and what follows it; of a decoder that writes a text of its own, that text. After a source, both belong to the answer."""
    ids = can.tokenizer.encode([prompt])[0]
    first = _coded(can, code)
    spoken = can.language(prompt, ids, language) if can.causal() or language is not None else None
    if source is None and (kind := can.decoder()):
        return _decoded(can, kind, ids, prompt, room=room, sampling=sampling)
    writer, used = _writer(can, first + ids, spoken) if source is None else answerer(can, source, ids)
    longest = can.model.recipe.positions.longest
    if longest is not None and used >= longest:
        raise PlumeError(f"The prompt has {used} tokens; this model reads at most {longest}, and must have room to write.")
    room = room if longest is None else min(room, longest - used)
    written = write(writer, room=room, stop=can.end, sampling=sampling, before=first + ids)
    return can.tokenizer.decode(ids + written)


def answerer(can: Abilities, source: str, begun: list[int]) -> tuple[Writer, int]:
    """A writer that has read the source, and goes on from how its answer begins; and how many positions are taken before it writes."""
    frame = can.frame(can.tokenizer.encode([source])[0])
    can.check_length(frame, source)
    if kind := can.decoder():
        begin = [can.start, *can.opening(kind), *begun]
        return DecoderWriter(can.model, can.head(kind), frame, begin), len(begin) - 1
    if kind := can.masks_after_text():
        first, second = kind.noise.segments or (0, 1)
        read = can.tensor([frame])
        batch = Batch(tokens=read, segment=torch.full_like(read, first))
        return MaskWriter(can.model, can.head(kind), begun, can.mask, segment=second, source=batch), len(frame) + len(begun)
    raise PlumeError(f"{can.name} has no decoder: a source is only for models that write after reading one. {can.words()}")


def _writer(can: Abilities, ids: list[int], language: int | None) -> tuple[Writer, int]:
    """And how many positions are taken before it writes."""
    prompt = ids or [can.tokenizer.separator]
    if kind := can.causal():
        return CausalWriter(can.model, can.head(kind), prompt, segment=language), len(prompt)
    if kind := can.spans():
        text = can.frame([*ids, can.mask])
        return SpanWriter(can.model, can.head(kind), text, text.index(can.mask), can.start), len(text) + 1
    if kind := can.left_to_right_masks():
        begin = [] if can.tokenizer.begin is None else [can.tokenizer.begin]
        segment = kind.noise.segments[0] if kind.noise.segments else None
        return MaskWriter(can.model, can.head(kind), begin + ids, can.mask, segment=segment), len(begin + ids) + 1
    if (kind := can.permuted()) and can.model.recipe.assembly.writes:
        return QueryWriter(can.model, can.head(kind), prompt, can.mask), len(prompt)
    raise PlumeError(f"{can.name} cannot generate: it does not read left to right. {can.words()}")


def _decoded(can: Abilities, kind: BatchKind, ids: list[int], prompt: str, *, room: int, sampling: Sampling) -> str:
    """What the decoder writes: after the text where it was trained to go on or to fill, else instead of it."""
    target = kind.noise.target
    head = can.head(kind)
    longest = can.model.recipe.positions.longest
    room = room if longest is None else min(room, longest - 1)
    if isinstance(target, SpansAfterSentinels):
        sentinel = can.tokenizer.id(can.tokenizer.format.sentinel_tokens()[0])
        assert sentinel is not None, "a format's tokens are in its tokenizer"
        source = can.frame([*ids, sentinel])
        can.check_length(source, prompt)
        writer = DecoderWriter(can.model, head, source, [can.start, sentinel])
        written = write(writer, room=room, stop=can.end, sampling=sampling, before=ids)
        following = set(can.tokenizer.special_ids.tolist())
        cut = next((number for number, token in enumerate(written) if token in following), len(written))
        return can.tokenizer.decode(ids + written[:cut])
    if isinstance(target, TheSpan):
        return _to_the_end(can, kind, ids, prompt, room=room, sampling=sampling)
    source = can.frame(ids)
    can.check_length(source, prompt)
    goes_on = isinstance(target, Continuation)
    writer = DecoderWriter(can.model, head, source, [can.start])
    written = write(writer, room=room, stop=can.end, sampling=sampling, before=ids if goes_on else ())
    return can.tokenizer.decode(ids + written if goes_on else written)


def _to_the_end(can: Abilities, kind: BatchKind, ids: list[int], prompt: str, *, room: int, sampling: Sampling) -> str:
    """MASS: what follows is the hidden end of a text whose beginning is the prompt.

    As in training so much is hidden that it is the noise's share of the whole, the token that closes the text counted in: there the model
    learned to stop. One that never had to write that token sees it, behind as many masks as there is room.
    """
    text = can.frame([*ids, can.mask])
    can.check_length(text, prompt)
    begin, longest, share = text.index(can.mask), can.model.recipe.positions.longest, kind.noise.select.share
    room = max(1, room if longest is None else min(room, longest - len(text) + 1))
    hidden = min(room + 1, round(begin * share / (1 - share))) if kind.noise.closes else room
    source = [*text[:begin], *[can.mask] * max(hidden, 1), *([] if kind.noise.closes else text[begin + 1 :])]
    writer = DecoderWriter(can.model, can.head(kind), source, text[begin - 1 : begin] or [can.start], position=max(begin - 1, 0))
    return can.tokenizer.decode(ids + write(writer, room=room, stop=can.end, sampling=sampling, before=ids))


def _coded(can: Abilities, code: str | None) -> list[int]:
    """The control code's token, for a family that writes by code (CTRL)."""
    return [] if code is None else [require_control_id(can.tokenizer, code)]
