"""Tagging: chains over windows, characters that a tokenizer would put together, words that it drops, and which files are read how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Encoded
from plume.core.part import part_from_json, replace
from plume.heads.head import Dims
from plume.heads.token_labelling import TokenLabelling, TokenLabellingModule
from plume.readers.example import Example, Reading
from plume.readers.plain_lines import read_plain_lines
from plume.readers.schemes import Span
from plume.tasks import ner, pos, segmentation
from plume.tuning.adapting.adaptation import way
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.rows.questions import inference_batches
from plume.tuning.rows.rows import Coder
from plume.tuning.rows.word_cuts import _blank, find_words, first_tokens
from plume.tuning.rows.word_labels import with_beginnings, with_dropped
from plume.tuning.rows.word_rows import ask_words
from plume.tuning.settings import together
from plume.tuning.task import Columns

LABELS = ("O", "B-PER", "I-PER")
TEXT = "小猫在北京大学的学生看见一封信"


@pytest.fixture(scope="module")
def coder(miniature: Any, tokenizer_for: Any) -> Callable[..., Coder]:
    def make(family: str = "bert", length: int = 12) -> Coder:
        tokenizer = tokenizer_for(miniature(family))
        return Coder(tokenizer, length=length, spells_from=tokenizer.size if family == "elmo" else None)

    return make


def in_words(*tags: str, words: tuple[str, ...] | None = None) -> Example:
    words = words or ("cat",) * len(tags)
    end = np.cumsum([len(word) + 1 for word in words]) - 1
    places = tuple((int(last) - len(word), int(last)) for word, last in zip(words, end, strict=True))
    return Example(texts=(" ".join(words),), words=places, answer=tags)


def head_that_knows(table: np.ndarray) -> TokenLabellingModule:
    """It reads emissions as they are: a state's numbers are its labels' scores."""
    module = TokenLabelling(labels=LABELS, chain=True).build(Dims(width=table.shape[1], token=torch.nn.Embedding(1, 1)))
    assert isinstance(module, TokenLabellingModule)
    with torch.no_grad():
        module.output.weight.copy_(torch.eye(len(LABELS)))
        module.output.bias.zero_()
    return module


def test_a_chain_runs_through_all_windows(coder: Any) -> None:
    """An entity that is longer than a window is one entity, learnt without a forbidden step and found whole."""
    long = in_words("O", "O", "B-PER", *["I-PER"] * 30, "O", words=("the",) * 2 + ("cat",) * 31 + ("the",))
    examples = [in_words("O", "B-PER"), long, in_words("B-PER")]
    task = replace(ner.TASK, labels=LABELS, crf=True)
    questions, _ = task.questions(examples, coder())
    assert len(questions) == 3 and len(questions.rows) > 5
    emission = np.full((questions.lines, 3), -8.0, np.float32)
    emission[np.arange(questions.lines), questions.value] = 8.0
    head = head_that_knows(emission)
    table = np.zeros_like(emission)
    for index in [*inference_batches(questions), np.array([2, 1, 0])]:  # one by one in length, and all in another order
        batch = questions.batch(index)
        target = batch.labels["ner"]
        states = np.zeros((*batch.read.shape, 3), np.float32)
        lines = np.concatenate([np.arange(*questions.asked[questions.groups[[one, one + 1]]]) for one in index])
        states.reshape(-1, 3)[target.slot] = emission[lines]
        target = replace(target, **{name: torch.from_numpy(getattr(target, name)) for name in ("index", "slot", "value", "feature")})
        encoded = Encoded(last=torch.from_numpy(states), read=torch.from_numpy(batch.read))
        assert target.feature.tolist() == [[2, 34, 1][one] for one in index]
        assert float(head.loss(encoded, target).total.detach()) < 0.1  # a forbidden step costs 10,000
        questions.keep(table, head.scores(encoded, target).detach().numpy(), index)
    answers = task.answers(table, questions, examples)
    assert [one["tags"] for one in answers] == [list(example.answer) for example in examples]
    assert len(answers[1]["entities"]) == 1


def test_without_a_chain_windows_are_rows_of_their_own(coder: Any) -> None:
    questions, _ = replace(ner.TASK, labels=LABELS).questions([in_words("B-PER", *["I-PER"] * 30)], coder())
    assert len(questions) == len(questions.rows) > 1


def test_windows_of_short_and_long_texts(coder: Any) -> None:
    """Every word is asked of its own token, wherever its window begins."""
    examples = [in_words(*["O"] * count) for count in (1, 40, 2, 25)]
    one = coder()
    words = find_words([*examples, Example(texts=("",), words=())], one)
    questions = ask_words("x", words, one, together=True)
    row = np.repeat(np.arange(len(questions.rows)), np.diff(questions.asked))
    held = questions.rows.place[questions.rows.bounds[row] + questions.column]
    assert len(held) == 68 and (held == first_tokens(words)).all()
    assert np.diff(questions.asked[questions.groups]).tolist() == [1, 40, 2, 25, 0]
    assert (questions.rows.length <= 12).all()


def test_an_entity_without_its_first_word(coder: Any) -> None:
    """The tokenizer drops the word that begins it: the first one that is asked begins it for the chain."""
    words = ("the", "\u200b", "cat", "cat", "\u200b", "cat")
    example = in_words("O", "B-PER", "I-PER", "I-PER", "B-PER", "I-PER", words=words)
    questions, notes = replace(ner.TASK, labels=LABELS).questions([example], coder())
    assert questions.value.tolist() == [0, 1, 2, 1]
    assert notes["words that the tokenizer drops"] == 2


def test_beginnings_of_any_order_of_labels() -> None:
    labels = ("I-B", "B-B", "O", "I-A", "B-A")
    values, asked = np.array([2, 4, 3, 1, 0, 0]), np.array([True, False, True, False, False, True])
    assert with_beginnings(values, asked, labels)[asked].tolist() == [2, 4, 1]
    assert with_beginnings(values[:0], asked[:0], labels).tolist() == []


def test_a_dropped_word_continues_the_entity_around_it() -> None:
    labels = ("O", "B-A", "I-A", "B-B", "I-B")
    # B-A _ I-A | B-A _ B-A | B-A _ _ I-A | O _ I-A | B-A _ I-B | _ I-A B-A _ || I-A
    chosen = np.array([1, 0, 2, 1, 0, 1, 1, 0, 0, 2, 0, 0, 2, 1, 0, 4, 0, 2, 1, 0, 2])
    asked = np.ones(len(chosen), bool)
    asked[[1, 4, 7, 8, 11, 14, 16, 19]] = False
    bounds = np.array([0, 3, 6, 10, 13, 16, 20, 21])
    found = with_dropped(chosen, asked, bounds, labels)
    assert found[~asked].tolist() == [2, 0, 2, 2, 0, 0, 0, 0]
    assert (found[asked] == chosen[asked]).all()


def test_what_a_dropped_word_is_given(coder: Any) -> None:
    """In an entity it goes with it, and takes no part in the score; elsewhere it gets the most frequent tag."""
    example = in_words("B-PER", "I-PER", "I-PER", words=("cat", "\u200b", "cat"))
    task = replace(ner.TASK, labels=LABELS)
    questions, _ = task.questions([example], coder())
    (answer,) = task.answers(np.log(np.array([[0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], np.float32)), questions, [example])
    assert answer["tags"] == ["B-PER", "I-PER", "I-PER"]
    assert [(one["start"], one["end"], one["score"]) for one in answer["entities"]] == [(0, 9, pytest.approx(0.7))]

    other = replace(task, labels=("B-PER", "I-PER", "O"))  # as an imported model may have them
    outside = in_words("B-PER", "O", "O", words=("cat", "\u200b", "cat"))
    questions, _ = other.questions([outside], coder())
    (answer,) = other.answers(np.eye(3, dtype=np.float32)[questions.value], questions, [outside])
    assert answer["tags"] == ["B-PER", "O", "O"]

    tagged = [in_words("NOUN", "X", "VERB", words=("cat", "\u200b", "sat")), in_words("NOUN", "ADJ")]
    learnt = pos.TASK.learned(tagged)
    assert (learnt.labels, learnt.usual) == (("ADJ", "NOUN", "VERB", "X"), "NOUN")
    assert part_from_json(learnt.to_json()) == learnt
    questions, _ = learnt.questions(tagged[:1], coder())
    (answer,) = learnt.answers(np.eye(4, dtype=np.float32)[[1, 2]], questions, tagged[:1])
    assert answer["tags"] == ["NOUN", "NOUN", "VERB"]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt", "xlnet", "albert", "t5", "elmo"])
def test_characters_are_units_for_every_tokenizer(family: str, coder: Any) -> None:
    """In training and at prediction alike: as many units as characters, each with tokens of its own, and other scripts by words."""
    text = TEXT + "，cat 在。」"
    places = tuple((at, at + 1) for at in range(len(TEXT)))
    labelled = Example(texts=(TEXT,), words=places, answer=("O",) * 3 + ("B-PER",) + ("I-PER",) * 3 + ("O",) * 8)
    task = replace(ner.TASK, labels=LABELS, characters=True)
    learnt, _ = task.questions([labelled], coder(family, 64))
    asked, _ = task.questions([Example(texts=(TEXT,))], coder(family, 64))
    assert (learnt.rows.tokens == asked.rows.tokens).all() and (learnt.column == asked.column).all()
    assert len(np.unique(asked.column)) == len(asked.column) == len(TEXT)
    words, _ = task.questions([Example(texts=(text,))], coder(family, 64))
    found = [text[start:end] for start, end in zip(words.word_start, words.word_end, strict=True)]
    assert found == [*TEXT, "，", "cat", "在", "。", "」"]
    spans, notes = task.questions([Example(texts=(TEXT,), answer=(Span(start=3, end=7, label="PER"),))], coder(family, 64))
    assert (spans.value == learnt.value).all() and not notes["entities whose edges lie inside a word"]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt", "xlnet", "albert", "t5", "elmo"])
def test_words_of_a_file_share_no_token(family: str, coder: Any) -> None:
    """Even where nothing stands between them: words of two characters, and Latin letters one by one."""
    example = Example(texts=("小猫在北京NBA",), words=((0, 1), (1, 3), (3, 5), (5, 6), (6, 7), (7, 8)))
    questions, notes = replace(ner.TASK, labels=LABELS).questions([example], coder(family, 64))
    assert len(np.unique(questions.column)) == 6 and not notes


@pytest.mark.parametrize("family", ["xlnet", "albert", "t5"])
def test_no_mark_of_a_beginning_within_a_text(family: str, coder: Any) -> None:
    one = coder(family, 64)
    cut = find_words([Example(texts=("小猫在",))], one, characters=True).cut
    assert (cut.ids[1:] != one.tokenizer.id("▁")).all()
    assert cut.token_bounds.tolist() == [0, len(cut.ids)] and cut.start[-1] == 2


def test_white_space_is_that_of_python() -> None:
    text = "".join(map(chr, range(0x110000)))
    assert (_blank(text) == np.array([character.isspace() for character in text])).all()


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def fitted(task: Tagging, path: Path) -> Tagging:
    task = task.fitted([path], Columns())
    return task.learned(list(task.read([path], Reading(file=path), labelled=True)))


def test_which_tasks_go_by_characters(tmp_path: Path) -> None:
    by_line = write(tmp_path / "zh.conll", "".join(f"{one} {'B-X' if one == '北' else 'O'}\n" for one in TEXT) + "\n")
    in_english = write(tmp_path / "en.conll", "EU B-ORG\nrejects O\n\n")
    chinese = write(tmp_path / "zh.jsonl", json.dumps({"text": TEXT + " cat", "entities": [[3, 7, "ORG"]]}) + "\n")
    english = write(tmp_path / "en.jsonl", json.dumps({"text": "the cat of 北京", "entities": [[0, 3, "ORG"]]}) + "\n")
    segmented = write(tmp_path / "zh.seg", "小猫 在 北京大学\n")
    found = [fitted(ner.TASK, path).characters for path in (by_line, in_english, chinese, english)]
    assert found == [True, False, True, False]
    assert fitted(segmentation.TASK, segmented).characters


def texts(task: Tagging, path: Path) -> tuple[list[str], Reading]:
    reading = Reading(file=path)
    return [example.texts[0] for example in task.read([path], reading, labelled=False)], reading


def test_a_json_list_is_no_text(tmp_path: Path) -> None:
    task = replace(ner.TASK, labels=LABELS)
    records = [{"text": "小猫"}, {"text": "the cat"}]
    for number, text in enumerate((json.dumps(records), json.dumps(records, indent=1), "\n".join(map(json.dumps, records)))):
        path = write(tmp_path / f"{number}.json", text)
        assert texts(task, path)[0] == ["小猫", "the cat"]
        assert texts(segmentation.TASK, path)[0] == ["小猫", "the cat"]
    assert texts(task, write(tmp_path / "notes.txt", "[1] the cat\n{sic} the dog\n"))[0] == ["[1] the cat", "{sic} the dog"]


def test_short_chinese_lines_are_texts(tmp_path: Path) -> None:
    task = replace(ner.TASK, labels=LABELS)
    found, reading = texts(task, write(tmp_path / "in.txt", "你好\r\n\r\n谢谢\r\n\r\n再见\r\n"))
    assert found == ["你好", "谢谢", "再见"]
    assert reading.lines()[1] == f"2 left out: blank line (first: {tmp_path / 'in.txt'}, line 2)"


def test_plain_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "in.txt", " a\tb \r\n\n  \r\nc")
    reading = Reading(file=path)
    assert [(example.texts, example.line) for example in read_plain_lines(path, reading)] == [((" a\tb ",), 1), (("c",), 4)]
    assert (reading.read, reading.skipped, reading.format) == (2, {"blank line": 2}, "plain lines")


@pytest.mark.parametrize(
    ("task", "asked", "together", "found"),
    [
        (ner.TASK, None, True, True),
        (ner.TASK, None, False, False),
        (ner.TASK, False, True, False),
        (ner.TASK, True, False, True),
        (pos.TASK, None, True, False),  # tags of single words gain nothing by it
    ],
)
def test_a_crf_is_chosen_by_the_model_unless_the_user_says(task: Tagging, asked: bool | None, together: bool, found: bool) -> None:
    assert replace(task, crf=asked).settled(together=together).crf is found


@pytest.mark.parametrize(
    ("mode", "width", "expected"), [("full", 128, True), ("full", 384, False), ("features", 128, True), ("probe", 128, False)]
)
def test_narrow_models_choose_labels_together_and_probes_never_do(mode: str, width: int, expected: bool) -> None:
    body = SimpleNamespace(width=width, gives_features=False)
    assert together(way(mode), body) is expected  # type: ignore[arg-type]
