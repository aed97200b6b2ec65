"""Model: the network that a recipe declares, and its losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded, Order
from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge, needs_knowledge
from plume.heads.head import Dims, HeadModule, Loss
from plume.heads.sentence_classification import SentenceClassification
from plume.model.memory import Memory, States
from plume.model.networks.evidence import Evidence
from plume.model.recipe import Recipe
from plume.model.trainable import Trainable
from plume.nn.attention import Sight
from plume.nn.between import BetweenModule
from plume.nn.block import BlockCache
from plume.nn.embedding import EmbeddingModule, positions_of
from plume.nn.knowledge.knowing import Knowing
from plume.nn.local_start import start_local
from plume.nn.pooling import MEAN, Pooler, Pooling, TokenPooling
from plume.nn.positions.learned import Learned
from plume.nn.positions.scheme import PositionModule
from plume.nn.route import Stop, routed
from plume.nn.stack import Stack, Transformer, initialise
from plume.nn.visibility import AttentionMask, mask_of
from plume.nn.watching import having
from plume.objectives._objective import Answers, Objective
from plume.text.known_languages import Languages

_FASTEST = 1e-3  # learning rate, of any network that is tuned as a whole


class How(TypedDict, total=False):
    """What a pass through the stack keeps, and what it recalls."""

    keep_layers: bool
    record: bool  # the attention's probabilities
    head_mask: Tensor | None
    cache: list[BlockCache] | None
    memory: States | None


def before(how: How) -> dict[str, int]:
    """How many keys stand before the batch's own: cached ones, and remembered ones."""
    cache, memory = how.get("cache"), how.get("memory")
    return {"held": cache[0].own.length if cache else 0, "memory": 0 if memory is None else memory[0].shape[1]}


