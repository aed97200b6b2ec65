"""Texts that are written, scored or read together are as each alone, and a stream is the text that is generated, in every family."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.model.use.generate import greedy
from plume.model.use.language_model import LanguageModel
from plume.model.use.writing import begin, writer_for
from plume.recipes import _catalog as catalog

every_family = pytest.mark.parametrize("family", catalog.networks())
# Some of one length, some nearly, some far off; in both languages.
TEXTS = [
    "The cat finds",
    "my sister paints a wooden box",
    "一封信",
    "The cat finds",
    "her teacher carries two apples today",
    "a",
    "my sister paints a small box",
    "",
]
SOURCES = ["my sister paints", "The cat finds a wooden box near the river.", "一封信", "her teacher"] * 2
WAYS: list[dict[str, Any]] = [
    {"greedy": True},
    {"temperature": 2.0, "top_k": 40, "seed": 3},
    {"top_p": 0.9, "repetition_penalty": 1.5, "seed": list(range(len(TEXTS)))},
    {"beams": 3},
]


def writing(model: LanguageModel) -> LanguageModel:
    if "generate" not in model.abilities.words():
        pytest.skip("writes nothing")
    return model


def told(model: LanguageModel) -> str | None:
    """XLM must be told."""
    return None if model.model.languages is None else model.model.languages.names[0]


@every_family
@pytest.mark.parametrize("way", WAYS, ids=["greedy", "sampled", "penalised", "beams"])
def test_many_prompts_are_written_as_each_alone(language_model: Any, family: str, way: dict[str, Any]) -> None:
    model = writing(language_model(family))
    language = told(model)
    seeds = way.get("seed", 0)
    together = model.generate(TEXTS, max_tokens=9, language=language, **way)
    for number, text in enumerate(TEXTS):
        own = way | {"seed": seeds[number] if isinstance(seeds, list) else seeds}
        assert model.generate(text, max_tokens=9, language=language, **own) == together[number], text


@every_family
def test_many_answers_are_written_as_each_alone(language_model: Any, family: str) -> None:
    model = language_model(family)
    if model.abilities.decoder() is None and model.abilities.masks_after_text() is None:
        pytest.skip("answers nothing")
    for way in ({"greedy": True}, {"beams": 2}):
        together = model.generate(TEXTS, source=SOURCES, max_tokens=7, **way)
        alone = [model.generate(text, source=source, max_tokens=7, **way) for text, source in zip(TEXTS, SOURCES, strict=True)]
        assert together == alone


@every_family
def test_scores_while_writing_together_are_those_alone(language_model: Any, family: str) -> None:
    """Also where the texts' prompts differ in length, if the family can."""
    model = writing(language_model(family))
    can = model.abilities
    texts = [" ".join(words) for words in itertools.permutations(["the", "cat", "finds", "a"])]
    begun = [begin(can, text, room=7, language=told(model)) for text in [*TEXTS[:3], *texts]]
    lengths = [len(one.prompt if one.source is None else one.source) for one in begun]
    group = begun[:5] if begun[0].spread else [one for one, length in zip(begun, lengths, strict=True) if length == lengths[-1]][:5]
    assert (len(group) == 5 and len({lengths[begun.index(one)] for one in group}) > 1) or not begun[0].spread
    together = greedy(writer_for(can, group), room=7, stop=can.end)
    assert len({round(one.score, 9) for one in together}) > 1, "each is written after its own text"
    for one, found in zip(group, together, strict=True):
        (alone,) = greedy(writer_for(can, [one]), room=7, stop=can.end)
        assert found.tokens == alone.tokens
        assert found.score == pytest.approx(alone.score, abs=1e-9)


@every_family
def test_a_stream_is_the_text_that_is_generated(language_model: Any, family: str) -> None:
    model = writing(language_model(family))
    for prompt in ("The cat finds", "一封信", "the cat doesn't"):
        for way in ({"greedy": True}, {"temperature": 2.0, "seed": 4}, {"beams": 2}):
            given = {"max_tokens": 12, "language": told(model), **way}
            pieces = list(model.stream(prompt, **given))
            whole, new = model.generate(prompt, **given), model.generate([prompt], echo=False, **given)[0]
            assert "".join(pieces) == whole and all(pieces)
            assert "".join(model.stream(prompt, echo=False, **given)) == new
            assert whole.endswith(new) and len(new) < len(whole) + (model.abilities.decoder() is not None)
    unlike = [
        len(list(model.stream("The cat finds", max_tokens=20, temperature=2.0, seed=seed, language=told(model)))) for seed in range(4)
    ]
    assert max(unlike) > 2, "it comes piece by piece"


@every_family
def test_many_texts_are_scored_as_each_alone(language_model: Any, family: str) -> None:
    model = language_model(family)
    if "score" not in model.abilities.words():
        pytest.skip("scores nothing")
    source = SOURCES if model.abilities.decoder() is not None else None
    language = told(model)
    for batch in (3, 32):
        together = model.score(TEXTS, source=source, batch=batch, language=language)
        for number, (text, found) in enumerate(zip(TEXTS, together, strict=True)):
            (alone,) = model.score(text, source=None if source is None else source[number], language=language)
            assert found.tokens == alone.tokens
            assert found.log_probability == pytest.approx(alone.log_probability, abs=1e-9)


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_long_texts_are_scored_together_without_a_trace_in_the_model(language_model: Any, family: str) -> None:
    """Longer than a stretch, and than the memory: the shorter one ends in the middle."""
    model = language_model(family)
    texts = ["the cat finds a box " * 60, "my sister paints " * 45, "a box"]
    together = model.score(texts)
    assert [one.log_probability for one in together] == pytest.approx([model.score(text)[0].log_probability for text in texts], abs=1e-8)
    assert model.model.memories == {}


@every_family
def test_many_texts_are_read_as_each_alone(language_model: Any, family: str) -> None:
    model = language_model(family)
    attention = not model.recipe.recurrent
    language = told(model)
    for text, found in zip(TEXTS, model.hidden(TEXTS, attention=attention, language=language), strict=True):
        (alone,) = model.hidden(text, attention=attention, language=language)
        assert found.tokens == alone.tokens
        assert len(found.layers) == len(alone.layers) and len(found.attention) == len(alone.attention)
        for ours, theirs in zip([*found.layers, *found.attention], [*alone.layers, *alone.attention], strict=True):
            assert ours.shape == theirs.shape
            assert float(np.abs(ours - theirs).max()) < 1e-6


def test_as_many_of_each_as_there_are_prompts(language_model: Any) -> None:
    model = language_model("gpt2")
    assert model.generate([]) == [] and model.score([]) == [] and model.hidden([]) == []
    with pytest.raises(PlumeError, match="2 texts, and 3 seeds"):
        model.generate(["a", "b"], seed=[1, 2, 3])
    with pytest.raises(PlumeError, match="has no decoder"):
        model.stream("a", source="b")  # before the first piece is asked for


def test_sentences_of_one_call_leave_grad_mode_alone(language_model: Any) -> None:
    stream = language_model("gpt2").stream("The cat", max_tokens=3)
    next(stream)
    assert not torch.is_inference_mode_enabled()
