"""Dialogue: no content can speak for another role, only the assistant's turns are learned, and replies together are as each alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import plume
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.metrics.scores import text_scores
from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionOptions
from plume.readers.conversations import Role, Turn, example_of, turns_before
from plume.tasks.dialogue import TASK
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.options import start_from_options
from plume.tuning.preparing import prepare
from plume.tuning.settings import TaskData
from plume.tuning.tuned import TunedModel, assemble, reading_order
from plume.tuning.writing.by_text import approach
from plume.tuning.writing.nearest import frequent_answer, nearest_answers
from plume.tuning.writing.template import ChatTemplate

WRITERS = ["gpt2", "gpt", "ctrl", "transformer-xl", "ulmfit", "t5", "bart", "pegasus", "mass", "palm", "transformer", "unilm", "glm"]
TOKENIZERS = ["gpt2", "gpt", "bert", "t5", "transformer-xl", "xlm"]
TALKS = [
    [Turn(Role.USER, "The cat finds")],
    [Turn(Role.SYSTEM, "my sister"), Turn(Role.USER, "a wooden box"), Turn(Role.ASSISTANT, "paints"), Turn(Role.USER, "near the river")],
    [Turn(Role.USER, "一封信")],
    [Turn(Role.USER, "her teacher"), Turn(Role.ASSISTANT, "老师"), Turn(Role.USER, "two apples today")],
]
EXAMPLES = [
    replace(example_of(turns), answer=answer) for turns, answer in zip(TALKS, ["a letter", "our box", "看见", "my cat"], strict=True)
]


@pytest.fixture(scope="session")
def tuned(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    """A family's miniature with weights at random, as it answers in a conversation."""

    def make(family: str, *, length: int = 64) -> TunedModel:
        recipe = miniature(family, length=64)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size, seed=4)
        task = approach(replace(TASK, longest=8), body, tokenizer, EXAMPLES)
        declared = Declared(tasks=(task,), adaptation=FullTuning(), length=length, order=reading_order(body, tokenizer))
        return TunedModel(assemble(body, declared), tokenizer, declared)

    return make


def messages(turns: list[Turn]) -> list[dict[str, str]]:
    return [{"role": turn.role.value, "content": turn.content} for turn in turns]


# The template


@pytest.mark.parametrize("family", TOKENIZERS)
def test_no_content_speaks_for_another_role(miniature: Any, tokenizer_for: Any, family: str) -> None:
    tokenizer = tokenizer_for(miniature(family))
    template = ChatTemplate().suited(tokenizer)
    specials = [token.content for token in tokenizer.backend.get_added_tokens_decoder().values()]
    roles = ["user", "assistant", "system", *map(template.word, Role)]
    pieces = st.sampled_from([*specials, *roles, ":", "\n", " ", "the cat", "老师", "</s>", "<|im_start|>"])
    contents = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=20)

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.sampled_from(Role), contents), min_size=1, max_size=5))
    def check(said: list[tuple[Role, str]]) -> None:
        turns = [Turn(role, content) for role, content in said]
        write = template.writer(turns, tokenizer)
        ids = [token for turn in turns for token in write(turn)]
        assert [turn.role for turn in template.read(ids, tokenizer)] == [turn.role for turn in turns]
        plain = [tokenizer.decode(one) for one in tokenizer.encode([turn.content for turn in turns])]
        assert [turn.content for turn in template.read(ids, tokenizer)] == plain

    check()


def test_what_a_person_writes_by_hand_is_read_alike(miniature: Any, tokenizer_for: Any) -> None:
    tokenizer = tokenizer_for(miniature("gpt2"))
    template = ChatTemplate()
    turns = TALKS[1]
    write = template.writer(turns, tokenizer)
    ids = [token for turn in turns for token in write(turn)]
    text = template.text(turns, tokenizer)
    assert text.startswith("system<|endoftext|>my sister<|endoftext|>user<|endoftext|>a wooden box")
    assert tokenizer.encode([text], allow_special=True)[0] == [*ids, *tokenizer.encode(["assistant"])[0], tokenizer.separator]
    assert template.read(tokenizer.encode([text], allow_special=True)[0], tokenizer) == turns
    with pytest.raises(PlumeError, match="no conversation"):
        template.read(tokenizer.encode(["cat<|endoftext|>box<|endoftext|>"], allow_special=True)[0], tokenizer)


