"""Answers that are written: what is trained is what is used, many texts at once are as each alone, and it learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor
from plume.model.build import build
from plume.model.recipe import Recipe
from plume.model.use.abilities import Abilities
from plume.model.use.generate import greedy
from plume.model.use.scoring import score
from plume.readers.example import Example, Reading
from plume.readers.squad_answers import GoldAnswer
from plume.recipes import _catalog as catalog
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.multiple_choice import TASK as MULTIPLE_CHOICE
from plume.tasks.ner import TASK as NER
from plume.tasks.nli import TASK as NLI
from plume.tasks.qa import TASK as QA
from plume.tasks.similarity import TASK as SIMILARITY
from plume.tasks.summarisation import TASK as SUMMARISATION
from plume.tasks.translation import TASK as TRANSLATION
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.adapting.ways.probe import LinearProbe
from plume.tuning.declared import Declared
from plume.tuning.kinds.regression import Regression
from plume.tuning.rows.questions import QuestionReader
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Columns, Task
from plume.tuning.tuned import TunedModel, assemble, reading_order
from plume.tuning.writing import finding
from plume.tuning.writing.by_text import By, approach
from plume.tuning.writing.finding import way_of
from plume.tuning.writing.label_scores import label_table
from plume.tuning.writing.worded import LabelByText, NumberByText, step_of
from plume.tuning.writing.written import WrittenTask

DECODERS = finding.ENCODER_DECODERS.split(", ")
WRITERS = [*DECODERS, *finding.LEFT_TO_RIGHT.split(", "), "unilm", "glm", "cove", "skip-thought"]
TEXTS = [
    "The cat finds a wooden box near the river.",
    "My sister forgets the letter.",
    "老师看见苹果今天早上。",
    "Her teacher carries two apples.",
    "One small bird follows the mountaineers uncomfortably.",
    "我们忘记一封信在河边。",
]
PAIRS = [Example(texts=(text,), answer=text.split(" ")[-1] if " " in text else text[:2]) for text in TEXTS]
LABELLED = [Example(texts=(text,), answer="Chinese" if " " not in text else "the river" if "river" in text else "home") for text in TEXTS]


@pytest.fixture
def made(miniature: Any, built: Any, tokenizer_for: Any) -> Callable[..., SimpleNamespace]:
    """A family's miniature with weights at random, and a task as it answers it."""

    def make(family: str, task: Task = TRANSLATION, examples: list[Example] = PAIRS, length: int = 64) -> SimpleNamespace:
        recipe = miniature(family, length=64)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size).eval()
        coder = Coder(tokenizer, length=length)
        task = approach(task.learned(examples), body, tokenizer, examples)
        assert isinstance(task, WrittenTask)
        return SimpleNamespace(body=body, tokenizer=tokenizer, coder=coder, task=task, questions=task.questions(examples, coder)[0])

    return make


def quiet(recipe: Recipe) -> Recipe:
    """Without dropout."""
    network = replace(recipe.network, dropout=0.0, **({} if recipe.recurrent else {"attention_dropout": 0.0}))
    return replace(recipe, network=network, embedding=replace(recipe.embedding, dropout=0.0))


def fit(recipe: Recipe, tokenizer: Tokenizer, tasks: dict[Task, list[Example]], *, steps: int, rate: float = 3e-3) -> TunedModel:
    body = build(quiet(recipe), vocabulary=tokenizer.size, seed=0)
    asked = {approach(task.learned(examples), body, tokenizer, examples): examples for task, examples in tasks.items()}
    declared = Declared(tasks=tuple(asked), adaptation=FullTuning(dropout=0.0), length=64, order=reading_order(body, tokenizer))
    model = assemble(body, declared)
    model.initialise(0)
    tuned = TunedModel(model, tokenizer, declared)
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=rate)
    made = [task.questions(examples, tuned.coder())[0] for task, examples in asked.items()]
    readers = [
        QuestionReader(questions=questions, rows=len(questions), seed=0, finish=lambda batch, q=questions: tuned.finish(batch, q))  # type: ignore[misc]
        for questions in made
    ]
    cursor = Cursor()
    model.train()
    for _ in range(steps):
        for reader in readers:
            (batch,) = reader.step(cursor, [slice(None)])
            on_device = batch.map(lambda array: torch.from_numpy(np.ascontiguousarray(array)))
            assert model.flops(on_device) > 0
            (loss,) = model.losses(on_device).values()
            optimizer.zero_grad()
            (loss.total / loss.count).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        cursor = readers[0].following(cursor)
    model.eval()
    return tuned


