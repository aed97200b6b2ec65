"""What the pages in docs/tasks say can be typed, can be typed: their blocks run here, on the files that ship with them, in fewer steps."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from plume.cli import main
from plume.core import catalog

ROOT = Path(__file__).parents[2]
PAGES, FILES = ROOT / "docs" / "tasks", ROOT / "examples" / "tasks"
# What each page's commands print, however little was learned.
PRINTED = {
    "index": ("accuracy", '"label": "', "30 answers → runs/reviews.jsonl"),
    "classification": ("macro_f1", "mcc", '"音乐": '),
    "multi-label": ("micro_f1", "exact", '"labels": ['),
    "similarity": ("spearman", "pearson", "mse", '"score": '),
    "nli": ("accuracy", '"contradiction": ', "JSONL; texts: premise and hypothesis"),
    "paraphrase": ("accuracy", "f1", "TSV without a header; texts: column 1 and 2; label: column 3"),
    "multiple-choice": ("accuracy", '"choice": "', "'scores': ["),
    "ner": ("precision", "LOC", "organization", '"entities": [', "BIO tags", "JSONL with spans"),
    "pos": ("accuracy", "mode probe", '"tags": [', "Grace/"),
    "segmentation": ("recall", '"words": ['),
    "qa": ("exact_match", "has_answer", "no_answer", '"answer": "', "SQuAD's JSON, version 2.0", "'start': ", '"blocks": ['),
    "multihop": (
        "exact_match",
        "one document",
        "supporting facts",
        "30 answers → runs/cog.jsonl",
        "graph.html is written",
        "kind       span",
    ),
    "retrieval": ("top20", "would score mrr", "bm25", "1. p"),
    "kbqa": ("hits@1", "120 triples", "relation 1", "would score", "—author→", '"answers": ['),
    "rag": ("exact_match", "passage p", "found with", "first of BM25", "nothing read"),
    "text-to-text": ("bleu", "rougeL", "chrf", "two aligned files", '"source": "The driver buys flowers."'),
    "dialogue": ("perplexity", "chrf", "would score chrf", "JSON; conversations: messages", "'role': 'assistant'"),
    "language-modelling": ("pseudo_perplexity", "bits_per_character", '"fillings": [[', "span_corruption"),
    "zero-shot": ("accuracy", '"cooking": ', "'美食': "),
    "emoji": ("top1", "top5", '"☔": '),
}


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of what can be run, in order."""
    return re.findall(r"```(bash|python)\n(.*?)```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)


def shortened(words: list[str]) -> list[str]:
    """As little training as shows that it works."""
    words = ["5steps" if word.endswith("steps") else word for word in words]
    if words[1] != "tune":
        return words
    for name in ("--epochs", "--patience"):
        if name in words:
            del words[words.index(name) : words.index(name) + 2]
    return [*words, "--epochs", "0.4"]


def type_in(command: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", shortened(shlex.split(command)))
        try:
            main()
        except SystemExit as left:
            if left.code:
                pytest.fail(command)


def run(language: str, text: str) -> None:
    if language == "python":
        exec(compile(text.replace("epochs=5", "epochs=0.4"), "page", "exec"), {})
        return
    for command in text.splitlines():
        type_in(command)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the pages' files in it, and the two models that all of them begin with."""
    made = tmp_path_factory.mktemp("pages")
    (made / "examples").mkdir()
    (made / "examples" / "tasks").symlink_to(FILES)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.chdir(made)
        run(*blocks("index")[0])
    return made


@pytest.mark.parametrize("page", PRINTED)
def test_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    for language, text in blocks(page)[page == "index" :]:  # the first page begins with what is there already
        run(language, text)
    said = capfd.readouterr()
    for word in PRINTED[page]:
        assert word in said.out + said.err, f"{word} was not printed"


def test_every_task_has_a_page() -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert set(pages) == set(PRINTED)
    for task in catalog.names("tasks"):
        assert f"`{task}`" in pages["index"], f"index.md does not name {task}"
    for page in set(pages) - {"index"}:
        assert f"({page}.md)" in pages["index"], f"index.md does not lead to {page}.md"


def test_links_lead_somewhere() -> None:
    """On every page, not only the tasks'; reports are made by the code, which has tests of its own."""
    pages = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if page.name != "report.md")]
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), f"{page.name}: {target}"
            if anchor:
                titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles], f"{page.name}: #{anchor}"


def test_the_files_are_what_their_maker_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("make", FILES / "make.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    monkeypatch.setattr(maker, "HERE", tmp_path)
    maker.main()
    shipped = {path.name for path in FILES.iterdir() if path.is_file()} - {"make.py", "phrases.json"}
    assert {path.name for path in tmp_path.iterdir()} == shipped
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (FILES / path.name).read_bytes(), path.name
