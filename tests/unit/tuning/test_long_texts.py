"""Long texts by recall: blocks, words, rounds; a task that learns, answers with the blocks it kept, and goes on to the same bits."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import plume
from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.part import replace
from plume.heads.head import Dims
from plume.heads.judged_span import APART, NULL, OUTSIDE, RELEVANT, UNREAD, JudgedSpan
from plume.model.checkpoint import read_weights, save_model
from plume.readers.example import Example, Reading
from plume.train import loop as loops
from plume.tuning.kinds.answering import ContextQuestions
from plume.tuning.long_texts.answering import RecalledAnswering
from plume.tuning.long_texts.blocks import A_BLOCK, COMMA, INSIDE, LINE, SENTENCE, WORD, blocks_of, cheapest, cut_costs
from plume.tuning.long_texts.buffers import Buffers, JudgedQuestions, LongTexts, by_run, lay_out_buffers, long_texts
from plume.tuning.long_texts.intervening import span_losses
from plume.tuning.long_texts.lessons import answer_places, gold_blocks, lesson_rows, pool_of
from plume.tuning.long_texts.recall import recall
from plume.tuning.long_texts.words import word_scores
from plume.tuning.options import start_from_options
from plume.tuning.rows.questions import QuestionReader
from plume.tuning.rows.rows import Coder
from plume.tuning.tune import resume

FILLER = ("the letter", "some bread", "two apples", "an umbrella", "a wooden box", "the lighthouse")


def story(source: random.Random, sentences: int = 14) -> tuple[str, int]:
    """One of many sentences tells what the captain likes."""
    told = [f"my sister finds {source.choice(FILLER)} near the river." for _ in range(sentences)]
    place = source.randrange(sentences)
    told[place] = f"the captain likes {source.choice(('apples', 'bread', '苹果'))} at home."
    text = " ".join(told)
    return text, text.index("likes ") + len("likes ")


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    source = random.Random(seed)
    made = []
    for _ in range(count):
        text, start = story(source)
        made.append(
            {
                "question": "what does the captain like?",
                "context": text,
                "answers": [{"text": text[start:].split(" ")[0], "answer_start": start}],
            }
        )
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    made = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
    made.initialise(1)
    folder = tmp_path_factory.mktemp("model") / "bert"
    save_model(folder, made, tokenizer_for(recipe))
    return folder


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "long.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(12)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def coder(miniature: Any, tokenizer_for: Any) -> Coder:
    return Coder(tokenizer_for(miniature("bert")), length=64)


def examples(count: int = 4) -> list[Example]:
    task = RecalledAnswering(kind="qa", title="", metric="f1")
    found = []
    for row in rows(count):
        one = task.example(row)
        (answer,) = row["answers"]
        found.append(Example(texts=one.texts, answer=(plume_answer(answer["text"], answer["answer_start"]),)))
    return found


def plume_answer(text: str, start: int) -> Any:
    from plume.readers.squad_answers import GoldAnswer

    return GoldAnswer(text, start)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 8.0]), min_size=1, max_size=9), st.integers(1, 5))
def test_blocks_cost_least(cost: list[float], longest: int) -> None:
    found = cheapest(cost, longest)
    assert found[0] == 0 and found[-1] == len(cost)
    assert all(0 < b - a <= longest for a, b in itertools.pairwise(found))

    def price(cuts: tuple[int, ...]) -> float:
        return sum(cost[cut] for cut in cuts) + A_BLOCK * (len(cuts) + 1)

    every = itertools.chain.from_iterable(itertools.combinations(range(1, len(cost)), size) for size in range(len(cost)))
    allowed = [cuts for cuts in every if all(b - a <= longest for a, b in itertools.pairwise((0, *cuts, len(cost))))]
    assert price(tuple(found[1:-1])) == pytest.approx(min(map(price, allowed)))


def test_blocks_end_with_sentences_and_lines(coder: Coder) -> None:
    text = "The cat finds a letter. Dr. Wu paints, quietly\nsome bread at home. 我们喜欢苹果。老师看见小猫。"
    cut = coder.cut([text, ""])
    begin, counts = blocks_of([text, ""], cut, longest=24)
    assert counts.tolist() == [0, len(begin) - 1, len(begin) - 1]  # an empty text has no blocks
    assert max(np.diff(begin)) <= 24
    cost = cut_costs(text, cut, 0, int(cut.token_bounds[1]), 0)
    before = {text[cut.start[place] :][:4]: cost[place] for place in range(1, len(cost))}
    assert (before["Dr. "], before["some"], before["我们喜欢"], before["老师看见"]) == (SENTENCE, LINE, SENTENCE, SENTENCE)
    assert (before["Wu p"], before["quie"], before["brea"]) == (WORD, COMMA, WORD)
    assert {cost[place] for place in range(1, len(cost)) if not cut.word_start[place]} <= {INSIDE}


def test_words_are_bm25(coder: Coder) -> None:
    """A page of plain code."""
    question, blocks = np.array([1, 2, 2, 9]), [np.array([1, 3, 3]), np.array([2, 2, 1, 5]), np.array([4])]
    mean = np.mean([len(one) for one in blocks])
    expected = []
    for block in blocks:
        score = 0.0
        for term in {1, 2, 9}:
            having = sum(term in one for one in blocks)
            count = int((block == term).sum())
            rarity = np.log(1 + (3 - having + 0.5) / (having + 0.5))
            score += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(block) / mean))
        expected.append(score)
    assert word_scores(question, blocks) == pytest.approx(expected)
    assert word_scores(question, []).size == 0


def cut_up(coder: Coder, count: int = 4) -> tuple[list[Example], LongTexts]:
    made = examples(count)
    return made, long_texts(made, coder, longest_question=20, block=63)[0]


def test_a_good_judge_finds_what_matters(coder: Coder) -> None:
    """And every block is judged once in a round; what is remembered stands in every window of the second."""
    made, texts = cut_up(coder)
    gold = gold_blocks(answer_places(made, texts), texts)
    seen: list[Buffers] = []

    def judge(buffers: Buffers) -> Any:
        seen.append(buffers)
        assert (np.add.reduceat(texts.size[buffers.block], buffers.bounds[:-1]) <= texts.room[buffers.owner]).all()
        return np.array([float(block in gold[0] + gold[1] + gold[2] + gold[3]) for block in buffers.block])

    memory = recall(texts, range(len(made)), judge, rounds=2, keep=1)
    assert all(set(gold[number]) <= set(memory[number]) for number in memory)
    first, again, second = seen
    for number in range(len(made)):
        read = first.block[np.repeat(first.owner, np.diff(first.bounds)) == number]
        assert read.tolist() == texts.of(number).tolist()
        assert (again.owner == number).sum() == 1
        rows_of = [
            second.block[a:b].tolist()
            for a, b, one in zip(second.bounds[:-1], second.bounds[1:], second.owner, strict=True)
            if one == number
        ]
        assert all(gold[number][0] in row for row in rows_of)
    seen.clear()
    recall(texts, range(len(made)), judge, rounds=1, keep=1, shortlist=3)
    assert len(seen) == 1 and len(seen[0].block) == 3 * len(made)
    words = recall(texts, range(len(made)), lambda buffers: np.zeros(len(buffers.block)), rounds=1, keep=1, words=1.0)
    scores = [word_scores(texts.question(number), [texts.tokens(block) for block in texts.of(number)]) for number in range(len(made))]
    assert all(words[number][0] == texts.of(number)[scores[number].argmax()] for number in words)


def test_rows_lead_back_to_the_text(coder: Coder) -> None:
    made, texts = cut_up(coder)
    places = answer_places(made, texts)
    gold = gold_blocks(places, texts)
    rows_ = lesson_rows(texts, pool_of(texts), pool_of(texts).words, gold, epoch=0)
    assert [row.read for row in rows_] == [True, False] * len(made)
    assert all(set(gold[row.question]) <= set(row.blocks) for row in rows_ if row.read)
    assert all(np.diff(row.blocks).tolist() == [1] * (len(row.blocks) - 1) for row in rows_ if not row.read)
    buffers = Buffers.of([(row.question, row.blocks) for row in rows_])
    value = np.where(np.array([row.read for row in rows_])[:, None], places[buffers.owner], UNREAD)
    asked = lay_out_buffers("qa", texts, buffers, coder, relevant=gold, value=value)
    assert isinstance(asked, JudgedQuestions) and asked.value is not None
    for row, (one, first) in enumerate(zip(rows_, asked.rows.bounds, strict=False)):
        if not one.read:
            assert asked.value[row].tolist() == [UNREAD, UNREAD]
            continue
        place = asked.rows.place[first + asked.value[row]]
        start, end = asked.context.start[place[0]] - asked.base[row], asked.context.end[place[1]] - asked.base[row]
        assert made[one.question].texts[1][start:end] == made[one.question].answer[0].text
        kinds = asked.kinds[first + asked.value[row]]
        assert kinds.tolist() == [RELEVANT, RELEVANT]
    assert set(asked.kinds) == {OUTSIDE, APART, RELEVANT, NULL}
    assert len(asked) == len(buffers.owner) <= len(by_run(asked)[0])


def test_what_looks_relevant_in_training_is_what_is_found_at_use(coder: Coder) -> None:
    """A judge that has learned nothing yet leaves it to the words, unless they are not to count."""
    made, texts = cut_up(coder)
    pool = pool_of(texts)
    nothing, task = np.zeros(len(pool.block)), RecalledAnswering(kind="qa", title="", metric="f1")
    kept = recall(texts, range(len(made)), lambda buffers: np.zeros(len(buffers.block)), rounds=1, keep=1, words=task.words)
    for number in range(len(made)):
        looks = pool.of(number, task._looking(nothing, pool))
        assert max(looks.values()) == 1 and max(looks, key=looks.__getitem__) == kept[number][0]
        assert set(pool.of(number, replace(task, words=0.0)._looking(nothing, pool)).values()) == {0.0}
    (row, *_) = [one for one in lesson_rows(texts, pool, task._looking(nothing, pool), [[]] * len(made), epoch=1) if one.read]
    assert kept[0][0] in row.blocks


def test_the_loss_is_the_readers_and_the_judges() -> None:
    torch.manual_seed(0)
    head = JudgedSpan(judges=2.0).build(Dims(width=3, token=torch.nn.Embedding(1, 1)))
    hidden = torch.randn(2, 4, 3)
    feature = torch.tensor([[NULL, APART, RELEVANT, OUTSIDE], [NULL, APART, APART, APART]])
    target = Target(index=torch.arange(8), value=torch.tensor([[2, 2], [UNREAD, UNREAD]]), feature=feature)
    loss = head.loss(Encoded(last=hidden), target)
    scores = head.output(hidden)
    allowed = scores[0, :3]
    reader = -(allowed[:, 0].log_softmax(0)[2] + allowed[:, 1].log_softmax(0)[2]) / 2
    judge = scores[..., 2].sigmoid()
    judged = -((1 - judge[0, 1]).log() + judge[0, 2].log()) / 2 - (1 - judge[1, 1:]).log().mean()
    assert float(loss.total.detach()) == pytest.approx(float((reader + 2 * judged).detach()), rel=1e-5) and loss.count == 2


def tune(model: Path, out: Path, file: Path, **options: Any) -> Any:
    options = {"epochs": 3.0, "batch": 8, "rate": 1e-3, "measurements": 1, "length": 64, "long": "recall", "quiet": True} | options
    return start_from_options(model, task="qa", train=str(file), dev=str(file), out=out, **options)


@pytest.mark.parametrize("supervised", [True, False])
def test_a_killed_run_goes_on_to_the_same_bits(
    supervised: bool, model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of the second epoch, whose rows follow from what the judge said before it."""
    options = {"save_every": "2steps", "patience": 99, "task_options": [f"supervised={supervised}".lower()]}
    tune(model, tmp_path / "whole", file, **options)
    step = loops.Loop._step

    def killed(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        if position.spent.steps == 5:
            raise RuntimeError("killed")
        return step(self, given, position, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", killed)
    with pytest.raises(RuntimeError):
        tune(model, tmp_path / "cut", file, **options)
    monkeypatch.undo()
    assert (tmp_path / "cut" / "train" / "noted" / "qa-1.npy").exists()
    resume(tmp_path / "cut", quiet=True)
    whole, cut = read_weights(tmp_path / "whole" / "model.safetensors"), read_weights(tmp_path / "cut" / "model.safetensors")
    assert all(torch.equal(whole[key], cut[key]) for key in whole)
    assert read_json(tmp_path / "whole" / "train" / "best.json", "") == read_json(tmp_path / "cut" / "train" / "best.json", "")


def test_it_answers_with_the_blocks_that_it_kept(model: Path, file: Path, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", file)
    tuned = plume.load(tmp_path / "out")
    items = [(row["question"], row["context"]) for row in rows(3, seed=5)]
    items += [("what?", "a short one"), ("what does the captain like?", "")]
    found = tuned.predict(items)
    assert [one["answer"] for one in found] == [text[one["start"] : one["end"]] for (_, text), one in zip(items, found, strict=True)]
    for (_, text), one in zip(items, found, strict=True):
        assert all(0 <= block["start"] < block["end"] <= len(text) and 0 <= block["score"] <= 1 for block in one["blocks"])
        assert not one["answer"] or any(block["start"] <= one["start"] < block["end"] for block in one["blocks"])
    assert len(found[3]["blocks"]) == 1 and found[4] | {"score": 0} == {"answer": "", "start": 0, "end": 0, "score": 0, "blocks": []}
    for item, one in zip(items, found, strict=True):
        (alone,) = tuned.predict([item])
        assert alone["answer"] == one["answer"] and alone["score"] == pytest.approx(one["score"], abs=1e-5)
    assert set(tuned.evaluate(file).scores) == {"exact_match", "f1"}
    tuned.save(tmp_path / "again")
    assert plume.load(tmp_path / "again").predict(items) == found
    (tmp_path / "article.txt").write_text(items[0][1], encoding="utf-8")
    reply = tuned.ask(items[0][0], documents=str(tmp_path / "article.txt"))
    assert reply.answers == ((found[0]["answer"],) if found[0]["answer"] else ()) and len(reply.steps) == len(found[0]["blocks"])
    with pytest.raises(PlumeError, match="say what to read"):
        tuned.ask("what?")
    with pytest.raises(PlumeError, match="no graph does"):
        plume.export_graph(tmp_path / "out", out=tmp_path / "onnx")
    with pytest.raises(PlumeError):
        plume.export_hf(tmp_path / "out", out=tmp_path / "hf")


def test_a_hidden_block_is_not_seen(model: Path, file: Path, tmp_path: Path) -> None:
    """What the reader says of all other tokens is what it says when other words stand there."""
    tune(model, tmp_path / "out", file, epochs=1.0)
    tuned = plume.load(tmp_path / "out")
    task, coder = tuned.task(), tuned.coder()
    made = list(task.read([file], Reading(file=file), labelled=True))[:1]
    (texts, _) = task.texts(made, coder)
    blocks = texts.of(0)[:3].tolist()
    tables = []
    for other in (False, True):
        asked = lay_out_buffers("qa", texts, Buffers.of([(0, blocks)]), coder, value=np.array([[-1, -1]])).without(np.array(blocks[1:2]))
        if other:
            asked.rows.tokens[asked.hidden == 1] = 9
        tables.append(tuned.table(asked)[asked.hidden == 0])
        assert span_losses(tuned.table(asked), asked).shape == (1,)
    assert np.allclose(tables[0], tables[1], atol=1e-5)
    seen = lay_out_buffers("qa", texts, Buffers.of([(0, blocks)]), coder)
    assert not np.allclose(tuned.table(seen)[asked.hidden == 0], tables[0], atol=1e-5)


def test_most_windows_of_a_long_text_are_not_learned_from(
    model: Path, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each text has one answer, and a window holds it: the run's steps are those of the windows that are read."""
    tune(model, tmp_path / "out", file, long="windows", length=32, epochs=1.0, batch=4, quiet=False)
    tuned = plume.load(tmp_path / "out")
    asked, _ = tuned.task().questions(examples(12), tuned.coder())
    assert isinstance(asked, ContextQuestions) and asked.value is not None
    holds = asked.value[:, 0] != asked.null
    drawn = asked.drawn(np.random.default_rng(0))
    assert len(asked) > 100 and holds[drawn].sum() == holds.sum() and len(drawn) == 3 * holds.sum()
    assert f"qa: an epoch reads {len(drawn)} of {len(asked)} windows" in capfd.readouterr().err
    assert steps_of(tmp_path / "out") == -(-len(drawn) // 4)
    reader = QuestionReader(questions=asked, rows=4, seed=0)
    assert set(reader.plan(0)[1].ravel()) != set(reader.plan(1)[1].ravel()) and len(reader.plan(0)[1]) == len(reader.plan(1)[1])
    judged, _ = RecalledAnswering.of(tuned.task()).questions(examples(12), tuned.coder())
    assert len(judged.drawn(np.random.default_rng(0))) == len(judged)


def steps_of(out: Path) -> int:
    return int(json.loads((out / "train" / "metrics.jsonl").read_text().splitlines()[-1])["step"])


def test_windows_are_the_default_and_others_are_refused(model: Path, file: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="--long is windows or recall"):
        tune(model, tmp_path / "out", file, long="memory")
    tune(model, tmp_path / "out", file, long="windows", epochs=0.1)
    assert not isinstance(plume.load(tmp_path / "out").task(), RecalledAnswering)
    with pytest.raises(PlumeError, match="--long is for"):
        start_from_options(model, task="ner", train=str(file), out=tmp_path / "ner", long="recall", quiet=True)