# What is trained is what is used


@pytest.mark.parametrize("family", WRITERS)
@torch.no_grad()
def test_the_loss_is_what_the_writer_would_have_said(family: str, made: Any, on_cpu: Any) -> None:
    one = made(family)
    model = assemble(one.body, Declared(tasks=(one.task,), adaptation=FullTuning(), length=64)).eval()
    total = model.losses(on_cpu(one.questions.batch(np.arange(len(PAIRS)))))["translation"].total
    said = torch.zeros((), dtype=total.dtype)
    for number in range(len(PAIRS)):
        index = np.array([number])
        writer = one.task.writes.writer(one.body, one.questions.sources(index, torch.device("cpu")))
        scores = writer.first()
        for token in one.questions.pairs(index).written[0].tolist():
            said -= scores[0, token]
            scores = writer.go_on(torch.tensor([token]))
    assert float(total) == pytest.approx(float(said), rel=1e-9)


@pytest.mark.parametrize("family", ["gpt2", "unilm", "glm", "t5"])
def test_every_written_token_is_asked_for_and_no_other(family: str, made: Any) -> None:
    one = made(family)
    batch = one.questions.batch(np.arange(len(PAIRS)))
    answers = [[*ids, one.task.writes.end] for ids in one.tokenizer.encode([example.answer for example in PAIRS])]
    assert batch.labels["translation"].value.tolist() == [token for row in answers for token in row]


def test_a_left_to_right_row_is_text_separator_answer(made: Any) -> None:
    one = made("gpt2")
    batch, tokenizer = one.questions.batch(np.array([1])), one.tokenizer
    text, answer = tokenizer.encode([TEXTS[1], PAIRS[1].answer])
    assert batch.order is Order.CAUSAL
    assert batch.tokens[0].tolist() == [*text, tokenizer.separator, *answer]  # and its end is the last answer
    assert batch.read[0].tolist() == list(range(len(text), len(text) + len(answer) + 1))


def test_bart_writes_its_special_tokens(made: Any) -> None:
    one = made("bart")
    batch, tokenizer = one.questions.batch(np.array([1])), one.tokenizer
    answer = tokenizer.encode([PAIRS[1].answer])[0]
    begin, end = tokenizer.begin, tokenizer.separator
    assert batch.tokens[0].tolist() == [end, begin, *answer]
    assert batch.labels["translation"].value.tolist() == [begin, *answer, end]
    assert batch.source.tokens[0].tolist() == [begin, *tokenizer.encode([TEXTS[1]])[0], end]


# Many at once


@pytest.mark.parametrize("family", WRITERS)
def test_many_at_once_are_as_each_alone(family: str, made: Any) -> None:
    one = made(family)
    with torch.no_grad():  # so that what is written depends on what was read, and changes from token to token
        for name, parameter in one.body.named_parameters():
            if parameter.ndim < 2:
                parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
            elif "across" in name or "attention" in name:
                parameter.mul_(4)
    ordinary = one.task.write(one.body, one.questions, room=12)
    # The token that texts would end by at the most different places ends them: rows leave at different times.
    ends = {token: {(*row.tokens, token).index(token) for row in ordinary} for row in ordinary for token in row.tokens}
    stop = max(ends, key=lambda token: len(ends[token]))
    task = replace(one.task, way=replace(one.task.way, end=stop))
    together = task.write(one.body, one.questions, room=12)
    for number, written in enumerate(together):
        index = np.array([number])
        with torch.inference_mode():
            writer = task.writes.writer(one.body, one.questions.sources(index, torch.device("cpu")))
        (alone,) = greedy(writer, room=12 + len(task.writes.opening), stop=stop)
        assert written.tokens == alone.tokens
        assert written.score == pytest.approx(alone.score, abs=1e-5)
    assert len({len(written.tokens) for written in together}) > 1


