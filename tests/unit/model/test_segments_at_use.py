"""What a text's tokens are told apart by at use: languages (XLM), and special tokens with a segment of their own (XLNet), as in tuning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.use.filling import Blank, _different
from plume.model.use.language_model import LanguageModel
from plume.model.use.searching import Written
from plume.model.use.text_batches import TextBatches
from plume.readers.example import Example
from plume.recipes import _catalog as catalog
from plume.tuning.kinds.labelling import lay_out_texts
from plume.tuning.tuned import coder_for

TRANSFORMERS = [family for family in catalog.networks() if not catalog.recipe(family).recurrent]

TEXT = "the cat finds a wooden box"


@pytest.mark.parametrize("family", TRANSFORMERS)
def test_use_and_tuning_read_a_text_alike(family: str, language_model: Any) -> None:
    """The same tokens and segments, wherever tuning frames a text as pre-training does."""
    model = language_model(family)
    coder = coder_for(model.model, model.tokenizer, length=32)
    rows, _ = lay_out_texts([Example(texts=(TEXT,))], coder)
    (framed,) = TextBatches(model.abilities, [TEXT], [None]).framed
    if coder.single == model.tokenizer.format.single:
        assert framed.tokens == rows.tokens.tolist()
    segment = [0] * len(framed.tokens) if framed.segment is None else framed.segment
    assert segment == (np.zeros(len(rows.tokens), np.int64) if rows.segment is None else rows.segment).tolist()[: len(segment)]


def test_xlnet_has_the_token_types_of_its_own_tokenizer(language_model: Any) -> None:
    model = language_model("xlnet")
    pieces = [
        ("<unk>", 0.0),
        ("<s>", 0.0),
        ("</s>", 0.0),
        ("<cls>", 0.0),
        ("<sep>", 0.0),
        ("<pad>", 0.0),
        ("<mask>", 0.0),
        ("▁the", -1.0),
        ("▁cat", -1.0),
    ]
    theirs = transformers.XLNetTokenizer(vocab=pieces)("the cat the cat", return_token_type_ids=True)["token_type_ids"]
    can = model.abilities
    assert theirs == can.segments(can.frame([9, 9, 9, 9]), None) == [0, 0, 0, 0, 0, 2]


def test_xlnet_embeds_hides_and_fills_with_the_class_token_s_segment(language_model: Any) -> None:
    model = language_model("xlnet")
    frame = model.abilities.frame(model.tokenizer.encode([TEXT])[0])
    segment = torch.tensor([[0] * (len(frame) - 1) + [2]])
    with torch.no_grad():
        right, wrong = (model.model.encode(Batch(tokens=torch.tensor([frame]), segment=one)).last[0] for one in (segment, None))
    assert float((right - wrong).abs().max()) > 1e-4
    np.testing.assert_allclose(model.embed([TEXT, "a"], pooling="last")[0], right[-1].float(), atol=1e-6)
    np.testing.assert_allclose(model.hidden(TEXT)[0].layers[-1], right.float(), atol=1e-6)


def test_xlm_reads_a_text_with_the_vector_of_its_language(language_model: Any) -> None:
    model = language_model("xlm")  # 0 is English, 1 Chinese
    frame = model.abilities.frame(model.tokenizer.encode([TEXT])[0])
    with torch.no_grad():
        states = [model.model.encode(Batch(tokens=torch.tensor([frame]), segment=torch.full((1, len(frame)), n))).last[0] for n in (0, 1)]
    for language, state in ((None, states[0]), ("en", states[0]), ("zh", states[1]), (1, states[1])):
        np.testing.assert_allclose(model.embed(TEXT, language=language, pooling="mean")[0], state.mean(0).float(), atol=1e-6)
    together = model.embed([TEXT, "小猫", TEXT, TEXT], language=[None, None, "zh", "en"])
    assert np.abs(together[0] - together[3]).max() < 1e-6 < np.abs(together[0] - together[2]).max()
    np.testing.assert_allclose(together[1], model.embed("小猫", language="zh")[0], atol=1e-6)
    np.testing.assert_allclose(model.hidden(TEXT, language="zh")[0].layers[-1], states[1].float(), atol=1e-6)
    with pytest.raises(PlumeError, match="2 texts, and 1 languages"):
        model.embed([TEXT, TEXT], language=["en"])
    with pytest.raises(PlumeError, match="text 2: cannot tell which language '12' is in"):
        model.embed([TEXT, "12"])


@torch.inference_mode()
def test_xlm_scores_and_fills_with_the_vector_of_its_language(language_model: Any) -> None:
    model = language_model("xlm")
    can, tokenizer = model.abilities, model.tokenizer
    frame = can.frame(tokenizer.encode([TEXT])[0])
    for number, language in enumerate(("en", "zh")):
        total = 0.0
        for place in range(1, len(frame) - 1):
            shown = torch.tensor([[*frame[:place], can.mask, *frame[place + 1 :]]])
            states = model.model.token_states(Batch(tokens=shown, segment=torch.full_like(shown, number))).last
            total += float(model.model.head("masked_lm").logits(states)[0, place].log_softmax(-1)[frame[place]])
        assert model.score(TEXT, language=language)[0].log_probability == pytest.approx(total, abs=1e-6)
    blank = "the cat ___ a box"
    assert model.fill(blank) == model.fill(blank, language="en") != model.fill(blank, language="zh")
    assert model.fill("小猫 ___") == model.fill("小猫 ___", language="zh")


@torch.inference_mode()
def test_a_causal_xlm_writes_and_scores_in_a_language(miniature: Any, built: Any, tokenizer_for: Any) -> None:
    recipe = miniature("xlm").override("objectives=(causal_lm(),)")
    tokenizer = tokenizer_for(recipe)
    model = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
    found, other = (model.score(TEXT, language=language)[0].log_probability for language in (None, "zh"))
    row = torch.tensor([[tokenizer.separator, *tokenizer.encode([TEXT])[0]]])
    states = model.model.encode(Batch(tokens=row[:, :-1], order=model.recipe.noise.order, segment=torch.ones_like(row[:, :-1]))).last[0]
    scores = model.model.head("causal_lm").logits(states).log_softmax(-1)
    assert other == pytest.approx(float(scores.gather(1, row[0, 1:, None]).sum()), abs=1e-6) and found != other
    assert model.generate(TEXT, greedy=True, max_tokens=6) == model.generate(TEXT, greedy=True, max_tokens=6, language="en")
    with pytest.raises(PlumeError, match="Cannot tell which language '' is in"):
        model.generate("")


def test_beams_that_write_the_same_are_one_guess() -> None:
    """Beam 2n and 2n + 1 differ in what follows the span alone; the better one stays, and the search is made wider."""
    asked = []

    def search(beams: int) -> list[Written]:
        asked.append(beams)
        return [Written(-float(number), (number // 2, number)) for number in range(beams)]

    def read(guess: Written) -> list[Blank]:
        return [Blank(token=str(guess.tokens[0]), probability=math.exp(guess.score), text=f"a {guess.tokens[0]}")]

    ((*found,),) = _different(search, read, 3)
    assert [blank.token for blank in found] == ["0", "1", "2"] and asked == [3, 6]
    assert [blank.probability for blank in found] == [math.exp(-score) for score in (0, 2, 4)]
    asked.clear()
    same = _different(search, lambda guess: [Blank(token="x", probability=math.exp(guess.score), text="x")], 2)
    assert [[blank.probability for blank in blanks] for blanks in same] == [[1.0]] and asked == [2, 4, 8, 16]