def test_words_that_a_vocabulary_lacks_are_replaced_or_refused(miniature: Any, tokenizer_for: Any) -> None:
    from plume.text.format import BERT
    from plume.text.tokenizer import Tokenizer
    from plume.text.tokenizers import WordPiece

    chinese = Tokenizer(WordPiece(vocabulary=40).train(iter(["系统用户助手我们喜欢"] * 9), format=BERT), format=BERT)
    assert ChatTemplate().suited(chinese) == ChatTemplate(system="系统", user="用户", assistant="助手")
    with pytest.raises(PlumeError, match="cannot be told apart"):
        ChatTemplate(user="me", assistant="you").suited(chinese)
    assert part_from_json(ChatTemplate(user="U").to_json()) == ChatTemplate(user="U")


# Rows


@pytest.mark.parametrize("family", WRITERS)
def test_only_the_assistants_turn_is_asked_for(tuned: Any, family: str) -> None:
    model = tuned(family, length=256)
    task, coder = model.task(), model.coder()
    questions, _ = task.questions(EXAMPLES, coder)
    for number, example in enumerate(EXAMPLES):
        read = questions.rows.tokens[questions.rows.bounds[number] : questions.rows.bounds[number + 1]].tolist()
        written = questions.targets.tokens[questions.targets.bounds[number] : questions.targets.bounds[number + 1]].tolist()
        tokens = model.tokenizer
        assert written == [*task.way.opening, *tokens.encode([example.answer])[0], task.way.end]
        write = task.template.writer(turns_before(example), tokens)
        said = [token for turn in turns_before(example) for token in write(turn)] + tokens.encode([task.template.assistant])[0]
        assert any(read[begin : begin + len(said)] == said for begin in range(3)), "after what the family's frame puts before a text"
    batch = questions.batch(torch.arange(2).numpy())
    (target,) = batch.labels.values()
    assert sorted(target.value.tolist()) == sorted(questions.targets.tokens[: questions.targets.bounds[2]].tolist())


def test_long_conversations_lose_whole_turns_at_the_front_and_keep_the_system_turn(tuned: Any) -> None:
    model = tuned("gpt2", length=64)
    task, tokens = model.task(), model.tokenizer
    turns = [Turn(Role.SYSTEM, "my sister"), *(Turn((Role.USER, Role.ASSISTANT)[n % 2], f"the cat finds {n}") for n in range(9))]
    rows, notes = task.laid_out([example_of(turns)], task.writes.room(model.coder(), 8), model.coder())
    kept = task.template.read(rows.tokens.tolist(), tokens)
    assert kept[0] == turns[0] and kept[1].role is Role.USER and kept[1:] == turns[-len(kept) + 1 :]
    assert 2 <= len(kept) < len(turns) and rows.cut.tolist() == [True] and sum(notes.values()) == 1
    assert rows.length[0] + 8 < 64
    alone = [Turn(Role.SYSTEM, "my sister"), Turn(Role.USER, "a wooden box " * 40)]
    rows, _ = task.laid_out([example_of(alone)], 40, model.coder())
    assert rows.length.tolist() == [41] and rows.tokens.tolist()[-1] == tokens.separator


# Replies


@pytest.mark.parametrize("family", WRITERS)
def test_replies_together_are_as_each_alone(tuned: Any, family: str) -> None:
    model = tuned(family)
    talks = [messages(turns) for turns in TALKS]
    for how in ({"temperature": 0}, {"temperature": 1.5, "seed": 3, "top_p": 0.95, "presence_penalty": 0.5}):
        together = model.reply(talks, **how)
        assert together == [model.reply(one, **how) for one in talks] and any(together)
        assert ["".join(model.stream(one, **how)) for one in talks] == together
    likeliest = model.predict([{"messages": one} for one in talks])
    assert [one["text"] for one in likeliest] == model.reply(talks, temperature=0)
    assert model.predict("The cat finds")[0]["text"] == model.reply("The cat finds", temperature=0)