@pytest.mark.parametrize("family", DECODERS)
@torch.no_grad()
def test_label_scores_are_those_of_each_label_alone(family: str, made: Any) -> None:
    one = made(family, CLASSIFICATION, LABELLED, length=128)  # nothing is cut
    assert isinstance(one.task, LabelByText)
    table = label_table(one.body, one.coder, one.questions, one.task.labels)
    can = Abilities(one.body, one.tokenizer)
    for row, example in zip(table, LABELLED, strict=True):
        alone = [score(can, [label], source=[one.task.source(example)])[0].log_probability for label in one.task.labels]
        assert row.tolist() == pytest.approx(alone, rel=1e-5)


# It learns


@pytest.mark.parametrize("family", ["t5", "gpt2", "unilm", "glm"])
def test_it_learns_to_write(family: str, miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    recipe = miniature(family, width=64, length=64)
    tuned = fit(recipe, tokenizer_for(recipe), {TRANSLATION: PAIRS}, steps=70 if family != "t5" else 120)
    found = tuned.predict(TEXTS)
    assert [one["text"] for one in found] == [example.answer for example in PAIRS]
    assert all(one["score"] > 0.5 for one in found)
    assert tuned.tasks[0].measure(PAIRS, found)["exact"] == 1.0
    tuned.save(tmp_path / "tuned")
    again = TunedModel.load(tmp_path / "tuned")
    assert again.predict(TEXTS) == found
    task = again.tasks[0]
    wider = replace(task, beams=3)
    assert [one["text"] for one in again.answers(wider, PAIRS)[0]] == [example.answer for example in PAIRS]


def test_an_encoder_decoder_writes_labels_beside_a_head_for_tags(miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("bart", width=64, length=64)
    tags = replace(NER, labels=("O", "B-X"))
    words = [Example(texts=("the cat finds",), answer=("O", "B-X", "O"), words=((0, 3), (4, 7), (8, 13)))]
    tuned = fit(recipe, tokenizer_for(recipe), {CLASSIFICATION: LABELLED, tags: words}, steps=50)
    assert list(tuned.model.heads) == ["ner"]
    found, _ = tuned.answers(tuned.task("classification"), LABELLED)
    assert [one["label"] for one in found] == [example.answer for example in LABELLED]
    assert found[0]["scores"]["the river"] > 0.8
    assert sum(found[0]["scores"].values()) == pytest.approx(1.0, abs=1e-5)
    assert tuned.predict(["the cat finds"], task="ner")[0]["tags"] == ["O", "B-X", "O"]


def test_questions_are_answered_in_words(miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("bart", width=64, length=64)
    told = [
        Example(texts=("who?", "the old captain paints"), answer=(GoldAnswer("the old captain", 0),)),
        Example(texts=("where?", "my sister at home"), answer=(GoldAnswer("at home", 10),)),
        Example(texts=("when?", "two apples"), answer=()),
    ]
    tuned = fit(recipe, tokenizer_for(recipe), {QA: told}, steps=70)
    assert [one["answer"] for one in tuned.predict([example.texts for example in told])] == ["the old captain", "at home", ""]
    one = tuned.predict([{"question": "where?", "context": "my sister at home"}])[0]
    assert (one["start"], one["end"]) == (10, 17)
    assert tuned.tasks[0].source(told[1]) == "question: where? context: my sister at home"  # type: ignore[attr-defined]


def test_an_answer_that_is_not_in_its_context_has_no_place(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Example(texts=("who?", "a cat, a cat"), answer=(GoldAnswer("a cat", 0),)), Example(texts=("who?", "no one"), answer=())]
    one = made("t5", QA, asked)
    monkeypatch.setattr(type(one.task), "texts", lambda *_: [("cat", 0.5), ("dog", 0.5)])
    found, notes = one.task.written(one.body, one.coder, one.questions, asked)
    assert [(each["start"], each["end"]) for each in found] == [(2, 5), (-1, -1)]
    assert sum(notes.values()) == 1


def test_a_long_context_is_read_in_windows(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    context = "the cat finds the letter " * 20 + "two apples " + "the cat finds the letter " * 20
    asked = [
        Example(texts=("what?", context), answer=(GoldAnswer("two apples", context.index("two apples")),)),
        Example(texts=("who?", "my sister paints"), answer=(GoldAnswer("my sister", 0),)),
        Example(texts=("what?", "the letter " * 60), answer=()),
    ]
    for family in ("t5", "bart"):
        one = made(family, QA, asked)
        questions, notes = one.task.questions(asked, one.coder)
        assert not sum(notes.values())
        pairs, owner = questions.pairs(np.arange(len(questions))), questions.owner.tolist()
        assert sorted(set(owner)) == [0, 1, 2] and owner.count(0) > 5 and owner.count(1) == 1 and owner.count(2) > 2
        read = [one.tokenizer.decode(row[:size].tolist()) for row, size in zip(pairs.read, pairs.length, strict=True)]
        said = [one.tokenizer.decode(row[:size].tolist()).strip() for row, size in zip(pairs.written, pairs.size, strict=True)]
        for number, text, answer in zip(owner, read, said, strict=True):  # what is not read is not to be written
            assert answer == ("two apples" if number == 0 and "two apples" in text else "my sister" if number == 1 else "")
        assert "two apples" in said
        assert questions.begin[owner.index(1)] == 0 and questions.rows.cut is None
        # The likeliest answer of the windows, at its own place; none only where no window has one.
        told = [("", 0.9)] * len(owner)
        told[0], told[said.index("two apples")], told[owner.index(1)] = ("cat", 0.2), ("two apples", 0.5), ("paints", 0.1)
        monkeypatch.setattr(type(one.task), "texts", lambda *_, told=told: told)
        found, _ = one.task.written(one.body, one.coder, questions, asked)
        assert [each["answer"] for each in found] == ["two apples", "paints", ""]
        assert found[0]["start"] == context.index("two apples") and found[0]["end"] == found[0]["start"] + 10


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_long_first_text_does_not_hide_the_second(family: str, made: Any) -> None:
    long = "the cat finds the letter " * 40
    examples = [Example(texts=(long, "a bird"), answer="yes"), Example(texts=(long, "two apples"), answer="no")]
    examples += [Example(texts=("a bird", long), answer="yes"), Example(texts=("a bird", "a cat"), answer="no")]
    one = made(family, NLI, examples)
    questions, notes = one.task.questions(examples, one.coder)
    assert notes.total() == 3 and questions.rows.cut.tolist() == [True, True, True, False]
    assert questions.rows.length[:3].min() > 58 and questions.rows.length.max() <= 64
    pairs = questions.pairs(np.arange(4))
    read = [one.tokenizer.decode(row[:size].tolist()) for row, size in zip(pairs.read, pairs.length, strict=True)]
    assert read[0].endswith("a bird") and read[1].endswith("two apples") and read[0].count("the cat") > 1
    assert read[2].count("a bird") == 1 and read[2].count("the cat") > 1


# Numbers


def test_a_head_without_a_bias_learns_from_the_mean(miniature: Any, tokenizer_for: Any) -> None:
    scored = [Example(texts=("a cat", "two apples"), answer=value) for value in (90.0, 91.0, 95.0)]
    task = SIMILARITY.learned(scored)
    for family, centred in (("gpt2", True), ("bert", False)):
        recipe = miniature(family)
        body = build(recipe, vocabulary=tokenizer_for(recipe).size, seed=0)
        asked = approach(task, body, tokenizer_for(recipe), scored)
        assert isinstance(asked, Regression) and asked.head(recipe.classifier, dropout=0.0).bias is not centred  # type: ignore[attr-defined]
        assert asked.values(scored).tolist() == ([-2.0, -1.0, 3.0] if centred else [90.0, 91.0, 95.0])
        table = asked.values(scored)[:, None]
        assert [one["score"] for one in asked.answers(table, None, scored)] == [90.0, 91.0, 95.0]  # type: ignore[arg-type]
        assert MULTIPLE_CHOICE.head(recipe.classifier, dropout=0.0).bias is not centred  # type: ignore[attr-defined]


def test_numbers_are_written_in_steps(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = [Example(texts=("a cat", "two apples"), answer=value) for value in (0.0, 2.57, 3.8, 5.0)]
    task = NumberByText(**vars_of(SIMILARITY), task=SIMILARITY.learned(scored), step=step_of([e.answer for e in scored]))
    assert task.step == 0.2  # T5's, for STS-B's range
    assert [task.target(example) for example in scored] == ["0.0", "2.6", "3.8", "5.0"]
    assert task.source(scored[0]) == "similarity sentence1: a cat sentence2: two apples"
    assert (step_of([0, 1]), step_of([-100, 100]), step_of([7, 7])) == (0.05, 10.0, 0.05)
    monkeypatch.setattr(NumberByText, "texts", lambda *_: [("4.2", 1.0), ("inf", 1.0), ("a cat", 1.0), ("-1", 1.0)])
    found, notes = task.written(None, None, None, scored)  # type: ignore[arg-type]
    assert [one["score"] for one in found] == pytest.approx([4.2, 2.8425, 2.8425, -1.0], abs=1e-4)
    assert list(notes.values()) == [2]


def test_digits_that_the_tokenizer_lacks_leave_the_head(miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("t5")  # its corpus has no digits
    body = build(recipe, vocabulary=tokenizer_for(recipe).size, seed=0)
    scored = [Example(texts=("a cat", "two apples"), answer=value) for value in (0.0, 5.0)]
    assert approach(SIMILARITY, body, tokenizer_for(recipe), scored) is SIMILARITY
    with pytest.raises(PlumeError, match="cannot write its numbers"):
        approach(SIMILARITY, body, tokenizer_for(recipe), scored, by=By.TEXT)


def vars_of(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in ("kind", "title", "metric", "name", "labels")}


# Who can


@pytest.mark.parametrize("family", sorted({one.partition("/")[0] for one in catalog.networks()}))
def test_who_can_write_is_who_the_message_names(family: str, miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature(family)
    body = build(recipe, vocabulary=tokenizer_for(recipe).size, seed=0)
    assert (way_of(Abilities(body, tokenizer_for(recipe))) is not None) == (family in WRITERS)


def test_a_model_that_cannot_write_says_who_can(miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("bert")
    body = build(recipe, vocabulary=tokenizer_for(recipe).size, seed=0)
    with pytest.raises(PlumeError, match=r"bert cannot write a text: summarisation needs .*t5, bart, .*gpt2"):
        approach(SUMMARISATION, body, tokenizer_for(recipe), PAIRS)
    task = CLASSIFICATION.learned(LABELLED)
    assert approach(task, body, tokenizer_for(recipe), LABELLED) is task
    with pytest.raises(PlumeError, match="for encoder–decoders"):
        approach(task, body, tokenizer_for(recipe), LABELLED, by=By.TEXT)


def test_what_an_encoder_decoder_answers_by_text(miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("t5")
    tokenizer = tokenizer_for(recipe)
    body = build(recipe, vocabulary=tokenizer.size, seed=0)
    task = CLASSIFICATION.learned(LABELLED)
    worded = approach(task, body, tokenizer, LABELLED)
    assert isinstance(worded, LabelByText)
    assert (worded.task, worded.labels, worded.called, worded.metric) == (task, task.labels, "classification", "accuracy")
    assert approach(worded, body, tokenizer, LABELLED) is worded  # of a run that goes on
    assert part_from_json(worded.to_json()) == worded
    assert approach(task, body, tokenizer, LABELLED, by=By.HEAD) is task
    assert approach(task, body, tokenizer, LABELLED, adaptation=LinearProbe()) is task
    assert approach(NER, body, tokenizer, []) is NER
    alike = [Example(texts=("a",), answer="😂"), Example(texts=("b",), answer="🎉")]  # both unknown to the tokenizer
    assert not isinstance(approach(CLASSIFICATION.learned(alike), body, tokenizer, alike), WrittenTask)
    with pytest.raises(PlumeError, match="cannot tell its labels apart"):
        approach(CLASSIFICATION.learned(alike), body, tokenizer, alike, by=By.TEXT)


def test_a_frozen_model_cannot_learn_to_write(made: Any) -> None:
    one = made("t5")
    with pytest.raises(PlumeError, match="--mode probe freezes"):
        assemble(one.body, Declared(tasks=(one.task,), adaptation=LinearProbe(), length=64))


def test_the_head_that_writes_learns_and_others_do_not(made: Any) -> None:
    one = made("palm")  # its encoder also filled masks
    model = assemble(one.body, Declared(tasks=(one.task,), adaptation=FullTuning(), length=64))
    assert all(parameter.requires_grad for parameter in model.head("translation").parameters())
    assert not model.body.head("masked_lm").dense.weight.requires_grad


# Lengths and files


def test_what_is_too_long_is_cut_and_said(made: Any) -> None:
    long = [Example(texts=("the cat " * 60,), answer="two apples " * 60), Example(texts=("the cat",), answer="home")]
    for family in ("gpt2", "t5"):
        one = made(family, examples=long)
        questions, notes = one.task.questions(long, one.coder)
        assert sorted(notes.values()) == [1, 1]
        batch = questions.batch(np.array([0]))
        assert batch.tokens.shape[1] <= 64
        assert batch.labels["translation"].value[-1] != one.task.writes.end  # what is cut does not end here
        assert questions.batch(np.array([1])).labels["translation"].value[-1] == one.task.writes.end


def test_how_much_is_written_follows_from_training(made: Any) -> None:
    one = made("gpt2")
    sizes = [len(ids) for ids in one.tokenizer.encode([example.answer for example in PAIRS])]
    assert max(sizes) < one.task.longest <= 1.2 * max(sizes) + 2
    assert approach(replace(TRANSLATION, longest=3), one.body, one.tokenizer, PAIRS).longest == 3  # type: ignore[attr-defined]
    assert all(len(row.tokens) <= 3 for row in one.task.write(one.body, one.questions, room=3))


def test_files_prefix_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"long": "a cat", "short": "cat"}\n', encoding="utf-8")
    task = replace(SUMMARISATION, prefix="summarize: ").fitted([path], Columns(texts=("long",), answer="short"))
    (example,) = task.read([path], Reading(file=path), labelled=True)
    assert (task.source(example), task.target(example)) == ("summarize: a cat", "cat")
    assert task.measure([example], [{"text": "cat"}])["rougeL"] == 1.0
    with pytest.raises(PlumeError, match="name both"):
        SUMMARISATION.fitted([path], Columns(texts=("long",)))
    with pytest.raises(PlumeError, match="reads one text"):
        SUMMARISATION.example(("a", "b"))
    with pytest.raises(PlumeError, match="beams"):
        replace(SUMMARISATION, beams=0)
