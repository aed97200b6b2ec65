"""An XLM reads every text of a task with its own language's vector: said, from the row, or found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.cli import main
from plume.comparing.measuring.probes import probe
from plume.comparing.planning.rehearsal import _sample
from plume.comparing.study import Study, StudyTask
from plume.core.errors import PlumeError
from plume.data.corpus import CorpusKind
from plume.model.checkpoint import save_model
from plume.model.networks.model import Model
from plume.nn.embedding import EmbeddingModule
from plume.readers.example import Example, Reading
from plume.recipes import _catalog as catalog
from plume.tasks.nli import TASK as NLI
from plume.text.known_languages import Languages
from plume.train.budget import Budget
from plume.tuning.options import named, start_from_options
from plume.tuning.preparing import prepare
from plume.tuning.rows.rows import Coder
from plume.tuning.settings import TaskData
from plume.tuning.task import Columns

ENGLISH = ["the cat finds the letter", "my sister paints some bread", "her teacher forgets two apples", "one small bird follows"]
CHINESE = ["我们喜欢苹果", "老师看见一封信"]
LABELS = ["a", "b", "a", "b"]


@pytest.fixture(scope="module")
def xlm(miniature: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A miniature with first weights that knows English (0) and Chinese (1)."""
    recipe = miniature("xlm")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(3)
    model.languages = Languages.named(["en", "zh"])
    folder = tmp_path_factory.mktemp("xlm")
    save_model(folder, model, tokenizer)
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[int]]:
    """Which language vectors the network has used since it was last asked."""
    used: set[int] = set()
    plain = EmbeddingModule.forward

    def spy(self: EmbeddingModule, tokens: Any, position: Any, segment: Any = None, within: Any = None, **others: Any) -> Any:
        used.update({0} if segment is None else segment[tokens != 2].unique().tolist())  # 2 is the padding
        return plain(self, tokens, position, segment, within, **others)

    def asked() -> set[int]:
        found = set(used)
        used.clear()
        return found

    monkeypatch.setattr(EmbeddingModule, "forward", spy)
    return asked


def coder_of(folder: Path, usual: str | None = None) -> Coder:
    model = plume.load(folder)
    return Coder(model.tokenizer, length=32, languages=model.model.languages, usual=usual)


