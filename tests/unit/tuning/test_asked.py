"""What may be said with a question: settings that the task knows, of their kind, and nothing that would go unread."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plume.cli.tune import _finish
from plume.core.errors import PlumeError
from plume.retrieval.rag.answering import RagAnswerer
from plume.tasks.kbqa import TASK as KBQA
from plume.tasks.multihop import TASK as HOPS
from plume.tasks.qa import TASK as QA
from plume.tuning.asked import AskedOf
from plume.tuning.long_texts.answering import RecalledAnswering
from plume.tuning.task import Columns, Task

RECALL = RecalledAnswering(kind="qa", title="", metric="f1")


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        (HOPS, {"beam": 3}, "no setting 'beam' that a question may change: most_pages"),
        (HOPS, {"hops": "no"}, "hops is true or false, not 'no'"),
        (HOPS, {"most_pages": "x"}, "most_pages is a number, not 'x'"),
        (HOPS, {"most_pages": 0}, "most_pages is a whole number from 1 on, not 0"),
        (RECALL, {"kind": "ner"}, "no setting 'kind' that a question may change: block"),
        (RECALL, {"rounds": 1.5}, "rounds is a whole number from 1 on, not 1.5"),
        (RECALL, {"shortlist": -3}, "shortlist is a whole number from 0 on, not -3"),
    ],
)
def test_settings_are_known_and_of_their_kind(task: Task, options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        task.ask(None, ["who?"], AskedOf(documents=__file__, options=options))  # type: ignore[arg-type]


def test_settings_that_fit_are_taken() -> None:
    assert AskedOf(options={"shortlist": 0, "words": 1, "threshold": -2.5}).settings(RECALL, ("shortlist", "words", "threshold")) == {
        "shortlist": 0,
        "words": 1,
        "threshold": -2.5,
    }


def test_documents_are_not_passed_over() -> None:
    with pytest.raises(PlumeError, match="kbqa asks a knowledge base, and reads no documents: leave out --documents"):
        KBQA.ask(None, ["who?"], AskedOf(documents=__file__))  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["rounds=0", "keep=0", "block=0", "shortlist=-1", "words=-1", "judges=-1"])
def test_recall_that_cannot_be_is_refused_before_it_is_learned(setting: str) -> None:
    with pytest.raises(PlumeError, match="block, keep and rounds are at least 1, and shortlist, words and judges at least 0"):
        RECALL.override(setting).fitted([], Columns())


@pytest.mark.parametrize("task", [HOPS, RECALL])
def test_a_knowledge_base_is_not_passed_over(task: Task) -> None:
    with pytest.raises(PlumeError, match="reads documents, and no knowledge base: leave out --kb"):
        task.ask(None, ["who?"], AskedOf(kb="kb", documents=__file__))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beam": 5}, "no setting 'beam' that a question may change: top"),
        ({"top": "x"}, "top is the number of passages that are read, a whole number from 1 on, not 'x'"),
        ({"top": 0}, "from 1 on, not 0"),
        ({"kb": "kb"}, "leave out --kb"),
        ({"task": "ner"}, "not tuned for 'ner'"),
    ],
)
def test_a_rag_is_asked_for_so_many_passages_only(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        RagAnswerer.ask(None, "who?", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "said"),
    [(KBQA, 'plume ask out "…"'), (HOPS, 'plume ask out --documents FILE "…"'), (QA, 'plume predict out "…"')],
)
def test_a_run_ends_with_how_its_model_is_asked(
    task: Task, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("plume.tuning.declared.read_declaration", lambda folder: SimpleNamespace(tasks=(task,)))
    made = SimpleNamespace(outcome=SimpleNamespace(stopped_by=None), folder=Path("out"), ended="as planned", scores={}, held_out=True)
    monkeypatch.setattr("plume.cli._scores.print_scores", lambda scores, title: None)
    _finish(made, quiet=False)  # type: ignore[arg-type]
    assert said in capsys.readouterr().out
