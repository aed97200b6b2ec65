"""Completions as OpenAI defines them: penalties by hand, stop strings against a slow reference, probabilities, echo, texts that join."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionEvent, CompletionOptions
from plume.model.use.joint_writer import JointWriter
from plume.model.use.language_model import LanguageModel
from plume.model.use.searching import Finish
from plume.model.use.streaming import Telling, settled
from plume.model.use.writing import begin


@pytest.fixture(scope="module")
def model(language_model: Any) -> LanguageModel:
    found: LanguageModel = language_model("gpt2")
    return found


def completed(model: LanguageModel, prompt: Any, **options: Any) -> list[CompletionEvent]:
    asked = CompletionOptions(**options)
    completer = Completer(model.abilities)
    completer.add(begin(model.abilities, prompt, room=asked.max_tokens), asked)
    return list(completer.run())


def text(events: list[CompletionEvent]) -> str:
    return "".join(event.text for event in events)


def scores_after(model: LanguageModel, ids: list[int]) -> torch.Tensor:
    """[V] the model's log-probabilities of the next token, without a cache."""
    with torch.inference_mode():
        states = model.model.encode(Batch(tokens=torch.tensor([ids]), order=Order.CAUSAL))
        return model.abilities.head(model.abilities.causal()).next_scores(states)[0]  # type: ignore[arg-type]


# Stop strings

SIGNS = "ab的 \n"


def slow(tokenizer: Any, ids: list[int], stops: list[str]) -> tuple[str, bool]:
    """Sign after sign of what is settled after each token: where a stop string is whole, the text ends before it."""
    for count in range(1, len(ids) + 2):
        known = settled(tokenizer.decode(ids[:count])) if count <= len(ids) else tokenizer.decode(ids)
        for end in range(1, len(known) + 1):
            whole = [stop for stop in stops if known[:end].endswith(stop)]
            if whole:
                return known[: end - max(map(len, whole))], True
    return tokenizer.decode(ids), False


@pytest.mark.parametrize("family", ["gpt2", "bert", "t5", "gpt"])
def test_stop_strings_are_found_however_the_text_is_cut(miniature: Any, tokenizer_for: Any, family: str) -> None:
    tokenizer = tokenizer_for(miniature(family))
    known = [token for token in range(tokenizer.size) if set(tokenizer.decode([token])) <= set(SIGNS) | {"�"}]
    letters = [token for token in known if token not in tokenizer.special_ids][:40] + tokenizer.encode(["的abab"])[0]

    @settings(max_examples=150)
    @given(st.lists(st.sampled_from(letters), max_size=14), st.lists(st.text(SIGNS, min_size=1, max_size=4), max_size=3))
    def check(ids: list[int], stops: list[str]) -> None:
        telling, pieces = Telling(tokenizer, stops=stops), []
        for token in ids:
            goes_on = telling.add(token)
            pieces.append(telling.take())
            if not goes_on:
                break
        telling.close()
        pieces.append(telling.take())
        expected, stopped = slow(tokenizer, ids, stops)
        assert ("".join(pieces), telling.stopped) == (expected, stopped)
        assert not any(stop in expected for stop in stops)

    check()


def test_nothing_of_a_stop_string_that_spans_tokens_is_told(model: LanguageModel) -> None:
    whole = text(completed(model, "The cat", max_tokens=40, temperature=0))
    for begin_, end in ((5, 8), (9, 15), (3, 4)):
        stop = whole[begin_:end]
        events = completed(model, "The cat", max_tokens=40, temperature=0, stop=["never", stop])
        assert text(events) == whole[: whole.index(stop)] and events[-1].finish is Finish.STOP
    assert completed(model, "The cat", max_tokens=4, temperature=0)[-1].finish is Finish.LENGTH


# Penalties


