"""Which special tokens a family uses, and how it wraps one, two or three texts."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Format(Part):
    """The special tokens by role. In `single`, `pair` and `triple`, "A", "B" and "C" stand for the texts.

    >>> BERT.specials()
    ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]')
    """

    pad: str
    unknown: str | None
    begin: str | None
    separator: str  # ends a text, and stands between documents in the store
    mask: str | None
    single: tuple[str, ...]
    pair: tuple[str, ...]
    segments: tuple[int, ...] = ()  # the segment of each item of `pair`; empty: all 0
    single_segments: tuple[int, ...] = ()  # of `single`, where a task asks about it (XLNet's <cls> has one of its own)
    triple: tuple[str, ...] = ()  # where rows hold three texts (XLNet: what stays in memory, and a pair)
    triple_segments: tuple[int, ...] = ()  # the segment of each item of `triple`; empty: all 0
    start: str | None = None  # what a decoder, or a span that is written out, begins with; None: the separator
    end: str | None = None  # what closes what is written; None: the separator
    sentinels: int = 0  # tokens that stand for spans taken out: <extra_id_0>, <extra_id_1> … (T5)
    order: tuple[str, ...] = ()  # tokens that take the first ids; may name tokens without a role; empty: the order of the fields above

    def specials(self) -> tuple[str, ...]:
        """All special tokens, each once, in the order of their ids."""
        roles = (self.pad, self.unknown, self.begin, self.separator, self.mask, self.start, self.end, *self.sentinel_tokens())
        wrapped = tuple(item for item in self.single + self.pair + self.triple if item not in ("A", "B", "C"))
        return tuple(dict.fromkeys(token for token in self.order + roles + wrapped if token is not None))

    def sentinel_tokens(self) -> tuple[str, ...]:
        """<extra_id_0>, <extra_id_1> …, as many as there are."""
        return tuple(f"<extra_id_{number}>" for number in range(self.sentinels))


BERT = Format(
    pad="[PAD]",
    unknown="[UNK]",
    begin="[CLS]",
    separator="[SEP]",
    mask="[MASK]",
    single=("[CLS]", "A", "[SEP]"),
    pair=("[CLS]", "A", "[SEP]", "B", "[SEP]"),
    segments=(0, 0, 0, 1, 1),
)
ROBERTA = Format(
    pad="<pad>",
    unknown="<unk>",
    begin="<s>",
    separator="</s>",
    mask="<mask>",
    single=("<s>", "A", "</s>"),
    pair=("<s>", "A", "</s>", "</s>", "B", "</s>"),
    order=("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
)
GPT = Format(
    pad="<|endoftext|>",
    unknown=None,
    begin=None,
    separator="<|endoftext|>",
    mask=None,
    single=("A",),
    pair=("A", "B"),
)
