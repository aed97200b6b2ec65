"""What users may get wrong is said in a sentence: what, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import plume
from plume.cli import app
from plume.core.errors import PlumeError

GOOD = "text\tlabel\nThe cat finds it.\tbox\nMy sister paints it.\tletter\n"


def refused(body: Path, out: Path, train: str, message: str, **options: Any) -> None:
    file = out.with_name("train.tsv")
    file.write_text(train, encoding="utf-8")
    given = {"method": "pattern", "template": "{text} It is ___ again.", "quiet": True, **options}
    with pytest.raises(PlumeError, match=message):
        plume.prompt(body, train=file, out=out, **given)
    assert not out.exists()


@pytest.mark.parametrize("method", ["pattern", "zero-shot", "in-context", "petal"])
def test_a_prompt_that_cannot_be(body_of: Any, tmp_path: Path, method: str) -> None:
    bert, out = body_of("bert"), tmp_path / "out"
    refused(bert, out, GOOD, r"The template '{text} It is good\.' needs one blank for the label, ___ or \[MASK\], and has none",
            template="{text} It is good.", method=method)  # fmt: skip
    refused(bert, out, GOOD, "needs one blank for the label, .* and has 2", template="{text} ___ ___", method=method)
    refused(bert, out, GOOD, "lacks {text}: each row has one text", template="It is ___ again.", method=method)
    refused(bert, out, GOOD, "has {title}, which stands for nothing", template="{title} {text} ___", method=method)
    refused(bert, out, GOOD, "has {text_b}, and each row has one text", template="{text} ___ {text_b}", method=method)


def test_files_of_templates_say_which_line_is_wrong(body_of: Any, tmp_path: Path) -> None:
    bert, out, file = body_of("bert"), tmp_path / "out", tmp_path / "templates.txt"
    for said, message in (
        ("", "templates.txt holds no template: write one a line"),
        ("# a remark\n\n", "templates.txt holds no template"),
        (
            "{text} It is ___.\n# a remark\n{text} It is good.\n",
            r"templates\.txt, line 3: .* needs one blank for the label, .* and has none",
        ),
        ("{text} It is ___.\n{text} ___ ___\n", r"templates\.txt, line 2: .* and has 2"),
        ("{title} ___\n", r"templates\.txt, line 1: .* has {title}, which stands for nothing"),
    ):
        file.write_text(said, encoding="utf-8")
        refused(bert, out, GOOD, message, template=str(file), method="pet", text=__file__)
    file.write_bytes("{text} C'était ___.\n".encode("latin-1"))
    refused(bert, out, GOOD, r"templates\.txt, line 1: byte 0xE9 at column 10 is not UTF-8", template=str(file))
    refused(bert, out, GOOD, "'missing.txt' is no file, and no template either", template="missing.txt")
    refused(bert, out, GOOD, "is no file, and no template either", template="It was good. " * 100)


def test_controls_use_no_prompt(body_of: Any, tmp_path: Path) -> None:
    bert, out = body_of("bert"), tmp_path / "out"
    for method in ("tfidf", "frozen", "fine-tuning"):
        refused(bert, out, GOOD, f"--method {method} is a control and uses no prompt: leave out --template.", method=method)
    refused(bert, out, GOOD, "leave out --template and --labels", method="tfidf", labels="box=a,letter=b")


def test_tokens_that_cannot_be(body_of: Any, tmp_path: Path) -> None:
    bert, out = body_of("bert"), tmp_path / "out"
    refused(bert, out, GOOD, "has {soft:0}, which is no token that could be learned", template="{text}{soft:0} It is ___.")
    for method in ("soft", "p-tuning"):
        refused(bert, out, GOOD, "--tokens 0: 1 or more tokens are learned", method=method, tokens=0)


def test_columns_are_named_by_the_options_of_the_command(body_of: Any, tmp_path: Path) -> None:
    """`plume prompt --text` is a file."""
    refused(body_of("bert"), tmp_path / "out", GOOD, r"no column 'review'(.|\n)*plume prompt: --column", columns="review")


def test_a_text_is_not_shown_its_own_answer(body_of: Any, tmp_path: Path) -> None:
    twice = "The cat carries it.\tbox\n"
    refused(body_of("bert"), tmp_path / "out", GOOD + twice, "The label 'letter' has one example, which cannot be both asked about and shown",
            method="lm-bff")  # fmt: skip


def test_words_that_cannot_be(body_of: Any, tmp_path: Path) -> None:
    bert, out = body_of("bert"), tmp_path / "out"
    refused(bert, out, GOOD, "A label's word comes twice: 'bread'", labels="box=bread,letter=bread|home")
    refused(bert, out, GOOD, "A label comes twice: 'box'", labels="box=bread,box=home")
    refused(bert, out, GOOD, "There is no word for the label 'letter': say one for each", labels="box=bread")
    refused(
        bert,
        out,
        GOOD,
        "There are words for 'lamp', which is no label of the training file \\(box, letter\\): leave them out",
        labels="box,letter,lamp",
    )
    refused(bert, out, GOOD, "The label '\U0001f9ca' holds signs that this model's vocabulary lacks: say it in other words",
            labels="box=\U0001f9ca,letter=home")  # fmt: skip
    refused(bert, out, GOOD, "cannot tell the words of 'box' from those of 'letter'", labels="box=Home,letter=home")
    refused(bert, out, GOOD.replace("box", "0").replace("letter", "1"), "The label '0' says nothing to a model: put it in words")


def test_examples_that_cannot_be(body_of: Any, tmp_path: Path) -> None:
    bert, out = body_of("bert"), tmp_path / "out"
    refused(bert, out, GOOD.replace("letter", "box"), "all 2 examples have the label 'box': there is nothing to tell apart")
    refused(bert, out, "", r"train\.tsv is empty")
    refused(bert, out, "text\tlabel\n", r"train\.tsv")
    refused(bert, out, GOOD + "My sister\tpaints\tit.\tletter\n", r"train\.tsv, line 4: 4 columns where 2")
    refused(bert, out, GOOD + "My sister paints it.\t\n", r"train\.tsv, line 4: .*label")
    dev = tmp_path / "dev.tsv"
    dev.write_text(GOOD + "The cat sleeps.\tlamp\n", encoding="utf-8")
    refused(bert, out, GOOD, r"dev\.tsv, line 4: the label 'lamp' does not occur in the training file", dev=dev)


def test_models_and_methods_that_cannot_be(body_of: Any, few: Path, tmp_path: Path) -> None:
    gpt, out = body_of("gpt2"), tmp_path / "out"
    refused(gpt, out, GOOD, "reads left to right: in the template put {text} before the label", template="About ___: {text}")
    refused(gpt, out, GOOD, "There is no method 'magic' to use a prompt: choose", method="magic")
    refused(gpt, out, GOOD, "--method pattern has no setting 'shots': it is a setting of in-context", shots=4)
    refused(gpt, out, GOOD, "alone: leave out --text, or take auto, ipet, pet, petal, zero-shot", text=few)
    refused(gpt, out, GOOD, "takes one template, and there are 2", template=["{text} ___", "{text} It is ___"])
    refused(gpt, out, GOOD, "A prompt answers by words in a blank, and regression is not answered so", task="regression")


@pytest.mark.parametrize(
    ("method", "setting", "message"),
    [
        ("in-context", "draws=0", "by 2 or more draws of them, or, with 1, not at all: not by 0"),
        ("p-tuning", "factor=-1", "Tokens learn at a rate above 0: factor is not -1.0"),
        ("pet", "temperature=0", "temperature and soft_epochs are above 0, not 0.0 and None"),
        ("pet", "soft_epochs=0", "temperature and soft_epochs are above 0, not 2.0 and 0.0"),
        ("ipet", "generations=0", "1 or more generations, .* not 0, 5.0 and 0.25. Without generations it is pet"),
        ("ipet", "growth=1", "a growth above 1, .* not 3, 1.0 and 0.25"),
        ("ipet", "share=2", "a share of teachers above 0 and up to 1, not 3, 5.0 and 2.0"),
    ],
)
def test_settings_that_cannot_be(body_of: Any, few: Path, tmp_path: Path, method: str, setting: str, message: str) -> None:
    text = few if method in ("pet", "ipet") else None
    refused(body_of("bert"), tmp_path / "out", GOOD, message, method=method, settings=[setting], text=text)


def test_choices_have_no_other_words(body_of: Any, tmp_path: Path) -> None:
    rows = '{"context": "The cat finds", "choices": ["a box", "home"], "answer": 0}\n' * 2
    refused(body_of("bert"), tmp_path / "out", rows, "The choices of an example are words already: leave out --labels", task="multiple-choice",
            template="{text} ___", labels="0=box,1=home")  # fmt: skip
    refused(body_of("bert"), tmp_path / "out", rows, "these examples have choices of their own: leave out --text", task="multiple-choice",
            template="{text} ___", method="zero-shot", text=__file__)  # fmt: skip


def test_the_command_says_it_too(body_of: Any, few: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    made = run(app, ["prompt", str(body_of("bert")), "--train", str(few), "--template", "no blank", "--out", str(tmp_path / "out")])
    assert made.exit_code != 0 and isinstance(made.exception, PlumeError | SystemExit)
    listed = run(app, ["prompt", "--list"])
    assert listed.exit_code == 0 and "in-context" in listed.output and "arXiv:2001.07676" in listed.output
    for given in ([], [str(body_of("bert"))], ["--resume", str(tmp_path), "--method", "pet"], ["--resume", str(tmp_path)]):
        assert run(app, ["prompt", *given]).exit_code != 0
