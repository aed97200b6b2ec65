"""One demonstration of each label: which, how often, and that company changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.prompting.one_gap import OneGapWriter
from plume.prompting.options import prompt_from_options
from plume.prompting.prompt import go_on
from plume.prompting.template_writing import TemplateWriter
from plume.readers.example import Example
from plume.tuning.prompts.blank import AskedRow, LabelWord
from plume.tuning.prompts.demonstrations import Demonstration
from plume.tuning.prompts.one_of_each import OneOfEachLabel
from plume.tuning.tuned import TunedModel

POOL = tuple(Demonstration(texts=(f"{label} {number}",), word=label, label=label) for label in ("cat", "dog") for number in range(6))


def embed(texts: Any) -> Any:
    """Two texts are the nearer the nearer their numbers."""
    angle = np.array([int(text.split()[-1]) for text in texts]) * 0.2
    return np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)


def test_one_of_each_label_from_the_nearest_half() -> None:
    asked = [Example(texts=("new 0",), answer="cat"), Example(texts=("new 5",), answer="dog")]
    low, high = OneOfEachLabel(draws=40).chosen(POOL, asked, embed=embed)
    assert len(low) == len(high) == 40
    assert {cat for cat, _ in low} == {0, 1, 2} and {dog for _, dog in low} == {6, 7, 8}
    assert {cat for cat, _ in high} == {3, 4, 5} and {dog for _, dog in high} == {9, 10, 11}
    everywhere = OneOfEachLabel(draws=200, nearest=1.0).chosen(POOL, asked, embed=embed)[0]
    assert {cat for cat, _ in everywhere} == set(range(6))


def test_an_example_is_never_shown_to_itself_and_each_epoch_sees_others() -> None:
    asked = [Example(texts=one.texts, answer=one.label) for one in POOL]
    choice = OneOfEachLabel()
    epochs = [choice.chosen(POOL, asked, embed=embed, epoch=epoch) for epoch in range(30)]
    assert all(len(draws) == 1 and place not in draws[0] for one in epochs for place, draws in enumerate(one))
    assert len({tuple(one) for one in epochs}) > 20
    assert choice.chosen(POOL, asked[3:4], embed=embed, epoch=7)[0] == epochs[7][3], "as each alone"
    assert OneOfEachLabel(seed=1).chosen(POOL, asked, embed=embed, epoch=0) != epochs[0]


def test_it_learns_is_saved_and_goes_on(body_of: Any, few: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"train": few, "method": "lm-bff", "template": "{text} near ___.", "quiet": True}
    prompt_from_options(body_of("bert"), out=tmp_path / "out", epochs=2.0, length=60, settings=["draws=3"], **given)
    tuned = TunedModel.load(tmp_path / "out")
    texts = ["the cat finds a wooden box", "my sister paints", "rainy"]
    together = tuned.predict(texts)
    assert [one["score"] for text in texts for one in tuned.predict([text])] == pytest.approx([one["score"] for one in together], abs=2e-6)
    assert go_on(tmp_path / "out", quiet=True).stopped_by is None
    with pytest.raises(PlumeError, match="1 or more draws"):
        prompt_from_options(body_of("bert"), out=tmp_path / "bad", settings=["draws=0"], **given)


def test_what_a_writer_finds_is_as_likely_as_it_says(body_of: Any) -> None:
    """Each template's score against one pass a text, without a cache."""
    can = plume.load(body_of("t5")).abilities
    writer = TemplateWriter(can, beams=6)
    examples = [
        Demonstration(texts=(text,), word=word) for text, word in (("the cat finds it", "box"), ("my sister paints it now", "letter"))
    ]
    sources = [writer._source(one) for one in examples]
    found = writer._searched(sources)
    assert found and len({tokens for tokens, _ in found}) == len(found)
    for tokens, score in found:
        assert tokens.count(writer.sentinels[1]) == 1
        endings = []
        for ending in writer._closing:
            written = [can.start, writer.sentinels[0], *tokens, ending]
            total = 0.0
            for source in sources:
                states = can.model.token_states(replace(can.rows([written[:-1]]), source=can.rows([source]), order=Order.CAUSAL))
                said = can.head(writer.kind).logits(states.last[0]).log_softmax(-1)
                total += sum(float(said[place, token].detach()) for place, token in enumerate(written[1:]) if place > 0)
            endings.append(total / (len(tokens) + 1))
        assert score == pytest.approx(min(endings, key=lambda one: abs(one - score)), abs=1e-4)
    with pytest.raises(PlumeError, match="cannot fill several spans"):
        TemplateWriter(plume.load(body_of("bert")).abilities, beams=3)
    with pytest.raises(PlumeError, match="cannot write templates"):
        OneGapWriter(plume.load(body_of("gpt2")).abilities, beams=3)


@pytest.mark.parametrize("family", ["bert", "glm", "xlnet", "mpnet", "bart"])
def test_a_gap_is_filled_alike_for_all_examples(family: str, body_of: Any) -> None:
    """The mean log-probability of the gap's tokens is what the blank says of them as a label's word."""
    can = plume.load(body_of(family)).abilities
    writer = OneGapWriter(can, beams=3)
    examples = [
        Demonstration(texts=(text,), word=word) for text, word in (("the cat finds it", "box"), ("my sister paints it now", "letter"))
    ]
    sides = [writer._sides(one) for one in examples]
    found = writer._until_the_end(sides) if family in ("glm", "bart") else writer._of_each_length(sides)
    for tokens, score in list(found.items())[:6]:
        total = 0.0
        for before, after in sides:
            ended = {"glm": (*tokens, can.end), "bart": (*tokens, after[0])}.get(family, tokens)
            rows = list(writer.blank.rows(before, [LabelWord(0, 1, ended)], after))
            for row in rows:
                for one in row.readings:
                    said = writer._read([replace_places(row, row.places[one.place])])
                    total += float(said[0, one.token].detach())
        assert score == pytest.approx(total / len(ended), abs=1e-4)
    assert writer.written(examples)[0].template.startswith("{text}")


def replace_places(row: AskedRow, place: int) -> AskedRow:
    return AskedRow(row.tokens, [place], row.readings, row.written)


def test_the_best_of_several_templates_by_folds(body_of: Any, few: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"train": few, "method": "lm-bff", "quiet": True, "epochs": 1.0, "length": 60}
    settings = ["draws=2", "folds=2", "offer=2", "beams=4", f"writer={body_of('t5')}"]
    prompt_from_options(body_of("bert"), out=tmp_path / "out", template="{text} near ___.", settings=settings, **options)
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    tried = card[card.index("By folds of the training examples") :]
    assert tried.count("| pattern |") == 3 and "{text} near ___." in tried
    assert TemplateWriter(plume.load(body_of("t5")).abilities, beams=4).written(POOL[:2])[0].template.startswith("{text}")
