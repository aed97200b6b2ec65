"""Going on with texts, by the way each family was trained to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from plume.core.batch import Batch
from plume.core.batching import by_length
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities, Said
from plume.model.use.generate import write
from plume.model.use.joint_writer import JointWriter, can_join
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted
from plume.model.use.streaming import pieces
from plume.model.use.writers import AfterTextWriter, CausalWriter, DecoderWriter, MaskWriter, QueryWriter, SpanWriter, Writer
from plume.noise.decoder_target import Continuation, TheSpan
from plume.noise.sentinels import SpansAfterSentinels
from plume.text.control import require_control_id

_ROWS = 64  # that are written at once, the beams of each counted


@dataclass(frozen=True, kw_only=True)
class Begun:
    """One text to go on with, laid out as the family reads it."""

    writer: Callable[[Abilities, Sequence[Begun]], Writer]  # that goes on with several of its kind
    room: int  # tokens that are written at most
    joint: Callable[[Abilities, Sequence[Begun]], JointWriter] | None = None  # … where texts of any length may join; None: they cannot
    prompt: Sequence[int] = ()  # what the writer goes on from
    source: Sequence[int] | None = None  # what is read as a whole before
    place: int = 0  # where what is written stands: a decoder's position (MASS), the blank of the source (GLM)
    language: int | None = None
    text: Sequence[int] = ()  # what stands before the written tokens in the answer
    said: Sequence[int] = ()  # what counts as said already
    ends: frozenset[int] = frozenset()  # tokens that end it, besides the family's own
    spread: float = 0.0  # by how much texts that are written together may differ in length


def begin(
    can: Abilities,
    prompt: str | Sequence[int],
    *,
    room: int,
    code: str | None = None,
    source: str | None = None,
    language: Said = None,
    suffix: str = "",
    place: str = "",
) -> Begun:
    """A prompt that is gone on with; of a decoder that writes a text of its own, what it reads. After a source, how the answer begins.

    It is a text, or its token ids; what is written stands between it and a `suffix`, where there is one. `place` says which of several texts
    it is.
    """
    ids, prompt = _ids(can, prompt)
    first = _coded(can, code)
    spoken = can.language(prompt, ids, language, place=place) if can.causal() or language is not None else None
    if suffix and (source is not None or not inserts(can)):
        raise PlumeError(f"{can.name} does not write between two texts, or not after a source: leave suffix out. GLM and T5 do.")
    after = can.tokenizer.encode([suffix])[0] if suffix else []
    if source is not None:
        return replace(answering(can, source, ids, room=room), said=first + ids)
    if kind := can.decoder():
        return _decoding(can, kind, ids, prompt, after, room=room)
    return replace(_going_on(can, first + ids, spoken, after, room=room), text=ids, said=first + ids)


def inserts(can: Abilities) -> bool:
    """Can it write what stands between two texts: as the span of a blank (GLM), or of a sentinel (T5)?"""
    kind = can.decoder()
    return (can.spans() is not None and can.causal() is None) if kind is None else isinstance(kind.noise.target, SpansAfterSentinels)


def answers(can: Abilities) -> bool:
    """Can it write after reading a source?"""
    return any(kind is not None for kind in (can.decoder(), can.after_text(), can.masks_after_text()))


def answering(can: Abilities, source: str, begun: list[int], *, room: int) -> Begun:
    """An answer that begins with some tokens, after a source that is read as a whole."""
    frame = can.frame(can.tokenizer.encode([source])[0])
    can.check_length(frame, source)
    if kind := can.decoder():
        prompt = [can.start, *can.opening(kind), *begun]
        return Begun(
            writer=_decoder, spread=DecoderWriter.spread, source=frame, prompt=prompt, text=begun, room=_fitting(can, len(prompt) - 1, room)
        )  # fmt: skip
    used = len(frame) + len(begun)
    if can.after_text():
        return Begun(writer=_after_text, source=frame, prompt=begun, text=begun, room=_fitting(can, used, room))
    if can.masks_after_text():
        return Begun(writer=_answer_at_masks, source=frame, prompt=begun, text=begun, room=_fitting(can, used, room))
    raise PlumeError(f"{can.name} has no decoder: a source is only for models that write after reading one. {can.words()}")


@torch.inference_mode()
def writer_for(can: Abilities, texts: Sequence[Begun]) -> Writer:
    """One writer that goes on with all of these, which were begun by the same model in the same way."""
    return texts[0].writer(can, texts)


def written(can: Abilities, texts: Sequence[Begun], *, sampling: Sampling, seeds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(which text, its next token) as they are written: texts of like length together, one group after the other."""
    if not texts:
        return
    length = [len(one.prompt if one.source is None else one.source) for one in texts]
    # A step in which some rows still read their prompts costs no more than one of a group of their own, which would write `room` of them.
    slack = max(one.room for one in texts) if texts[0].spread else 0
    for index in by_length(length, rows=max(1, _ROWS // sampling.beams), spread=texts[0].spread, slack=slack):
        some = [texts[number] for number in index]
        lines = [
            Wanted(room=one.room, before=one.said, ends=one.ends, seed=seeds[number]) for number, one in zip(index, some, strict=True)
        ]  # fmt: skip
        for row, token in write(writer_for(can, some), lines=lines, stop=can.end, sampling=sampling):
            yield int(index[row]), token


def continuations(can: Abilities, texts: Sequence[Begun], *, sampling: Sampling, seeds: Sequence[int], echo: bool = True) -> list[str]:
    """Each prompt, if it is to be echoed, and what follows it; of a decoder that writes a text of its own, that text."""
    found = [list(one.text) for one in texts]
    for number, token in written(can, texts, sampling=sampling, seeds=seeds):
        found[number].append(token)
    before = [0 if echo else len(can.tokenizer.decode(one.text)) for one in texts]
    return [can.tokenizer.decode(ids)[begin:] for ids, begin in zip(found, before, strict=True)]


def streamed(can: Abilities, text: Begun, *, sampling: Sampling, seed: int, echo: bool = True) -> Iterator[str]:
    """The same text in pieces, as it is written."""
    return pieces(can.tokenizer, text.text, (token for _, token in written(can, [text], sampling=sampling, seeds=[seed])), echo=echo)


def _ids(can: Abilities, prompt: str | Sequence[int]) -> tuple[list[int], str]:
    """The tokens of a prompt, and its text."""
    if isinstance(prompt, str):
        return can.tokenizer.encode([prompt])[0], prompt
    ids, most = [int(token) for token in prompt], min(can.tokenizer.size, can.model.vocabulary)
    if wrong := [token for token in ids if not 0 <= token < most]:
        raise PlumeError(f"There is no token {wrong[0]}: this model's are 0 to {most - 1}.")
    return ids, can.tokenizer.decode(ids)


def _fitting(can: Abilities, used: int, room: int) -> int:
    """No more than there are positions for, behind those that are taken before it writes."""
    longest = can.model.recipe.positions.longest
    if longest is not None and used >= longest:
        raise PlumeError(f"The prompt has {used} tokens; this model reads at most {longest}, and must have room to write.")
    return room if longest is None else min(room, longest - used)


def _going_on(can: Abilities, ids: list[int], language: int | None, after: list[int], *, room: int) -> Begun:
    prompt = ids or [can.tokenizer.separator]
    if can.causal():
        spread = CausalWriter.spread if can.model.recipe.memory is None else 0.0  # where a memory ends depends on what was read at once
        joint = _joint if can_join(can.model) else None
        return Begun(
            writer=_causal, joint=joint, spread=spread, prompt=prompt, language=language, room=_fitting(can, len(prompt), room)
        )  # fmt: skip
    if can.spans():
        text = can.frame([*ids, can.mask, *after])
        return Begun(writer=_span, source=text, place=text.index(can.mask), room=_fitting(can, len(text) + 1, room))
    if can.left_to_right_masks():
        prompt = [*([] if can.tokenizer.begin is None else [can.tokenizer.begin]), *ids]
        return Begun(writer=_at_masks, prompt=prompt, room=_fitting(can, len(prompt) + 1, room))
    if can.permuted() and can.model.recipe.assembly.writes:
        return Begun(writer=_query, prompt=prompt, room=_fitting(can, len(prompt), room))
    raise PlumeError(f"{can.name} cannot generate: it does not read left to right. {can.words()}")


def _decoding(can: Abilities, kind: BatchKind, ids: list[int], prompt: str, after: list[int], *, room: int) -> Begun:
    """What the decoder writes: after the text where it was trained to go on or to fill, else instead of it."""
    target = kind.noise.target
    if isinstance(target, TheSpan):
        return _to_the_end(can, kind, ids, prompt, room=room)
    longest = can.model.recipe.positions.longest
    sentinels = can.tokenizer.format.sentinel_tokens() if isinstance(target, SpansAfterSentinels) else ()
    blank = [number for number in map(can.tokenizer.id, sentinels[:1]) if number is not None]
    source = can.frame([*ids, *blank, *after])
    can.check_length(source, prompt)
    goes_on = ids if blank or isinstance(target, Continuation) else []
    return Begun(
        writer=_decoder,
        spread=DecoderWriter.spread,
        source=source,
        prompt=[can.start, *blank],
        text=goes_on,
        said=goes_on,
        ends=frozenset(can.tokenizer.special_ids.tolist()) if blank else frozenset(),  # T5: another sentinel follows the span
        room=room if longest is None else min(room, longest - 1),
    )


def _to_the_end(can: Abilities, kind: BatchKind, ids: list[int], prompt: str, *, room: int) -> Begun:
    """MASS: what follows is the hidden end of a text whose beginning is the prompt.

    As in training so much is hidden that it is the noise's share of the whole, the token that closes the text counted in: there the model
    learned to stop. One that never had to write that token sees it, behind as many masks as there is room.
    """
    text = can.frame([*ids, can.mask])
    can.check_length(text, prompt)
    first, longest, share = text.index(can.mask), can.model.recipe.positions.longest, kind.noise.select.share
    room = max(1, room if longest is None else min(room, longest - len(text) + 1))
    hidden = min(room + 1, round(first * share / (1 - share))) if kind.noise.closes else room
    source = [*text[:first], *[can.mask] * max(hidden, 1), *([] if kind.noise.closes else text[first + 1 :])]
    prompts = text[first - 1 : first] or [can.start]
    return Begun(
        writer=_span_decoder, spread=DecoderWriter.spread, source=source, prompt=prompts, place=max(first - 1, 0), text=ids, said=ids, room=room
    )  # fmt: skip


def _coded(can: Abilities, code: str | None) -> list[int]:
    """The control code's token, for a family that writes by code (CTRL)."""
    return [] if code is None else [require_control_id(can.tokenizer, code)]


# The writers that go on with texts of one kind


def _causal(can: Abilities, texts: Sequence[Begun]) -> Writer:
    return CausalWriter(can.model, _head(can, can.causal()), can.rows([one.prompt for one in texts]), segment=_languages(can, texts))


def _joint(can: Abilities, texts: Sequence[Begun]) -> JointWriter:
    return JointWriter(can.model, _head(can, can.causal()), can.rows([one.prompt for one in texts]), segment=_languages(can, texts))


def _languages(can: Abilities, texts: Sequence[Begun]) -> torch.Tensor | None:
    told = [one.language for one in texts if one.language is not None]
    return can.tensor([told])[0] if told else None


def _span(can: Abilities, texts: Sequence[Begun]) -> Writer:
    return SpanWriter(can.model, _head(can, can.spans()), _sources(can, texts), [one.place for one in texts], can.start)


def _at_masks(can: Abilities, texts: Sequence[Begun]) -> Writer:
    kind = can.left_to_right_masks()
    segment = kind.noise.segments[0] if kind is not None and kind.noise.segments else None
    return MaskWriter(can.model, _head(can, kind), can.rows([one.prompt for one in texts]), can.mask, segment=segment)


def _answer_at_masks(can: Abilities, texts: Sequence[Begun]) -> Writer:
    kind = can.masks_after_text()
    first, second = (kind.noise.segments if kind is not None else None) or (0, 1)
    read = _sources(can, texts)
    read = replace(read, segment=torch.full_like(read.tokens, first))
    return MaskWriter(can.model, _head(can, kind), can.rows([one.prompt for one in texts]), can.mask, segment=second, source=read)


def _after_text(can: Abilities, texts: Sequence[Begun]) -> Writer:
    kind = can.after_text()
    first, second = (kind.noise.segments if kind is not None else None) or (0, 1)
    read = _sources(can, texts)
    read = replace(read, segment=torch.full_like(read.tokens, first))
    return AfterTextWriter(can.model, _head(can, kind), read, can.rows([one.prompt for one in texts]), segment=second)


def _query(can: Abilities, texts: Sequence[Begun]) -> Writer:
    return QueryWriter(can.model, _head(can, can.permuted()), can.rows([one.prompt for one in texts]), can.mask)


def _decoder(can: Abilities, texts: Sequence[Begun]) -> Writer:
    return DecoderWriter(can.model, _head(can, can.decoder()), _sources(can, texts), can.rows([one.prompt for one in texts]))


def _span_decoder(can: Abilities, texts: Sequence[Begun]) -> Writer:
    prompts, places = can.rows([one.prompt for one in texts]), [one.place for one in texts]
    return DecoderWriter(can.model, _head(can, can.decoder()), _sources(can, texts), prompts, position=places)


def _sources(can: Abilities, texts: Sequence[Begun]) -> Batch:
    return can.rows([one.source or () for one in texts])


def _head(can: Abilities, kind: BatchKind | None) -> HeadModule:
    assert kind is not None, "a text is begun by what the model can do"
    return can.head(kind)
