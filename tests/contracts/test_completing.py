"""Prompts that are gone on with together, by rules of their own and as they come, are written as each alone, in every family that writes."""

from __future__ import annotations

from typing import Any

import pytest

from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionEvent, CompletionOptions
from plume.model.use.language_model import LanguageModel
from plume.model.use.writing import begin
from plume.recipes import _catalog as catalog

PROMPTS = ["The cat finds", "my sister paints a wooden box near the river", "一封信", "a", "her teacher carries two apples today", ""]
OPTIONS = [
    CompletionOptions(max_tokens=9, temperature=0),
    CompletionOptions(max_tokens=12, temperature=1.5, seed=3, n=2),
    CompletionOptions(max_tokens=7, top_p=0.9, top_k=40, seed=11, presence_penalty=1.0, frequency_penalty=0.5, logprobs=3),
    CompletionOptions(max_tokens=5, temperature=0, repetition_penalty=1.4, logit_bias={9: 2.0, 11: -100.0}),
    CompletionOptions(max_tokens=10, temperature=0.7, seed=5, stop=["a", "的", "the"]),
    CompletionOptions(max_tokens=0),
]


def writing(model: LanguageModel) -> dict[str, Any]:
    """How its prompts are begun."""
    if "generate" not in model.abilities.words() or model.abilities.after_text() is not None:
        pytest.skip("goes on with nothing")
    return {} if model.model.languages is None else {"language": model.model.languages.names[0]}


def told(events: list[CompletionEvent]) -> dict[tuple[int, int], tuple[str, Any, int, list[Any]]]:
    """By prompt and choice: its text, why it ended, how many tokens it has, and those of which probabilities were told."""
    found: dict[tuple[int, int], tuple[str, Any, int, list[Any]]] = {}
    for event in events:
        text, finish, _, tokens = found.get((event.prompt, event.choice), ("", None, 0, []))
        assert finish is None, "nothing follows the end"
        found[event.prompt, event.choice] = (text + event.text, event.finish, event.written, [*tokens, *event.tokens])
    return found


@pytest.mark.parametrize("family", catalog.networks())
def test_prompts_that_come_and_go_are_written_as_each_alone(language_model: Any, family: str) -> None:
    model = language_model(family)
    how, can = writing(model), model.abilities
    together, events = Completer(can), []
    for prompt, options in zip(PROMPTS, OPTIONS, strict=True):  # one joins at each step
        together.add(begin(can, prompt, room=options.max_tokens, **how), options)
        events += together.step()
    found = told([*events, *together.run()])
    assert together.idle and together.going == 0
    for number, (prompt, options) in enumerate(zip(PROMPTS, OPTIONS, strict=True)):
        alone = Completer(can)
        alone.add(begin(can, prompt, room=options.max_tokens, **how), options)
        for (_, choice), (text, finish, count, tokens) in told(list(alone.run())).items():
            ours = found[number, choice]
            assert ours[:3] == (text, finish, count) and finish is not None
            assert not any(stop in text for stop in options.stop)
            assert [one.token for one in ours[3]] == [one.token for one in tokens]
            assert [one.log_probability for one in ours[3]] == pytest.approx([one.log_probability for one in tokens], abs=1e-9)


@pytest.mark.parametrize("family", catalog.networks())
def test_without_rules_of_its_own_a_completion_is_what_generate_writes(language_model: Any, family: str) -> None:
    model = language_model(family)
    how, can = writing(model), model.abilities
    for options, way in (({"temperature": 0}, {"greedy": True}), ({"temperature": 1.7, "top_k": 30, "seed": 2},) * 2):
        completer = Completer(can)
        for prompt in PROMPTS[:3]:
            completer.add(begin(can, prompt, room=9, **how), CompletionOptions(max_tokens=9, **options))
        found = told(list(completer.run()))
        expected = model.generate(PROMPTS[:3], max_tokens=9, echo=False, **how, **way)
        assert [found[number, 0][0] for number in range(3)] == expected