class Model(Trainable):
    """One embedding, one stack, a head for each objective or for several.

    Parameters are saved by `named_parameters`, which names a shared or tied tensor once. `memories` are what streams of text left behind,
    by stream; they belong to a run and not to the model.
    """

    pooling: TokenPooling = MEAN  # how one vector is made of a text's, unless it is asked for otherwise
    # What tuning asks (tuning/adapting/body.py).
    task_pooling: Pooling | None = None  # how a task that labels texts reads it; None: by the state of one token
    through_decoder = False  # do a task's heads read it through a decoder, which has then read all (BART §3.1)?
    queries = False  # does `read` ask a second stream, which does not see the tokens it stands at?
    head_rate = 3e-3  # learning rate of what is put on it while it stays as it is

    def __init__(self, recipe: Recipe, *, vocabulary: int) -> None:
        super().__init__()
        self.recipe = recipe
        self._build_body(vocabulary)
        self.pooler = Pooler(recipe.network.output_width) if recipe.pooler else None
        self.memory = recipe.memory
        self.memories = {}
        # Whoever trains or loads it knows their names.
        self.languages: Languages | None = Languages.unnamed(recipe.embedding.segments) if recipe.languages else None
        self.knowledge: Knowledge | None = None
        self.heads = nn.ModuleDict({one.name: self._head(one) for one in recipe.objectives if one.head_of is None})
        self._head_names = {objective.name: objective.head_of or objective.name for objective in recipe.objectives}

    def _build_body(self, vocabulary: int) -> None:
        recipe, network = self.recipe, self.recipe.transformer
        orders = {Order.FULL if kind.noise.target.decoder else kind.noise.order for kind in recipe.kinds}  # an encoder reads both ways
        self.embedding = recipe.embedding.build(vocabulary=vocabulary, positions=self._positions(network, causal=orders == {Order.CAUSAL}))
        self.stack = network.build(embedding_width=recipe.embedding.width, sharing=recipe.sharing)

    def spell(self, words: Sequence[str]) -> None:
        """Told the tokens in the order of their ids, by whoever builds it with a tokenizer. Most families do not look into words."""

    def know(self, knowledge: Knowledge) -> None:
        """Told of the knowledge base that its recipe was fitted to, or of the same one with other facts."""
        self.knowledge = knowledge
        for part in self.modules():
            if isinstance(part, Knowing):
                part.know(knowledge)

    def inherit(self, source: Model) -> None:
        """Told what another one was, which it is made of."""
        if self.languages is not None and source.languages is not None:
            self.languages = source.languages
        if source.knowledge is not None and needs_knowledge(self.recipe):
            self.know(source.knowledge)

    @property
    def spells(self) -> bool:
        """Does it read the characters of words, also of words that the vocabulary lacks?"""
        return False

    def consult(self, evidence: Evidence) -> None:
        """Handed documents to look things up in. Most families look nothing up."""
        raise PlumeError(f"{self.recipe.name} looks nothing up, so it has no use for documents.")

    def spelling(self, words: Sequence[str]) -> Tensor | None:
        """For `Batch.unseen`."""
        return None

    def _positions(self, network: Transformer, *, causal: bool = False) -> PositionModule:
        recipe = self.recipe
        made = recipe.positions.build(
            width=recipe.embedding.width, heads=network.heads, head_width=network.head_width, depth=network.depth, causal=causal
        )
        for layer, heads in enumerate(network.pruned):
            if heads:
                made.prune(layer, heads)
        return made

    def _head(self, objective: Objective) -> HeadModule:
        entity = self.entity_table()
        width = self.recipe.network.output_width
        return objective.head.build(Dims(width=width, token=self.embedding.token, pooler=self.pooler, entity=entity))

    def entity_table(self) -> nn.Embedding | None:
        """Vectors of a knowledge base's entities, of a memory between the blocks."""
        tables = (one.entities() for one in self.stack.between if isinstance(one, BetweenModule))
        return next((table for table in tables if table is not None), None)

    def head(self, name: str) -> HeadModule:
        """The one that answers this objective, its own or another's."""
        head = self.heads[self._head_names[name]]
        assert isinstance(head, HeadModule)
        return head

    def initialise(self, seed: int) -> None:
        """First weights, as the recipe says; the same for the same seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            initialise(self, self.recipe.transformer.initial_range)
            for part in self.modules():
                if isinstance(part, Stack | EmbeddingModule | HeadModule):
                    part.initialise()
            if isinstance(self.recipe.positions, Learned) and self.recipe.positions.local:
                start_local(self)

    @property
    def vocabulary(self) -> int:
        """Tokens that it has a vector for."""
        return self.embedding.token.num_embeddings

    @property
    def width(self) -> int:
        """Of what `encode` makes of a token."""
        return self.recipe.network.output_width

    @property
    def longest(self) -> int | None:
        """How many tokens it can place; None: as many as there are."""
        return self.recipe.positions.longest

    @property
    def classifier(self) -> SentenceClassification:
        """The family's way to label a text."""
        return self.recipe.classifier

    @property
    def gives_features(self) -> bool:
        """Did its paper use it as features that stay as they are (ELMo, CoVe, Skip-Thought)? Everything else learns on."""
        assembly = self.recipe.assembly
        return assembly.directions > 1 or (assembly.recurs and assembly.decodes)

    @property
    def tuning_rate(self) -> float:
        """A learning rate that is safe while all of it learns: BERT's largest (§A.3) at its width; narrower networks take larger steps, by a
        power that was measured at 128 and 384 (docs/learning.md)."""
        return min(5e-5 * (768 / self.recipe.network.width) ** 1.6, _FASTEST)

    def new_cache(self) -> list[BlockCache]:
        """An empty cache for generation, one for each block that writes."""
        return [BlockCache() for _ in range(self.stack.part.depth)]

    def encode(
        self,
        batch: Batch,
        *,
        keep_layers: bool = False,
        record_attention: bool = False,
        head_mask: Tensor | None = None,
        cache: list[BlockCache] | None = None,
    ) -> Encoded:
        """Run the stack; with `batch.read`, only those positions come out of the last block."""
        memory = self._recalled(batch)
        encoded = self._run(
            self.stack, batch, keep_layers=keep_layers or self._remembers(batch), record=record_attention, head_mask=head_mask, cache=cache,
            memory=memory,
        )  # fmt: skip
        self._remember(batch, encoded, memory)
        return encoded

    def pool(self, encoded: Encoded, layer: int, length: Tensor) -> Tensor:
        """[B, D] one vector a text, as the family is meant to make it, from a layer that was kept."""
        return self.pooling(encoded.layers[layer], length)

    def token_states(self, batch: Batch, *, keep_layers: bool = False) -> Encoded:
        """What the head that predicts tokens reads: here the one network's output."""
        return self.encode(batch, keep_layers=keep_layers)

    def token_layers(self, batch: Batch) -> dict[int, Encoded]:
        """What that head would read if the network ended at a layer: those layers it can read, 0 the embedding (the logit lens)."""
        encoded = self.token_states(replace(batch, read=None), keep_layers=True)
        layers = self._token_stack(batch).as_last(encoded.layers)
        return {number: replace(encoded, last=layer, layers=()) for number, layer in enumerate(layers)}

    def token_probabilities(self, batch: Batch, name: str) -> Tensor:
        """[B, M, V] what the head of this objective says of the places that the batch reads."""
        return self.head(name).logits(self.token_states(batch).last).float().softmax(-1)

    def _token_stack(self, batch: Batch) -> Stack:
        """The blocks that `token_states` runs last."""
        return self.stack

    def decode(self, batch: Batch, read: Encoded, *, cache: list[Any] | None = None) -> Encoded:
        """Run the decoder over its own tokens and what the encoder made of `batch.source`."""
        raise PlumeError(f"{self.recipe.name} has no decoder.")

    def _run(self, stack: Stack, batch: Batch, **how: Unpack[How]) -> Encoded:
        sight = self._told(self.sight(batch, **before(how)), how)
        position = sight.query_position
        value = self.embedding(batch.tokens, position, batch.segment, batch.within, extra=batch.extra)
        return self._through(stack, value, how, sight=sight, read=batch.read)

    @staticmethod
    def _told(sight: Sight, how: How) -> Sight:
        sight.head_mask, sight.recorded = how.get("head_mask"), [] if how.get("record") else None
        return sight

    @staticmethod
    def _through(stack: Stack, value: Tensor, how: How, **given: Any) -> Encoded:
        """The stack with what the caller keeps and recalls."""
        kept: Encoded = stack(value, cache=how.get("cache"), memory=how.get("memory"), keep_layers=how.get("keep_layers", False), **given)
        return kept

    def sight(self, batch: Batch, *, held: int = 0, memory: int = 0) -> Sight:
        """Who sees whom, and from where; `held` keys are cached, `memory` ones remembered, and both stand before the batch's own."""
        before = held + memory
        position = positions_of(batch.tokens, batch.position)
        if held and batch.position is None:
            position = position + held
        self._check_room(batch, held)
        keys = position
        if before:
            first = position[:, :1]
            keys = torch.cat([first - torch.arange(before, 0, -1, device=position.device), position], dim=1)
        ordered = batch.position is None
        if batch.backward is not None:  # the text's places, which run down as the row is read
            position, keys = (torch.where(batch.backward[:, None], -place, place) for place in (position, keys))
            ordered = False
        mask = mask_of(batch) if not held else AttentionMask(causal=batch.tokens.shape[1] > 1)
        if batch.foreign is not None:
            mask = mask.without_first(batch.foreign, keys.shape[1])
        if memory:
            mask = mask.after(memory, *batch.tokens.shape)
        segment = batch.segment
        key_segment = segment if segment is None or not before else nn.functional.pad(segment, (before, 0))
        return Sight(
            mask=mask,
            positions=self.embedding.position,
            query_position=position,
            key_position=keys,
            query_segment=segment,
            key_segment=key_segment,
            before=before if ordered else None,
            in_order=ordered,
            length=batch.length,
            named=batch.named,
        )

    def _check_room(self, batch: Batch, held: int) -> None:
        longest = self.recipe.positions.longest
        tokens = held + batch.tokens.shape[1]
        if batch.position is None and longest is not None and tokens > longest:
            raise PlumeError(f"{tokens} tokens are too many: {self.recipe.name} places at most {longest}.")

    # Memory

    def _remembers(self, batch: Batch) -> bool:
        return self.memory is not None and batch.stream is not None

    def _recalled(self, batch: Batch) -> States | None:
        if batch.stream is None or batch.begins or self.memory is None:
            return None
        return self.memories.get(batch.stream)

    def _remember(self, batch: Batch, encoded: Encoded, before: States | None) -> None:
        if self.memory is not None and batch.stream is not None:
            time = batch.tokens.shape[1]
            self.memories[batch.stream] = self.memory.after(before, [layer[:, :time] for layer in encoded.layers[:-1]])

    @contextmanager
    def fresh_memory(self, kept: Memory | None = None) -> Iterator[None]:
        """For measuring in the middle of a run: starts empty, and leaves the run's own memory as it was. `kept` is a memory of other size."""
        before, self.memories = (self.memory, self.memories), {}
        self.memory = kept or self.memory
        try:
            yield
        finally:
            self.memory, self.memories = before

    # Losses

    def counts(self, batch: Batch) -> dict[str, int]:
        tokens = batch.tokens.shape[0] * batch.tokens.shape[1] if batch.length is None else int(batch.length.sum())
        return {
            objective.name: tokens if objective.answers is Answers.GENERATOR else len(batch.labels[objective.name].value)
            for objective in self.recipe.objectives
            if objective.answers is Answers.GENERATOR or objective.name in batch.labels
        }

    def flops(self, batch: Batch) -> int:
        with self._as_far_as_asked(batch):
            body = self.body_flops(batch)
        return body + sum(self.head(name).step_flops(n, batch.named) for name, n in self.counts(batch).items())

    def body_flops(self, batch: Batch) -> int:
        """Of a training step without its heads: the matrix products forward, and twice that backward."""
        rows, time = batch.tokens.shape
        read = None if batch.read is None else batch.read.shape[1]
        recalled = self._recalled(batch)
        memory = 0 if recalled is None else recalled[0].shape[1]
        widened = 3 * self.embedding.product_flops(rows * time)
        own = self.stack.step_flops(rows=rows, time=time, read=read, memory=memory, positions=self.embedding.position)
        return widened + self.stack.carried_step_flops(batch) + own

    def losses(self, batch: Batch) -> dict[str, Loss]:
        """The loss of each objective that the batch has labels for."""
        with self._as_far_as_asked(batch):
            encoded = self.token_states(batch)
        return {name: self.head(name).loss(encoded, target) for name, target in batch.labels.items()}

    @contextmanager
    def _as_far_as_asked(self, batch: Batch) -> Iterator[None]:
        """Where labels ask only for what a module between two blocks leaves, nothing runs behind that."""
        if not batch.labels or not all(self.head(name).reads_between for name in batch.labels):
            yield
            return
        last = max(place.after for place in self.stack.part.between)
        route = [*(stop for stop in self.stack.way() if stop.layer < last), Stop(layer=last, block=None)]
        with routed((self.stack, route)), having("alone", [(module, True) for module in self.stack.between]):
            yield
