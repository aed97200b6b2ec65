"""The options of bert-as-service, under the names that its users know."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from plume.core.errors import PlumeError, suggest


class BertStrategy(enum.StrEnum):
    """How the states of a text's tokens become what is answered."""

    NONE = "NONE"  # a vector for each token
    REDUCE_MEAN = "REDUCE_MEAN"
    REDUCE_MAX = "REDUCE_MAX"
    REDUCE_MEAN_MAX = "REDUCE_MEAN_MAX"  # both, side by side
    CLS_TOKEN = "CLS_TOKEN"
    SEP_TOKEN = "SEP_TOKEN"
    CLS_POOLED = "CLS_POOLED"  # the first token's last state, through BERT's pooler
    CLASSIFICATION = "CLASSIFICATION"  # of a tuned model: the probability of each label
    REGRESSION = "REGRESSION"  # of a tuned model: its number


_SAME = {"FIRST_TOKEN": BertStrategy.CLS_TOKEN, "LAST_TOKEN": BertStrategy.SEP_TOKEN}


@dataclass(frozen=True, kw_only=True)
class BertServiceSettings:
    """What `plume serve --bert-as-service` was told; the defaults are its server's."""

    port_in: int = 5555  # requests
    port_out: int = 5556  # answers
    max_seq_len: int | None = 25  # special tokens counted; None: as long as the longest text, and the model, is
    pooling_layer: tuple[int, ...] = (-2,)  # -1 is the last, 0 the first above the embeddings; several are put side by side
    pooling_strategy: BertStrategy = BertStrategy.REDUCE_MEAN
    mask_cls_sep: bool = False  # special tokens are not pooled
    fixed_embed_length: bool = False  # NONE answers as many vectors as the model has positions, even without max_seq_len
    show_tokens_to_client: bool = False
    max_batch_size: int = 256  # texts of a request that are computed at once
    priority_batch_size: int = 16  # requests of so many texts go before larger ones

    def __post_init__(self) -> None:
        if not self.pooling_layer:
            raise PlumeError("--pooling-layer needs a layer: -2, or several: -4,-3.")
        for name, least in (("max_seq_len", 3), ("max_batch_size", 1), ("priority_batch_size", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise PlumeError(f"--{name.replace('_', '-')} must be at least {least}, not {value}.")
        if self.port_in == self.port_out and self.port_in != 0:
            raise PlumeError(f"--port-in and --port-out are both {self.port_in}: requests and answers need a port each.")


def strategy_of(word: str) -> BertStrategy:
    """By the name that its users write.

    >>> strategy_of("first_token").value
    'CLS_TOKEN'
    """
    found = _SAME.get(word.upper()) or next((one for one in BertStrategy if one == word.upper()), None)
    if found is None:
        raise PlumeError(f"There is no pooling strategy '{word}': {suggest(word.upper(), [*BertStrategy, *_SAME])}.")
    return found


def length_of(word: str) -> int | None:
    """--max-seq-len: a number, or NONE."""
    if word.upper() == "NONE":
        return None
    if not word.isdigit():
        raise PlumeError(f"--max-seq-len {word} is no length: write a number, or NONE for as long as the texts are.")
    return int(word)


def layers_of(word: str) -> tuple[int, ...]:
    """--pooling-layer: one, or several.

    >>> layers_of("-4,-3 -2")
    (-4, -3, -2)
    """
    try:
        return tuple(int(one) for one in word.replace(",", " ").split())
    except ValueError:
        raise PlumeError(f"--pooling-layer {word} names no layers: write -2, or several: -4,-3.") from None
