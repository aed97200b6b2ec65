"""Every way to use a prompt × one family of each kind of head: it works, and leaves a model like any other, or a sentence says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plume
from plume.core.errors import PlumeError
from plume.prompting.method import method, names
from plume.tuning.loaded import load_tuned

REFUSED: dict[tuple[str, str], str] = {}  # method, kind of head: what is said
KINDS = {"masked": "bert", "causal": "gpt2", "prefix": "glm", "permuted": "xlnet", "decoder": "t5"}
ROWS = [
    ("The cat finds it.", "box"),
    ("My sister paints it.", "letter"),
    ("Her teacher finds it.", "box"),
    ("The cat paints it.", "letter"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("few")
    train, text = folder / "train.tsv", folder / "text.txt"
    train.write_text("text\tlabel\n" + "".join(f"{one}\t{label}\n" for one, label in ROWS), encoding="utf-8")
    text.write_text("".join(f"{one}\n" for one, _ in ROWS * 2), encoding="utf-8")
    return {"train": train, "text": text}


def small(name: str, files: dict[str, Path]) -> dict[str, Any]:
    """Options by which it takes a moment."""
    made, settings = (
        method(name),
        {"runs": 1, "soft_epochs": 1, "generations": 1, "folds": 2, "draws": 2, "shots": 2, "candidates": 8, "words": 1, "longest": 9},
    )
    having = [f"{key}={value}" for key, value in settings.items() if hasattr(made, key)]
    if name == "auto":
        having.append("methods=tfidf,pattern")
    if name == "ipet":
        having[having.index("runs=1")] = "runs=2"
    options: dict[str, Any] = {"settings": having, "epochs": 1, "length": 48}
    if made.unlabelled:
        options["text"] = files["text"]
    return options


def cases() -> list[Any]:
    """Those that train several models are tried with one kind, the others with three; all with the slow tests."""
    quick = {**dict.fromkeys(names(), ("masked", "causal", "decoder")), **dict.fromkeys(("ipet", "pet", "auto", "lm-bff"), ("decoder",))}
    return [pytest.param(name, kind, marks=() if kind in quick[name] else pytest.mark.slow) for name in names() for kind in KINDS]


@pytest.mark.parametrize(("name", "kind"), cases())
def test_every_method_with_every_kind_of_head(language_model: Any, name: str, kind: str, files: dict[str, Path], tmp_path: Path) -> None:
    body = tmp_path / "body"
    language_model(KINDS[kind]).save(body)
    template = {"template": "{text} It is ___ ."} if method(name).prompted else {}
    options = {"train": files["train"], "method": name, **template, "quiet": True, **small(name, files)}
    if (name, kind) in REFUSED:
        with pytest.raises(PlumeError, match=REFUSED[name, kind]):
            plume.prompt(body, out=tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()
        return
    made = plume.prompt(body, out=tmp_path / "out", **options)
    again = load_tuned(tmp_path / "out")
    texts = [text for text, _ in ROWS]
    assert again.predict(texts) == made.predict(texts)
    assert {one["label"] for one in made.predict(texts)} <= {"box", "letter"}
    assert (tmp_path / "out" / "card.md").exists()