@pytest.mark.parametrize(
    "options", [{"presence_penalty": 1.5}, {"frequency_penalty": 0.8}, {"presence_penalty": -0.7, "frequency_penalty": 1.2}]
)
def test_penalties_are_taken_from_scores_by_the_count_of_what_was_written(model: LanguageModel, options: dict[str, float]) -> None:
    prompt, written = model.tokenizer.encode(["The cat finds"])[0], list[int]()
    for _ in range(25):
        scores = scores_after(model, prompt + written).numpy()
        for token, count in Counter(written).items():  # the prompt does not count
            scores[token] -= count * options.get("frequency_penalty", 0.0) + (count > 0) * options.get("presence_penalty", 0.0)
        written.append(int(scores.argmax()))
    events = completed(model, "The cat finds", max_tokens=25, temperature=0, logprobs=0, **options)
    assert [one.token for event in events for one in event.tokens] == written
    assert written != [
        one.token for event in completed(model, "The cat finds", max_tokens=25, temperature=0, logprobs=0) for one in event.tokens
    ]


def test_a_bias_forces_a_token_or_forbids_it(model: LanguageModel) -> None:
    token = model.tokenizer.encode(["b"])[0][0]
    assert text(completed(model, "The", max_tokens=5, temperature=0, logit_bias={token: 100.0})) == "bbbbb"
    free, other = (
        [one.token for event in completed(model, "The", max_tokens=5, temperature=0, logprobs=0, logit_bias=bias) for one in event.tokens]
        for bias in ({}, {int(scores_after(model, model.tokenizer.encode(["The"])[0]).argmax()): -100.0})
    )
    assert free[0] not in other
    with pytest.raises(PlumeError, match="there is no token 99999"):
        completed(model, "The", logit_bias={99999: 1.0})


@pytest.mark.parametrize(
    ("options", "words"),
    [({"temperature": 2.5}, "temperature"), ({"presence_penalty": 3}, "presence_penalty"), ({"n": 0}, "n is 1"), ({"top_p": 0}, "top_p")],
)
def test_what_openai_refuses_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PlumeError, match=words):
        CompletionOptions(**options)


# Probabilities