def write(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_only_xlm_tells_languages_apart() -> None:
    assert [name for name in catalog.networks() if catalog.recipe(f"{name}/tiny").languages] == ["xlm"]


def test_a_task_is_tuned_measured_and_probed_with_its_language(xlm: Path, read: Any, tmp_path: Path) -> None:
    rows = [f"{text}\t{label}" for text, label in zip(CHINESE * 4, LABELS * 2, strict=True)]
    file = write(tmp_path / "zh.tsv", "text\tlabel", [*rows, "3.14\ta"])
    start_from_options(xlm, task="classification", train=file, dev=file, out=tmp_path / "out", epochs=1.0, batch=4, quiet=True)
    assert read() == {1}
    tuned = plume.load(tmp_path / "out")
    assert tuned.declared.language == "zh"
    tuned.predict(ENGLISH)
    assert read() == {0}
    tuned.predict(["3.14"])  # says nothing by itself: the language of the training texts
    assert read() == {1}
    tuned.predict(ENGLISH, language="zh")
    assert read() == {1}
    tuned.evaluate(write(tmp_path / "en.tsv", "text\tlabel", [f"{text}\t{label}" for text, label in zip(ENGLISH, LABELS, strict=True)]))
    assert read() == {0}
    ready = prepare(TaskData(task=named("classification"), train=(str(file),), dev=(str(file),)))
    probe(xlm, ready.task, ready.train, ready.dev, name="xlm")
    assert read() == {1}
    with pytest.raises(PlumeError, match="no language 'de': say one of en, zh"):
        tuned.predict(ENGLISH, language="de")


def test_a_language_that_is_said_counts_for_all_rows(xlm: Path, read: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "en.tsv", "text\tlabel", [f"{text}\t{label}" for text, label in zip(ENGLISH, LABELS, strict=True)])
    options = {"task": "classification", "train": file, "dev": file, "epochs": 1.0, "batch": 2, "quiet": True}
    start_from_options(xlm, out=tmp_path / "zh", language="zh", **options)
    assert read() == {1}
    with pytest.raises(PlumeError, match="no language 'de'"):
        start_from_options(xlm, out=tmp_path / "de", language="de", **options)


def test_rows_may_say_their_language(xlm: Path, tmp_path: Path) -> None:
    table = ["premise\thypothesis\tlanguage\thypothesis_language\tlabel", "ok\tok\ten\tzh\ta", "the cat\t我们\t\t\tb", "ok\t1\tzh\t\ta"]
    (tmp_path / "pairs.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    keys = table[0].split("\t")
    lines = [json.dumps(dict(zip(keys, row.split("\t"), strict=True)), ensure_ascii=False) for row in table[1:]]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("pairs.tsv", "pairs.jsonl"):
        task = NLI.fitted([tmp_path / name], Columns())
        examples = list(task.read([tmp_path / name], Reading(file=tmp_path / name), labelled=True))
        assert [example.languages for example in examples] == [("en", "zh"), (), ("zh", "")]
        rows = task.learned(examples).questions(examples, coder_of(xlm))[0].rows
        told = [rows.segment[first:last].tolist() for first, last in zip(rows.bounds[:-1], rows.bounds[1:], strict=True)]
        for row, (one, other) in zip(range(3), ((0, 1), (0, 1), (1, 1)), strict=True):
            middle = int(np.flatnonzero(rows.tokens[rows.bounds[row] : rows.bounds[row + 1]] == 1)[0])  # </s> belongs to the text before it
            assert told[row] == [one] * (middle + 1) + [other] * (len(told[row]) - middle - 1)


def test_pairs_do_not_begin_positions_again(xlm: Path) -> None:
    """As in facebookresearch/XLM's XNLI (reset_positions=False): only translations do, in pre-training."""
    examples = [Example(texts=("the cat", "我们"), answer="a"), Example(texts=("我们", "the cat"), answer="b")]
    questions, _ = NLI.learned(examples).questions(examples, coder_of(xlm))
    assert questions.batch(np.arange(2)).position is None


@pytest.mark.parametrize(
    ("kind", "texts"), [("ner", ("我们喜欢 the cat",)), ("qa", ("who", "我们喜欢苹果")), ("multiple-choice", ("我们", "1", "2"))]
)
def test_every_layout_says_languages(kind: str, texts: tuple[str, ...], xlm: Path) -> None:
    task = named(kind)
    questions, _ = task.questions([Example(texts=texts)], coder_of(xlm))
    expected = {"ner": [1], "qa": [0, 1], "multiple-choice": [1]}[kind]
    assert questions.rows.segment is not None and np.unique(questions.rows.segment).tolist() == expected


def test_what_nobody_can_tell_is_named_by_its_line(xlm: Path) -> None:
    examples = [Example(texts=("the cat",), line=1), Example(texts=("3.14",), line=7)]
    cut = [coder_of(xlm).cut([example.texts[0] for example in examples])]
    with pytest.raises(PlumeError, match=r"line 7: cannot tell which language '3\.14' is in: say one of en, zh"):
        coder_of(xlm).languages_of(examples, cut)
    assert coder_of(xlm, usual="zh").languages_of(examples, cut).tolist() == [[0], [1]]
    with pytest.raises(PlumeError, match="line 3: This model has no language 'fr'"):
        coder_of(xlm).languages_of([Example(texts=("the cat",), languages=("fr",), line=3)], cut)


def test_the_usual_language_is_that_of_nearly_all_texts(xlm: Path) -> None:
    coder = coder_of(xlm)
    chinese, english = Example(texts=("我们",)), Example(texts=("the cat",))
    assert coder.usual_language([*[chinese] * 19, english, Example(texts=("1",))]) == "zh"
    assert coder.usual_language([*[chinese] * 18, english]) is None
    assert coder.usual_language([Example(texts=("1",))]) is None


def test_families_without_languages_ignore_the_column_and_refuse_the_argument(tmp_path: Path, miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model: Model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "bert", model, tokenizer)
    assert not (tmp_path / "bert" / "languages.json").exists()
    file = write(
        tmp_path / "en.tsv", "text\tlanguage\tlabel", [f"{text}\ten\t{label}" for text, label in zip(ENGLISH, LABELS, strict=True)]
    )
    options = {"task": "classification", "train": file, "dev": file, "epochs": 1.0, "batch": 2, "quiet": True}
    start_from_options(tmp_path / "bert", out=tmp_path / "out", **options)
    assert plume.load(tmp_path / "out").tasks[0].labels == ("a", "b")
    with pytest.raises(PlumeError, match="bert reads texts of all languages alike: leave out --language"):
        start_from_options(tmp_path / "bert", out=tmp_path / "again", language="en", **options)
    with pytest.raises(PlumeError, match="bert reads texts of all languages alike"):
        plume.load(tmp_path / "bert").embed("the cat", language="en")


def test_the_command_line_says_it_too(xlm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["plume", *words])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        assert left.value.code == (2 if err else 0)
        return err or out

    assert run("score", str(xlm), "the cat") == run("score", str(xlm), "the cat", "--language", "en")
    assert run("score", str(xlm), "the cat") != run("score", str(xlm), "the cat", "--language", "zh")
    assert run("embed", str(xlm), "小猫") == run("embed", str(xlm), "小猫", "--language", "1")
    assert run("fill", str(xlm), "the cat ___") == run("fill", str(xlm), "the cat ___", "--language", "en")
    assert "Cannot tell which language '3.14' is in: say one of en, zh (--language" in run("embed", str(xlm), "3.14")
    assert "no language 'de': say one of en, zh" in run("fill", str(xlm), "the cat ___", "--language", "de")


def test_a_study_rehearses_pairs_on_pairs(tmp_path: Path) -> None:
    record = {"text": "the cat. 小猫。", "source": "the cat.", "target": "小猫。", "source_language": "en", "target_language": "zh"}
    (tmp_path / "corpus.jsonl").write_text((json.dumps(record) + "\n") * 20, encoding="utf-8")
    task = StudyTask(name="a", kind="classification", train=str(tmp_path / "a.tsv"), scored=str(tmp_path / "b.tsv"))
    study = Study(corpus=(str(tmp_path / "corpus.jsonl"),), tasks=(task,), recipes=("xlm",), budget=Budget.parse("10s"))
    first = [json.loads(_sample(study, kind).splitlines()[0]) for kind in (CorpusKind.TEXT, CorpusKind.PAIRS)]
    assert first[0] == {"text": record.pop("text")} and first[1] == record
