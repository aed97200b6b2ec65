"""What the family of writers and its searches are open for: a writer of another kind, and a server that streams from one model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.model.use.generate import beam_search, greedy, write
from plume.model.use.language_model import LanguageModel
from plume.model.use.rows import rows
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted
from plume.model.use.writers import PromptWriter

STOP = 0


class BigramWriter(PromptWriter):
    """A writer of a few lines: each token depends on the one before. Which histories it goes on with, the searches say."""

    def __init__(self, table: Tensor, prompt: Batch) -> None:
        self.table, self.device, self.cache = table, table.device, []
        self.prompt, self.length = prompt.tokens, prompt.length
        self.place = int(prompt.length.min()) if prompt.length is not None else prompt.tokens.shape[1]

    def _scores(self, tokens: Tensor) -> Tensor:
        return self.table[tokens[:, -1]]


@pytest.fixture
def table() -> Tensor:
    return torch.randn(7, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64).mul(2).log_softmax(-1)


PROMPTS = [[1], [2, 3, 4, 5], [6, 1], [5], [3, 3, 2]]


def test_every_search_drives_a_writer_of_another_kind(table: Tensor) -> None:
    lines = [Wanted(room=room, seed=room) for room in (6, 3, 9, 0, 7)]
    for sampling in (Sampling(greedy=True), Sampling(temperature=1.5), Sampling(beams=3), Sampling(beams=2, repetition_penalty=1.5)):
        found: list[list[int]] = [[] for _ in PROMPTS]
        for number, token in write(BigramWriter(table, rows(PROMPTS)), lines=lines, stop=STOP, sampling=sampling):
            found[number].append(token)
        for prompt, line, text in zip(PROMPTS, lines, found, strict=True):
            alone = write(BigramWriter(table, rows([prompt])), lines=[line], stop=STOP, sampling=sampling)
            assert text == [token for _, token in alone]
            assert len(text) <= line.room and STOP not in text
    likeliest = greedy(BigramWriter(table, rows(PROMPTS)), room=5, stop=STOP)
    for prompt, one in zip(PROMPTS, likeliest, strict=True):
        assert [*one.tokens, STOP][0] == int(table[prompt[-1]].argmax())
    beams = beam_search(BigramWriter(table, rows(PROMPTS)), lines=[Wanted(room=4)] * 5, stop=STOP, beams=3)
    assert [len(found) for found in beams] == [3] * 5
    assert all(found == sorted(found, reverse=True) for found in beams)


@pytest.fixture(scope="module")
def model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str) -> LanguageModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


def events(model: LanguageModel, prompt: str, **options: Any) -> Iterator[str]:
    """Server-sent events, as a server would send them."""
    for piece in model.stream(prompt, **options):
        yield f"data: {json.dumps({'text': piece})}\n\n"
    yield "data: [DONE]\n\n"


def heard(sent: list[str]) -> str:
    *told, last = [event.removeprefix("data: ").strip() for event in sent]
    assert last == "[DONE]"
    return "".join(json.loads(event)["text"] for event in told)


@pytest.mark.parametrize("family", ["gpt2", "transformer-xl", "xlnet", "t5", "glm"])
def test_several_threads_stream_and_score_with_one_model(model: Any, family: str) -> None:
    """Streams that take turns on the same model, while others score, disturb each other in nothing."""
    served = model(family)
    asked = [("the cat finds", 1), ("一封信", 2), ("my sister paints a box", 3), ("the cat", 4)]
    expected = [served.generate(prompt, seed=seed, max_tokens=15) for prompt, seed in asked]
    open_streams = [events(served, prompt, seed=seed, max_tokens=15) for prompt, seed in asked]
    sent: list[list[str]] = [[] for _ in asked]
    while any(not one or "[DONE]" not in one[-1] for one in sent):
        for number, stream in enumerate(open_streams):
            sent[number] += [event for event in [next(stream, None)] if event is not None]
    assert [heard(one) for one in sent] == expected
    source = "my sister" if served.abilities.decoder() is not None else None
    text = "the cat finds a box " * 8
    alone = served.score(text, source=source)
    with ThreadPoolExecutor(4) as pool:
        streams = [pool.submit(lambda asked: heard(list(events(served, asked[0], seed=asked[1], max_tokens=15))), one) for one in asked]
        scores = [pool.submit(served.score, text, source=source) for _ in range(4)]
        assert [one.result() for one in streams] == expected
        assert all(one.result() == alone for one in scores)
