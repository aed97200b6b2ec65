"""LanguageModel: a trained model with its tokeniser, ready to embed, fill, generate and score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.token_prediction import TokenPredictionModule
from plume.model.checkpoint import load_model, save_model
from plume.model.generate import Sampling, generate_tokens
from plume.model.model import Model
from plume.model.recipe import Recipe
from plume.nn.pooling import Pooling
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Blank:
    """One guess for a masked token: what it is, how likely, and the text with it in place."""

    token: str
    probability: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Score:
    """`log_probability` in nats: exact for a left-to-right model, the pseudo-log-likelihood (arXiv:1910.14659) for a masked one."""

    log_probability: float
    tokens: int

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_probability / max(self.tokens, 1))


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What the model computes for one text, padding taken off."""

    tokens: list[str]
    layers: list[NDArray[np.float32]]  # [T, D] the embedding's output and each block's
    attention: list[NDArray[np.float32]]  # [H, T, T] a block, if asked for


class LanguageModel:
    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu") -> LanguageModel:
        model, tokenizer = load_model(Path(folder))
        return cls(model.to(device), tokenizer)

    def save(self, folder: str | Path) -> None:
        save_model(Path(folder), self.model, self.tokenizer)

    @property
    def recipe(self) -> Recipe:
        return self.model.recipe

    @property
    def order(self) -> Order:
        """Does the model read both ways or left to right?"""
        for objective in self.recipe.objectives:
            if objective.noise is not None:
                return objective.noise.order
        return Order.FULL

    def embed(
        self, texts: str | Sequence[str], *, pooling: Pooling | str = Pooling.MEAN, layer: int = -1, batch: int = 32
    ) -> NDArray[np.float32]:
        """[N, D] one vector a text, from the given layer (-1 the last, 0 the embeddings)."""
        pool = _pooling(pooling)
        texts = _texts(texts)
        depth = self.recipe.network.depth
        if not -depth - 1 <= layer <= depth:
            raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {depth}.")
        found = np.zeros((len(texts), self.recipe.network.width), np.float32)
        for rows, made in self._batches(texts, batch):
            encoded = self.model.encode(made, keep_layers=True)
            found[rows] = pool(encoded.layers[layer], self._lengths(made)).float().cpu().numpy()
        return found

    def hidden(self, texts: str | Sequence[str], *, attention: bool = False) -> list[Hidden]:
        """All layers of each text, and the attention of every head if asked."""
        results: list[Hidden] = []
        for text in _texts(texts):
            ids = self._wrapped([text])[0]
            encoded = self._encode_one(ids, attention=attention)
            layers = [layer[0].float().cpu().numpy() for layer in encoded.layers]
            maps = [probability[0].float().cpu().numpy() for probability in encoded.attention]
            results.append(Hidden(tokens=[self.tokenizer.token(number) for number in ids], layers=layers, attention=maps))
        return results

    @torch.inference_mode()
    def _encode_one(self, ids: list[int], *, attention: bool):  # type: ignore[no-untyped-def]
        batch = Batch(tokens=torch.tensor([ids], device=self.device), order=self.order)
        return self.model.encode(batch, keep_layers=True, record_attention=attention)

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5) -> list[list[Blank]]:
        """For each mask token in the text the `top` likeliest tokens; the other masks stay open meanwhile."""
        mask = self.tokenizer.mask
        head = self._token_head()
        if mask is None or head is None or self.order is not Order.FULL:
            raise PlumeError(f"{self.recipe.name} cannot fill blanks: it has no masked-token head. {self._can()}")
        ids = self.tokenizer.encode([text], allow_special=True)[0]
        frame = self._frame(ids)
        places = [number for number, token in enumerate(frame) if token == mask]
        if not places:
            raise PlumeError(f"There is nothing to fill in: write {self.tokenizer.format.mask} where a token is missing.")
        self._check_length(frame, text)
        batch = Batch(tokens=torch.tensor([frame], device=self.device))
        states = self.model.token_states(batch)
        probability = head.logits(states.last[0, places]).float().softmax(-1)
        probability[:, torch.from_numpy(self.tokenizer.special_ids).to(self.device)] = 0.0
        values, tokens = probability.topk(min(top, self.model.vocabulary))
        return [
            [self._blank(frame, place, int(token), float(value)) for value, token in zip(values[row], tokens[row], strict=True)]
            for row, place in enumerate(places)
        ]

    def _blank(self, frame: list[int], place: int, token: int, probability: float) -> Blank:
        filled = [token if number == place else old for number, old in enumerate(frame)]
        ends = {self.tokenizer.begin, self.tokenizer.separator, self.tokenizer.pad}
        text = self.tokenizer.decode([number for number in filled if number not in ends], skip_special=False)
        return Blank(token=self.tokenizer.decode([token]) or self.tokenizer.token(token), probability=probability, text=text)

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        greedy: bool = False,
        beams: int = 1,
        seed: int = 0,
    ) -> str:
        """The prompt and what the model writes after it. `greedy` takes the likeliest token each time, `beams` searches wider."""
        head = self._token_head()
        if self.order is not Order.CAUSAL or head is None:
            raise PlumeError(f"{self.recipe.name} cannot generate: it does not read left to right. {self._can()}")
        ids = self.tokenizer.encode([prompt])[0] or [self.tokenizer.separator]
        longest = self.recipe.positions.longest
        if longest is not None and len(ids) >= longest:
            raise PlumeError(f"The prompt has {len(ids)} tokens; this model reads at most {longest}, and must have room to write.")
        sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, beams=beams, seed=seed)
        room = max_tokens if longest is None else min(max_tokens, longest - len(ids))
        written = generate_tokens(self.model, head, ids, room=room, stop=self.tokenizer.separator, sampling=sampling)
        return self.tokenizer.decode(ids + written)

    @torch.inference_mode()
    def score(self, texts: str | Sequence[str], *, batch: int = 32) -> list[Score]:
        """How likely the model finds each text."""
        head = self._token_head()
        if head is None:
            raise PlumeError(f"{self.recipe.name} cannot score text: it was imported or built without a head that predicts tokens.")
        if self.order is Order.CAUSAL:
            return [self._causal_score(head, text) for text in _texts(texts)]
        return [self._pseudo_score(head, text, batch) for text in _texts(texts)]

    def _causal_score(self, head: TokenPredictionModule, text: str) -> Score:
        ids = [self.tokenizer.separator, *self.tokenizer.encode([text])[0]]
        longest = self.recipe.positions.longest or len(ids)
        total, window = 0.0, max(longest // 2, 1)
        # Text longer than the model sees is read in windows that overlap by half, each token scored once.
        for first in range(0, max(len(ids) - 1, 1), window) if len(ids) > longest + 1 else (0,):
            start = max(0, first - (longest - window))
            part = ids[start : first + window + 1] if len(ids) > longest + 1 else ids
            tokens = torch.tensor([part], device=self.device)
            scores = head.logits(self.model.encode(Batch(tokens=tokens[:, :-1], order=Order.CAUSAL)).last[0]).float().log_softmax(-1)
            picked = scores.gather(1, tokens[0, 1:, None]).squeeze(1)
            total += float(picked[first - start :].sum())
        return Score(log_probability=total, tokens=len(ids) - 1)

    def _pseudo_score(self, head: TokenPredictionModule, text: str, batch: int) -> Score:
        """Each token masked in turn."""
        mask = self.tokenizer.mask
        assert mask is not None, "a model with a masked-token head has a mask token"
        ids = self.tokenizer.encode([text])[0]
        frame = self._frame(ids)
        self._check_length(frame, text)
        special = set(self.tokenizer.special_ids.tolist())
        places = [number for number, token in enumerate(frame) if token not in special]
        total = 0.0
        for first in range(0, len(places), batch):
            now = torch.tensor(places[first : first + batch], device=self.device)
            rows = torch.tensor(frame, device=self.device).repeat(len(now), 1)
            answers = rows[torch.arange(len(now)), now]
            rows[torch.arange(len(now)), now] = mask
            made = Batch(tokens=rows, read=now[:, None])
            states = self.model.token_states(made)
            scores = head.logits(states.last[:, 0]).float().log_softmax(-1)
            total += float(scores.gather(1, answers[:, None]).sum())
        return Score(log_probability=total, tokens=len(places))

    def _token_head(self) -> TokenPredictionModule | None:
        for objective in self.recipe.objectives:
            head = self.model.head(objective.name)
            if objective.answers is Answers.NOISE and isinstance(head, TokenPredictionModule):
                return head
        return None

    def _can(self) -> str:
        abilities = ["embed"]
        if self._token_head() is not None:
            abilities += ["generate" if self.order is Order.CAUSAL else "fill", "score"]
        return f"It can {', '.join(abilities)}."

    def _frame(self, ids: list[int]) -> list[int]:
        """One text in the family's single format."""
        framed: list[int] = []
        for piece in self.tokenizer.format.single:
            number = self.tokenizer.id(piece)
            framed += ids if piece == "A" else [number] if number is not None else []
        return framed

    def _wrapped(self, texts: Sequence[str]) -> list[list[int]]:
        """Framed and, where a text is longer than the model reads, cut at the end of what it can read."""
        specials = sum(piece != "A" for piece in self.tokenizer.format.single)
        longest = self.recipe.positions.longest
        room = None if longest is None else longest - specials
        framed = [self._frame(ids[:room]) for ids in self.tokenizer.encode(list(texts))]
        return [ids or [self.tokenizer.separator] for ids in framed]  # a decoder frames an empty text as nothing

    def _check_length(self, frame: list[int], text: str) -> None:
        longest = self.recipe.positions.longest
        if longest is not None and len(frame) > longest:
            raise PlumeError(f"The text has {len(frame)} tokens, this model reads at most {longest}: shorten it ('{text[:30]}…').")

    def _batches(self, texts: Sequence[str], size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Texts of like length together, so that little is padded; rows say which texts they are."""
        ids = self._wrapped(texts)
        order = np.argsort([len(row) for row in ids], kind="stable")
        with torch.inference_mode():
            for first in range(0, len(order), size):
                rows = order[first : first + size]
                length = torch.tensor([len(ids[row]) for row in rows])
                tokens = torch.full((len(rows), int(length.max())), self.tokenizer.pad)
                for place, row in enumerate(rows):
                    tokens[place, : len(ids[row])] = torch.tensor(ids[row])
                padded = bool((length < tokens.shape[1]).any())
                yield rows, Batch(tokens=tokens.to(self.device), length=length.to(self.device) if padded else None, order=self.order)

    @staticmethod
    def _lengths(batch: Batch) -> Tensor:
        rows, time = batch.tokens.shape
        return torch.full((rows,), time, device=batch.tokens.device) if batch.length is None else batch.length


def _texts(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _pooling(pooling: Pooling | str) -> Pooling:
    try:
        return Pooling(pooling)
    except ValueError:
        raise PlumeError(f"There is no pooling '{pooling}': choose {', '.join(Pooling)}.") from None