def test_probabilities_are_the_models_own_whatever_the_sampling(model: LanguageModel) -> None:
    ids = model.tokenizer.encode(["The cat finds"])[0]
    events = completed(
        model, "The cat finds", max_tokens=12, temperature=1.3, top_k=5, seed=4, logprobs=4, presence_penalty=1.0, repetition_penalty=1.3
    )  # fmt: skip
    tokens = [one for event in events for one in event.tokens]
    assert len(tokens) == events[-1].written == 12
    for one in tokens:
        scores = scores_after(model, ids)
        assert one.log_probability == pytest.approx(float(scores[one.token]), abs=1e-9)
        best = scores.topk(4)
        assert [(other.token, other.log_probability) for other in one.likeliest] == [
            (token, pytest.approx(value, abs=1e-9)) for token, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        ids = [*ids, one.token]
    assert b"".join(one.bytes for one in tokens).decode("utf-8", "replace") == text(events)


def test_echo_tells_the_prompt_with_its_probabilities(model: LanguageModel) -> None:
    prompt = "The cat finds 一封信"
    ids = model.tokenizer.encode([prompt])[0]
    (event,) = completed(model, prompt, max_tokens=0, logprobs=1, echo=True)
    assert (event.text, event.finish, event.written) == (prompt, Finish.LENGTH, 0)
    assert [one.token for one in event.tokens] == ids and event.tokens[0].log_probability is None
    for place in range(1, len(ids)):
        assert event.tokens[place].log_probability == pytest.approx(float(scores_after(model, ids[:place])[ids[place]]), abs=1e-9)
    assert event.tokens[2].offset == len(model.tokenizer.decode(ids[:2]))
    assert completed(model, ids, max_tokens=0, echo=True)[0].text == prompt
    events = completed(model, prompt, max_tokens=6, echo=True, temperature=0, stop=["The cat"])
    assert text(events).startswith(prompt) and text(events) == prompt + text(completed(model, prompt, max_tokens=6, temperature=0))
    with pytest.raises(PlumeError, match="no token 99999"):
        completed(model, [99999])


def test_echo_of_a_prompt_that_is_read_as_a_whole_has_no_probabilities(language_model: Any) -> None:
    other = language_model("t5")
    with pytest.raises(PlumeError, match="leave out echo, or logprobs"):
        completed(other, "The cat", max_tokens=3, echo=True, logprobs=1)


# Texts that come and go


def test_half_a_character_is_never_told(model: LanguageModel) -> None:
    said = "🦆的 naïve 一封信"
    ids = model.tokenizer.encode([said])[0]
    assert len(ids) > len(said), "several tokens a character"
    telling, pieces = Telling(model.tokenizer, stops=["信件"]), []
    for token in ids:
        assert telling.add(token)
        pieces.append(telling.take())
    telling.close()
    pieces.append(telling.take())
    assert "".join(pieces) == said and not any("�" in piece for piece in pieces)
    byte = model.tokenizer.encode(["的"])[0][0]  # the first third of a character, and nothing else: told only once nothing can follow
    events = completed(model, "a", max_tokens=7, temperature=0, logit_bias={byte: 100.0})
    assert [event.text for event in events] == ["�" * 7]


def test_choices_are_drawn_with_seeds_of_their_own(model: LanguageModel) -> None:
    events = completed(model, "The cat", max_tokens=8, seed=7, n=3)
    found = ["".join(event.text for event in events if event.choice == choice) for choice in range(3)]
    assert found == [text(completed(model, "The cat", max_tokens=8, seed=7 + choice)) for choice in range(3)] and len(set(found)) == 3


def test_one_batch_that_others_join_and_leave(model: LanguageModel) -> None:
    """Columns that nobody sees any more are dropped, and what is cancelled leaves."""
    can = model.abilities
    completer = Completer(can)
    completer.add(begin(can, "The cat finds a wooden box near the river. " * 2, room=9), CompletionOptions(max_tokens=2, temperature=0))
    completer.step()
    short = completer.add(begin(can, "a", room=30), CompletionOptions(max_tokens=30, temperature=0))
    gone = completer.add(begin(can, "my sister", room=30), CompletionOptions(max_tokens=30, temperature=0))
    events = completer.step()
    ((_, going),) = completer._going
    assert isinstance(going.writer, JointWriter) and going.writer.rows == 2 and going.writer.columns < 20
    completer.cancel(gone)
    events += list(completer.run())
    assert "".join(event.text for event in events if event.prompt == short) == text(completed(model, "a", max_tokens=30, temperature=0))
    assert all(event.finish is None for event in events if event.prompt == gone) and completer.idle


def test_no_more_rows_than_there_is_room_for(model: LanguageModel) -> None:
    can = model.abilities
    completer = Completer(can, rows=2)
    for number in range(5):
        completer.add(begin(can, "The cat", room=3), CompletionOptions(max_tokens=3, seed=number))
    seen, ends = [], 0
    while not completer.idle:
        ends += sum(event.finish is not None for event in completer.step())
        seen.append(completer.going)
    assert max(seen) <= 2 and ends == 5


@torch.inference_mode()
def test_rows_of_any_length_get_the_scores_that_they_get_alone(model: LanguageModel) -> None:
    can = model.abilities
    prompts = [can.tokenizer.encode([text])[0] for text in ("The cat finds", "a", "my sister paints a box")]
    head = can.head(can.causal())  # type: ignore[arg-type]
    together = JointWriter(model.model, head, can.rows(prompts))
    first = together.first()
    late = JointWriter(model.model, head, can.rows([prompts[0][:2]]))
    late.first()
    together.join(late)
    later = together.go_on(torch.tensor([5, 6, 7, 8]))
    for row, ids in enumerate([*prompts, prompts[0][:2]]):
        if row < 3:
            assert float((first[row] - scores_after(model, ids)).abs().max()) < 1e-10
        assert float((later[row] - scores_after(model, [*ids, 5 + row])).abs().max()) < 1e-10
    assert math.isfinite(float(later.sum()))
