"""Abilities: what a trained model can do follows from the objectives it was trained with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import torch

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.kinds import BatchKind
from plume.model.networks.model import Model
from plume.model.use.rows import Ids, rows
from plume.noise.appended import AppendedSpans
from plume.noise.decoder_target import WholeText
from plume.noise.target import InPlace, NextOfSecondText, NextToken
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer

Said = str | int | None  # a language's name or number; None: find it


class Abilities:
    """A model with its tokenizer: which kinds of batch it was trained with, and what texts look like in its family's format."""

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.device = next(model.parameters()).device
        self.name = model.recipe.name

    @cached_property
    def token_kinds(self) -> list[BatchKind]:
        """The kinds of batch in which tokens are predicted."""
        return [kind for kind in self.model.recipe.kinds if any(o.answers is Answers.NOISE and o.asks is None for o in kind.objectives)]

    @property
    def reading_order(self) -> Order:
        """Both ways, unless the model never did."""
        orders = [Order.CAUSAL if isinstance(k.noise.target, NextToken) else k.noise.order for k in self.token_kinds]
        if (
            self.model.recipe.assembly.directions > 1
            or not orders
            or any(kind.noise.target.decoder or kind.noise.target.streams for kind in self.token_kinds)
        ):
            return Order.FULL
        one_way = all(order in (Order.CAUSAL, Order.REVERSED) for order in orders)
        return orders[0] if one_way else Order.FULL

    def head(self, kind: BatchKind) -> HeadModule:
        """The one that predicts the tokens of this kind of batch."""
        return self.model.head(self.token_objective(kind))

    def token_objective(self, kind: BatchKind) -> str:
        """The one that asks for the tokens of this kind of batch."""
        return next(o.name for o in kind.objectives if o.answers is Answers.NOISE and o.asks is None)

    def masked(self) -> BatchKind | None:
        """In which tokens are predicted in place, from both sides; also MPNet's, whose first prediction reads a masked text."""
        masks = not self.model.recipe.assembly.writes
        return self._first(
            lambda kind: (
                (kind.noise.target.streams and masks) or (isinstance(kind.noise.target, InPlace) and kind.noise.order is Order.FULL)
            )
        )

    def permuted(self) -> BatchKind | None:
        """In which a query stream predicts."""
        return self._first(lambda kind: kind.noise.target.streams)

    def causal(self) -> BatchKind | None:
        """In which each token is predicted from those before it."""
        return self._first(lambda kind: isinstance(kind.noise.target, NextToken) and kind.noise.order is Order.CAUSAL)

    def left_to_right_masks(self) -> BatchKind | None:
        """UniLM's: masks are filled from the left alone."""
        return self._first(lambda kind: isinstance(kind.noise.target, InPlace) and kind.noise.order is Order.CAUSAL)

    def masks_after_text(self) -> BatchKind | None:
        """UniLM's: one text is read as a whole, masks of a second are filled from it and from the left."""
        return self._first(lambda kind: isinstance(kind.noise.target, InPlace) and kind.noise.order is Order.PREFIX)

    def after_text(self) -> BatchKind | None:
        """SimBERT's: one text is read as a whole, a second is written after it, token by token."""
        return self._first(lambda kind: isinstance(kind.noise.target, NextOfSecondText))

    def spans(self) -> BatchKind | None:
        """GLM's: blanks are written out behind the text."""
        return self._first(lambda kind: isinstance(kind.noise.target, AppendedSpans))

    def decoder(self) -> BatchKind | None:
        """In which a decoder writes."""
        return self._first(lambda kind: kind.noise.target.decoder)

    def _first(self, fits) -> BatchKind | None:  # type: ignore[no-untyped-def]
        return next((kind for kind in self.token_kinds if fits(kind)), None)

    def words(self) -> str:
        """For error messages."""
        return f"It can {', '.join(self.verbs())}."

    def verbs(self) -> list[str]:
        """What it can do: embed, fill, generate, score."""
        found = ["embed"]
        decoder = self.decoder()
        rewrites = decoder is not None and (decoder.noise.corrupt.shows_mask or decoder.noise.corrupt.shows_sentinels)
        if any((self.masked(), self.permuted(), self.spans(), rewrites)):
            found.append("fill")
        by_queries = self.permuted() is not None and self.model.recipe.assembly.writes
        if any((self.causal(), self.left_to_right_masks(), self.after_text(), self.spans(), decoder, by_queries)):
            found.append("generate")
        if any((self.causal(), self.spans(), self.masked(), self.permuted(), self.decoder())):
            found.append("score")
        return found

    # Text in the family's format

    def frame(self, ids: list[int]) -> list[int]:
        """One text in the family's single format."""
        framed: list[int] = []
        for piece in self.tokenizer.format.single:
            number = self.tokenizer.id(piece)
            framed += ids if piece == "A" else [number] if number is not None else []
        return framed

    def with_blanks(self, text: str) -> list[int]:
        """The framed text with a mask token at each blank."""
        mask = self.tokenizer.format.mask
        assert mask is not None, "only called for formats with a mask"
        ids = self.tokenizer.encode([re.sub(r"_{3,}", mask, text)], allow_special=True)[0]
        if self.mask not in ids:
            raise PlumeError(f"There is nothing to fill in: write {mask} (or ___) where something is missing.")
        frame = self.frame(ids)
        self.check_length(frame, text)
        return frame

    def opening(self, kind: BatchKind) -> list[int]:
        """What a decoder writes before the text itself: one that writes whole texts writes their special tokens too (BART)."""
        return self.frame([])[: self.tokenizer.format.single.index("A")] if isinstance(kind.noise.target, WholeText) else []

    def closed(self, kind: BatchKind, ids: list[int]) -> list[int]:
        """A text as it is written after another; the token that closes it counts only where the model was trained to write it."""
        return [*self.opening(kind), *ids, *([self.end] if kind.noise.closes else [])]

    def language(self, text: str, ids: list[int], said: Said = None, *, place: str = "") -> int | None:
        """The number of a text's language: the one that is `said`, or found; None for families that read every text alike.

        `place` says which of several texts it is.
        """
        self.check_language(said)
        known = self.model.languages
        if known is None:
            return None
        found = known.find(text, ids) if said is None else known.number(said)
        if found is None:
            raise known.unclear(text, place)
        return found

    def check_language(self, said: Said) -> None:
        """A language can be said only where the model tells them apart, and knows this one."""
        if said is not None and self.model.languages is None:
            raise PlumeError(f"{self.name} reads texts of all languages alike: leave language out.")
        if said is not None and self.model.languages is not None:
            self.model.languages.number(said)

    def segments(self, framed: list[int], language: int | None) -> list[int] | None:
        """Of each token of one framed text: its language, or what the format gives special tokens (XLNet's <cls>). None: all 0."""
        if language is not None:
            return [language] * len(framed)
        own = self.tokenizer.format.single_segments
        if not any(own):
            return None
        place = self.tokenizer.format.single.index("A")
        return [*own[:place], *[own[place]] * (len(framed) - len(own) + 1), *own[place + 1 :]]

    def check_length(self, frame: list[int], text: str) -> None:
        """Refuses a text that is longer than the model reads."""
        longest = self.model.recipe.positions.longest
        if longest is not None and len(frame) > longest:
            raise PlumeError(f"The text has {len(frame)} tokens, this model reads at most {longest}: shorten it ('{text[:30]}…').")

    def tensor(self, rows: list[list[int]]) -> torch.Tensor:
        """[B, T] of rows of one length, where the model is."""
        return torch.tensor(rows, device=self.device)

    def rows(self, texts: Sequence[Ids]) -> Batch:
        """Texts of any lengths as one batch, where the model is."""
        return rows(texts, pad=self.tokenizer.pad, device=self.device)

    @property
    def start(self) -> int:
        """What a decoder, or a span, begins with."""
        form = self.tokenizer.format
        found = self.tokenizer.id(form.start or form.separator)
        assert found is not None, "a format's tokens are in its tokenizer"
        return found

    @property
    def end(self) -> int:
        """What closes what is written."""
        form = self.tokenizer.format
        found = self.tokenizer.id(form.end or form.separator)
        assert found is not None, "a format's tokens are in its tokenizer"
        return found

    @property
    def mask(self) -> int:
        """The token that stands for what is missing."""
        if self.tokenizer.mask is None:
            raise PlumeError(f"{self.name} has no mask token. {self.words()}")
        return self.tokenizer.mask
