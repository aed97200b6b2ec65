"""Perplexity, filling accuracy and what a model writes, each against the plain computation."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import precise
from plume.model.use import scoring
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel
from plume.tasks.language_modelling import TASK
from plume.tuning.zero_shot import perplexity
from plume.tuning.zero_shot.perplexity import Tally, _around

SENTENCE = "The cat finds a wooden box near the river."
LONG = " ".join(["The old captain follows two apples after the storm.", "My sister paints the lighthouse.", SENTENCE] * 4)


@pytest.fixture(scope="module")
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    made: dict[tuple[str, int], LanguageModel] = {}

    def make(family: str, *, length: int = 64) -> LanguageModel:
        if (family, length) not in made:
            recipe = miniature(family, length=length)
            if recipe.positions.longest is not None:
                recipe = replace(recipe, positions=replace(recipe.positions, longest=length))
            tokenizer = tokenizer_for(recipe)
            made[family, length] = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
            made[family, length].model.spell(tokenizer.tokens())
        return made[family, length]

    return make


@pytest.fixture
def text(tmp_path: Path) -> Any:
    """A file of these documents."""

    def write(*documents: str) -> Path:
        path = tmp_path / "text.txt"
        path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
        return path

    return write


# Left to right


@pytest.mark.parametrize("family", ["gpt2", "ctrl", "transformer-xl", "ulmfit", "elmo"])
def test_perplexity_is_that_of_the_scores(language_model: Any, text: Any, family: str) -> None:
    model = language_model(family)
    found = TASK.evaluate(model, [text(SENTENCE)])
    (score,) = model.score(SENTENCE)
    assert found["perplexity"] == pytest.approx(math.exp(-score.log_probability / score.tokens), rel=1e-9)
    assert found["tokens"] == score.tokens
    assert found["bits_per_character"] == pytest.approx(-score.log_probability / math.log(2) / len(SENTENCE), rel=1e-9)


@pytest.mark.parametrize(("family", "length"), [("gpt2", 16), ("gpt2", 15), ("transformer-xl", 16), ("ulmfit", 16)])
def test_long_text_is_read_in_windows_as_scores_are(
    language_model: Any, text: Any, family: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_STRETCH", length)  # of a model with a memory
    model = language_model(family, length=length)
    found = TASK.evaluate(model, [text(LONG)])
    (score,) = model.score(LONG)
    assert found["tokens"] == score.tokens > 6 * length
    assert found["perplexity"] == pytest.approx(score.perplexity, rel=1e-9)


def by_one_row(model: LanguageModel, documents: list[str]) -> tuple[list[float], list[int]]:
    """Log-probabilities and places of all tokens but separators, from one row for the whole text."""
    separator = model.tokenizer.separator
    row = [separator]
    for ids in model.tokenizer.encode(documents):
        row += [*ids, separator]
    tokens = torch.tensor([row])
    with torch.inference_mode():
        states = model.model.encode(Batch(tokens=tokens[:, :-1], order=Order.CAUSAL)).last[0]
        scores = precise(model.abilities.head(model.abilities.causal()).logits(states)).log_softmax(-1)
    asked = [place for place, token in enumerate(row[1:]) if token != separator]
    chosen = [float(scores[place, row[place + 1]]) for place in asked]
    places = [int((scores[place] > scores[place, row[place + 1]]).sum()) for place in asked]
    return chosen, places


def test_separators_are_read_and_not_asked_for(language_model: Any, text: Any) -> None:
    model = language_model("gpt2", length=128)
    documents = [SENTENCE, "My sister paints.", "我们喜欢苹果。"]
    found = TASK.evaluate(model, [text(*documents)], top=(1, 3, 40))
    chosen, places = by_one_row(model, documents)
    assert found["tokens"] == len(chosen)
    assert found["loss"] == pytest.approx(-np.mean(chosen), rel=1e-9)
    for top in (1, 3, 40):
        assert found[f"top{top}"] == pytest.approx(np.mean([place < top for place in places]))
    assert 0 < found["top40"] < 1


def test_a_stream_cut_into_several_asks_for_every_token_once(language_model: Any, text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = language_model("transformer-xl", length=16)
    whole = TASK.evaluate(model, [text(LONG)])
    monkeypatch.setattr(perplexity, "_STRETCHES", 2)
    stream = np.arange(150) + 5
    places = [place for _, _, place in perplexity._streams(model.abilities, np.resize(stream, 150) % 100, 16)]
    assert places[0].shape == (4, 16)
    asked = np.concatenate([place[place >= 0] for place in places])
    assert sorted(asked.tolist()) == list(range(1, 150))
    cut = TASK.evaluate(model, [text(LONG)])
    assert cut["tokens"] == whole["tokens"]
    assert cut["loss"] == pytest.approx(whole["loss"], rel=0.1)
    assert cut["loss"] != whole["loss"]


def test_half_a_window_at_least_is_read_before_a_token(language_model: Any) -> None:
    can = language_model("gpt2", length=16).abilities
    stream = np.arange(60) % 50 + 5
    seen = []
    plain = perplexity.left_to_right

    def spy(can: Any, tokens: Any, length: Any, read: Any, segment: Any) -> Any:
        seen.append((tokens, length, read))
        return plain(can, tokens, length, read, segment)

    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(perplexity, "left_to_right", spy)
        places = np.concatenate([place.ravel() for _, _, place in perplexity._windows(can, stream, 16)])
    assert sorted(places[places >= 0].tolist()) == list(range(1, 60))
    ((tokens, _, read),) = seen
    assert tokens.shape == (8, 16)
    assert (read[1:-1] == np.arange(8, 16)).all()


# From both sides


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "mpnet", "unilm"])
def test_pseudo_perplexity_is_that_of_the_scores(language_model: Any, text: Any, family: str) -> None:
    model = language_model(family)
    found = TASK.evaluate(model, [text(SENTENCE)], sample=None)
    (score,) = model.score(SENTENCE)
    assert found["pseudo_perplexity"] == pytest.approx(score.perplexity, rel=1e-9)
    assert found["tokens"] == score.tokens
    assert "perplexity" not in found


@pytest.mark.parametrize("family", ["bert", "xlnet"])
def test_filling_accuracy_is_that_of_a_slow_loop(language_model: Any, text: Any, family: str, at_masks: Any) -> None:
    model = language_model(family)
    can = model.abilities
    documents = [SENTENCE, "My sister paints.", "我们喜欢苹果。"]
    found = TASK.evaluate(model, [text(*documents)], top=(1, 20), sample=None)
    places, total = [], 0.0
    for ids in model.tokenizer.encode(documents):
        frame = can.frame(ids)
        first = can.frame([-1]).index(-1)
        for place in range(first, first + len(ids)):
            shown = [*frame[:place], can.mask, *frame[place + 1 :]]
            with torch.inference_mode():
                scores = at_masks(can, shown, [place])[0].log_softmax(-1)
            total -= float(scores[frame[place]])
            places.append(int((scores > scores[frame[place]]).sum()))
    assert found["loss"] == pytest.approx(total / len(places), rel=1e-9)
    assert found["tokens"] == len(places)
    assert found["top1"] == pytest.approx(np.mean([place < 1 for place in places]))
    assert found["top20"] == pytest.approx(np.mean([place < 20 for place in places]))
    assert 0 < found["top20"] < 1


def test_the_window_lies_around_the_token_inside_its_document(store_of: Any) -> None:
    store = store_of([[3, 4], [2], [30, 25]])
    place, begin, end, _ = _around(store, room=10)
    assert len(place) == 64  # no separator
    first = np.where(place < 7, 0, np.where(place < 10, 8, 11))
    last = np.where(place < 7, 7, np.where(place < 10, 10, 66))
    assert (begin >= first).all()
    assert (end <= last).all()
    assert ((begin <= place) & (place < end)).all()
    assert (end - begin == np.minimum(10, last - first)).all()
    inner = (place >= 16) & (place < 60)
    assert (place[inner] - begin[inner] == 5).all()


def test_a_sample_is_fixed_by_its_seed(language_model: Any, text: Any) -> None:
    model, file = language_model("bert"), text(LONG)
    whole = TASK.evaluate(model, [file], sample=None)
    some, again, other = (TASK.evaluate(model, [file], sample=40, seed=seed) for seed in (0, 0, 1))
    assert some == again
    assert some["loss"] != other["loss"]
    assert some["tokens"] == 40 < whole["tokens"]
    assert some["loss"] == pytest.approx(whole["loss"], rel=0.2)
    # Bits a character are those of the whole text, of whatever share was asked for.
    assert some["bits_per_character"] / whole["bits_per_character"] == pytest.approx(some["loss"] / whole["loss"])


# Others


@pytest.mark.parametrize("family", ["t5", "bart", "glm"])
def test_others_are_measured_by_their_own_objectives(language_model: Any, corpus: Any, family: str) -> None:
    model = language_model(family)
    found = TASK.evaluate(model, list(corpus.files))
    assert found == TASK.evaluate(model, list(corpus.files))
    name = model.abilities.token_kinds[0].objectives[0].name
    assert found["loss"] == found[name]
    assert found["perplexity"] == found[f"{name}/perplexity"] == pytest.approx(math.exp(found[name]))
    assert 0 <= found[f"{name}/accuracy"] <= 1
    assert found != TASK.evaluate(model, list(corpus.files), seed=1)


def test_of_equal_scores_the_first_token_counts_as_higher() -> None:
    class Same(torch.nn.Module):
        def logits(self, states: torch.Tensor) -> torch.Tensor:
            return torch.zeros(len(states), 10)

    tally = Tally(tops=(1, 5))
    tally.add(Same(), torch.zeros(10, 2), torch.arange(10))  # type: ignore[arg-type]
    figures = tally.figures(tokens=10, characters=20)
    assert figures["top1"] == 0.1
    assert figures["top5"] == 0.5
    assert figures["loss"] == pytest.approx(math.log(10))
    assert figures["bits_per_character"] == pytest.approx(math.log2(10) / 2)


def test_logits_are_made_a_slice_at_a_time(language_model: Any, text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = language_model("gpt2"), text(LONG)
    whole = TASK.evaluate(model, [file])
    monkeypatch.setattr(perplexity, "_SCORES", 1000)
    assert TASK.evaluate(model, [file]) == pytest.approx(whole)


# Files


def test_jsonl_and_several_files_are_one_text(language_model: Any, text: Any, tmp_path: Path) -> None:
    model = language_model("gpt2", length=128)
    lines = tmp_path / "b.jsonl"
    lines.write_text("".join(json.dumps({"text": one}) + "\n" for one in (SENTENCE, "My sister paints.")), encoding="utf-8")
    assert TASK.evaluate(model, [lines]) == pytest.approx(TASK.evaluate(model, [text(SENTENCE, "My sister paints.")]))


def test_unknown_tokens_are_said(language_model: Any, text: Any) -> None:
    found = TASK.evaluate(language_model("bert"), [text("The cat \u0e01\u0e02 finds. \u0e01")])
    assert 0 < found["unknown"] < 1
    assert "unknown" not in TASK.evaluate(language_model("gpt2"), [text(SENTENCE)])  # bytes know everything


def test_what_cannot_be_measured_is_refused(language_model: Any, text: Any, tmp_path: Path) -> None:
    file = text(SENTENCE)
    with pytest.raises(PlumeError, match="plume eval --similarity"):
        TASK.evaluate(WordModel.__new__(WordModel), [file])
    with pytest.raises(PlumeError, match="does not predict tokens"):
        TASK.evaluate(language_model("deepmoji"), [file])
    with pytest.raises(PlumeError, match="windows of 65 tokens: --length takes 8 or more and at most 64"):
        TASK.evaluate(language_model("gpt2"), [file], length=65)
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    with pytest.raises(PlumeError):
        TASK.evaluate(language_model("gpt2"), [tmp_path / "empty.txt"])


def test_a_shorter_window_reads_less(language_model: Any, text: Any) -> None:
    model, file = language_model("gpt2"), text(LONG)
    short = TASK.evaluate(model, [file], length=8)
    assert short["tokens"] == TASK.evaluate(model, [file])["tokens"]
    assert short["loss"] != TASK.evaluate(model, [file])["loss"]


# Writing


def test_a_text_with_a_blank_is_filled(language_model: Any) -> None:
    model = language_model("bert")
    first, second = TASK.predict(model, ["The cat ___ a [MASK].", "My sister ___."], top=3)
    blanks = model.fill("The cat ___ a [MASK].", top=3)
    assert first["fillings"] == [[{"token": one.token, "score": one.probability} for one in blank] for blank in blanks]
    assert first["text"] == f"The cat {blanks[0][0].token} a {blanks[1][0].token}."
    (only,) = model.fill("My sister ___.", top=3)
    assert second["text"] == only[0].text
    assert [one["token"] for one in second["fillings"][0]] == [one.token for one in only]


def test_any_other_text_is_gone_on_with(language_model: Any) -> None:
    model = language_model("gpt2")
    found = TASK.predict(model, ["The cat", "My sister"], max_tokens=5, greedy=True)
    assert found == [{"text": model.generate(one, max_tokens=5, greedy=True)} for one in ("The cat", "My sister")]
    with pytest.raises(PlumeError):
        TASK.predict(language_model("bert"), ["The cat"])