@pytest.mark.parametrize("family", WRITERS)
def test_perplexity_is_that_of_the_tokens_one_by_one(tuned: Any, family: str) -> None:
    """By the writer that replies, fed the right answer."""
    model = tuned(family)
    task, body = model.task(), model.body
    predictions, _ = model.answers(task, EXAMPLES)
    for example, found in zip(EXAMPLES, predictions, strict=True):
        begun = model.begin_reply(turns_before(example))
        questions, _ = task.questions([example], model.coder())
        with torch.inference_mode():
            writer = begun.writer(body.abilities, [begun])
            scores, total = writer.first(), 0.0
            for token in questions.targets.tokens.tolist():
                total += float(scores[0, token])
                scores = writer.go_on(torch.tensor([token]))
        assert found["log_probability"] == pytest.approx(total, abs=2e-3) and found["tokens"] == len(questions.targets.tokens)
    mean = sum(one["log_probability"] for one in predictions) / sum(one["tokens"] for one in predictions)
    assert task.measure(EXAMPLES, predictions)["perplexity"] == pytest.approx(math.exp(-mean))


def test_a_server_answers_conversations_beside_each_other(tuned: Any) -> None:
    model = tuned("gpt2")
    completer = Completer(model.body.abilities)
    for turns in TALKS:
        begun = model.begin_reply(messages(turns), max_tokens=6)
        completer.add(begun, CompletionOptions(max_tokens=6, temperature=0, logprobs=2))
        completer.step()
    found = dict.fromkeys(range(len(TALKS)), "")
    for event in completer.run():
        found[event.prompt] += event.text
    assert completer.idle and len(found) == len(TALKS)


def test_what_does_not_converse_says_how_it_would(tuned: Any) -> None:
    model = tuned("gpt2")
    with pytest.raises(PlumeError, match="nothing was said"):
        model.reply(" ")
    with pytest.raises(PlumeError, match="one conversation"):
        model.stream([messages(TALKS[0])] * 2)
    model.declared = replace(model.declared, tasks=(replace(plume.core.catalog.load("tasks", "translation").TASK),))
    with pytest.raises(PlumeError, match=r"tuned for translation, and not to converse.*--task dialogue"):
        model.reply("Hi")


# Learning


def talk(number: int) -> dict[str, Any]:
    """What is asked second is answered by what was said first."""
    animal, place = ("cat", "bird", "sailor")[number % 3], ("box", "letter", "river")[number // 3 % 3]
    said = [f"the {animal} finds the {place}", f"a {place}", "who finds", f"the {animal}"]
    return {"messages": [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(said)]}


def test_a_small_conversation_is_learned_and_beats_answers_without_a_model(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    from plume.model.build import build
    from plume.model.checkpoint import save_model

    recipe = miniature("gpt2", length=128)
    tokenizer = tokenizer_for(recipe)
    save_model(tmp_path / "base", build(recipe, vocabulary=tokenizer.size, seed=0), tokenizer)
    train, dev = tmp_path / "train.jsonl", tmp_path / "dev.jsonl"
    train.write_text("".join(json.dumps(talk(n)) + "\n" for n in range(60) if n % 7), encoding="utf-8")
    dev.write_text("".join(json.dumps(talk(n)) + "\n" for n in range(0, 60, 7)), encoding="utf-8")
    start_from_options(
        tmp_path / "base",
        task="dialogue",
        train=str(train),
        dev=str(dev),
        out=tmp_path / "chat",
        epochs=25.0,
        measurements=1,
        batch=8,
        rate=5e-3,
        quiet=True,
    )
    model = plume.load(tmp_path / "chat")
    assert isinstance(model, TunedModel)
    measured = model.evaluate(dev)
    known = prepare(TaskData(task=TASK, train=(train,), dev=(dev,)))
    answers = [str(one.answer) for one in known.train]
    nearest = nearest_answers([one.texts[-1] for one in known.train], answers, [one.texts[-1] for one in known.dev])
    gold = [str(one.answer) for one in known.dev]
    baseline = max(text_scores(gold, texts)["chrf"] for texts in ([frequent_answer(answers)] * len(gold), nearest))
    assert measured.scores["chrf"] > baseline + 10 and measured.scores["perplexity"] < 2
    assert any(f"{text_scores(gold, nearest)['chrf']:.4f} on dev" in note for note in known.notes)
    assert "would score chrf" in (tmp_path / "chat" / "card.md").read_text(encoding="utf-8")
    declared = json.loads((tmp_path / "chat" / "task.json").read_text(encoding="utf-8"))
    assert declared["tasks"][0]["template"]["user"] == "user"
    again = plume.load(tmp_path / "chat")
    said = talk(0)["messages"][:3]
    assert again.reply(said, temperature=0) == model.reply(said, temperature=0)
