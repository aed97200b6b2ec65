"""What a family was trained to do it does, and what it cannot do it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.model.use.sampling import Sampling
from plume.model.use.writers import CausalWriter, DecoderWriter, MaskWriter, QueryWriter, SpanWriter, Writer
from plume.model.use.writing import answering, writer_for
from plume.recipes import _catalog as catalog
from plume.text.control import control_codes

SOURCE_SEGMENT = 4  # UniLM's for what is read
every_family = pytest.mark.parametrize("family", catalog.networks())
TEXT, SOURCE = "The cat finds", "my sister paints"


def can(model: LanguageModel, verb: str) -> bool:
    return verb in model.abilities.words()


def refused(model: LanguageModel, verb: Callable[[], Any]) -> None:
    """In words that say what the model can do instead."""
    with pytest.raises(PlumeError) as error:
        verb()
    assert model.abilities.words() in str(error.value)


def blank(model: LanguageModel) -> str:
    return "the cat ___ a box"


@every_family
def test_writes_or_says_why_not(language_model: Any, family: str) -> None:
    model = language_model(family)
    if not can(model, "generate"):
        refused(model, lambda: model.generate(TEXT, max_tokens=4))
        return
    greedy = model.generate(TEXT, max_tokens=8, greedy=True)
    assert model.generate(TEXT, max_tokens=8, greedy=True) == greedy == model.generate(TEXT, max_tokens=8, top_k=1)
    drawn = {seed: model.generate(TEXT, max_tokens=8, temperature=3.0, seed=seed) for seed in range(5)}
    assert len(set(drawn.values())) > 1
    assert all(model.generate(TEXT, max_tokens=8, temperature=3.0, seed=seed) == text for seed, text in drawn.items())
    assert isinstance(model.generate(TEXT, max_tokens=8, beams=3), str)
    model.generate("", max_tokens=3, greedy=True)
    for code in control_codes(model.tokenizer):
        assert isinstance(model.generate(TEXT, max_tokens=3, greedy=True, code=code), str)
    with pytest.raises(PlumeError, match="Unknown control code 'Poetry'"):
        model.generate(TEXT, code="Poetry")


@every_family
def test_fills_or_says_why_not(language_model: Any, family: str) -> None:
    model = language_model(family)
    if not can(model, "fill"):
        refused(model, lambda: model.fill(blank(model)))
        return
    for top in (1, 3):
        (guesses,) = model.fill(blank(model), top=top)
        assert len(guesses) == top
        assert all(0 <= guess.probability <= 1 for guess in guesses)
        assert [guess.probability for guess in guesses] == sorted((guess.probability for guess in guesses), reverse=True)
    with pytest.raises(PlumeError, match="nothing to fill in"):
        model.fill("no blank here")


@every_family
def test_scores_or_says_why_not(language_model: Any, family: str) -> None:
    model = language_model(family)
    if not can(model, "score"):
        refused(model, lambda: model.score(TEXT))
        return
    source = SOURCE if model.abilities.decoder() is not None else None
    found = model.score([TEXT, "一封信", TEXT], source=source)
    assert [score.tokens > 0 for score in found] == [True] * 3
    assert found[0] == found[2]
    assert all(score.log_probability < 0 and score.perplexity > 1 for score in found)


def answers(model: LanguageModel) -> bool:
    """Does it write after reading a source?"""
    return model.abilities.decoder() is not None or model.abilities.masks_after_text() is not None


@every_family
def test_answers_a_source_or_says_why_not(language_model: Any, family: str) -> None:
    """A score is the chain rule over passes without a cache; the token that closes counts where training asked for it."""
    model = language_model(family)
    if not answers(model):
        for verb in (lambda: model.generate(TEXT, source=SOURCE), lambda: model.score(TEXT, source=SOURCE)):
            with pytest.raises(PlumeError, match="has no decoder"):
                verb()
        return
    can = model.abilities
    kind = can.decoder() or can.masks_after_text()
    assert kind is not None and kind.noise.closes
    ids = model.tokenizer.encode([TEXT])[0]
    answer = can.closed(kind, ids)
    writer = writer_for(can, [answering(can, SOURCE, [], room=8)])
    given = len(can.opening(kind))  # which the writer starts with, and a score counts
    with torch.no_grad():
        total = sum(float(without_cache(writer, 0, answer[given:place])[answer[place]]) for place in range(given, len(answer)))
    found = model.score(TEXT, source=SOURCE)[0]
    assert found.tokens == len(answer) and answer[-1] == can.end
    assert given or found.log_probability == pytest.approx(total, abs=1e-9)
    assert model.generate(TEXT, source=SOURCE, max_tokens=1, greedy=True).startswith(model.tokenizer.decode(ids))  # how the answer begins


@every_family
def test_embeds(language_model: Any, family: str) -> None:
    model = language_model(family)
    vectors = model.embed([TEXT, "一封信"])
    assert vectors.shape == (2, model.model.width)
    assert model.recipe.recurrent or vectors.shape[1] == 32
    assert abs(vectors[0] - vectors[1]).max() > 1e-4


# What is cached while writing


def without_cache(writer: Writer, start: int, written: list[int]) -> Tensor:
    """[V] scores of the next token, by one pass over everything."""
    model = writer.model
    if isinstance(writer, CausalWriter):
        batch = Batch(tokens=torch.tensor([[*writer.prompt[0].tolist(), *written]]), order=Order.CAUSAL)
    elif isinstance(writer, DecoderWriter):
        tokens = torch.tensor([[*writer.prompt[0].tolist(), *written]])
        place = torch.arange(tokens.shape[1])[None] + start
        batch = Batch(tokens=tokens, order=Order.CAUSAL, position=place, source=writer.source.map(lambda rows: rows[:1]))
    elif isinstance(writer, SpanWriter):
        tokens = torch.tensor([[*writer.text[0].tolist(), writer.start, *written]])
        order = (torch.arange(tokens.shape[1])[None] - writer.text.shape[1] + 1).clamp(min=0)
        place = torch.arange(tokens.shape[1])[None].masked_fill(order > 0, int(writer.blank[0]))
        batch = Batch(tokens=tokens, order=Order.RANKED, rank=order, position=place, within=order)
    else:
        assert isinstance(writer, MaskWriter | QueryWriter)
        read = [] if isinstance(writer, QueryWriter) or writer.source is None else writer.source.tokens[0].tolist()
        tokens = torch.tensor([[*read, *writer.prompt[0].tolist(), *written, writer.mask]])
        batch = Batch(tokens=tokens, order=Order.CAUSAL)
        if isinstance(writer, MaskWriter) and writer.segment is not None:
            rank = (torch.arange(tokens.shape[1])[None] - len(read) + 1).clamp(min=0)
            segment = torch.full_like(tokens, writer.segment).masked_fill(rank == 0, SOURCE_SEGMENT)
            batch = Batch(tokens=tokens, order=Order.RANKED, rank=rank, segment=segment)
        if isinstance(writer, QueryWriter):
            last = torch.tensor([[tokens.shape[1] - 1]])
            batch = Batch(tokens=tokens, order=Order.CAUSAL, read=last, query=torch.full_like(last, writer.mask))
    return writer.head.next_scores(model.token_states(batch))[0]


@every_family
@pytest.mark.parametrize("source", [None, SOURCE])
def test_a_step_with_the_cache_is_a_pass_over_the_whole(
    language_model: Any, family: str, source: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float64, with histories that are moved about as a beam search does."""
    model = language_model(family)
    if not can(model, "generate") or not (source is None or answers(model)):
        pytest.skip("writes nothing")
    caught: list[Writer] = []
    monkeypatch.setattr("plume.model.use.writing.write", lambda writer, **_: caught.append(writer) or [])
    model.generate(TEXT, source=source, max_tokens=8)
    (writer,) = caught
    start = int(writer.position) if isinstance(writer, DecoderWriter) else 0
    words = [number for number in range(5, model.tokenizer.size) if number not in model.tokenizer.special_ids]
    with torch.no_grad():
        scores = writer.first()
        assert float((scores[0] - without_cache(writer, start, [])).abs().max()) < 1e-9
        assert float(scores.exp().sum()) == pytest.approx(1.0, abs=1e-9)
        histories: list[list[int]] = [[]]
        for rows, tokens in (([0, 0, 0], words[:3]), ([2, 0], words[3:5]), ([1, 1, 0], words[5:8])):
            writer.reorder(torch.tensor(rows))
            histories = [[*histories[row], token] for row, token in zip(rows, tokens, strict=True)]
            scores = writer.go_on(torch.tensor(tokens))
            for row, history in enumerate(histories):
                assert float((scores[row] - without_cache(writer, start, history)).abs().max()) < 1e-9


def test_sampling_is_checked_before_anything_runs() -> None:
    with pytest.raises(PlumeError, match="temperature"):
        Sampling(temperature=0.0)
