"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="Model directory.")]
Texts = Annotated[list[str], typer.Argument(help="One or more texts.")]
Vectors = Annotated[Path, typer.Argument(help="Word-vector model directory, or a word2vec, GloVe or fastText .bin file.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps.")]
Runtime = Annotated[
    str | None,
    typer.Option(
        help="torch, onnx, onnx-int8 (8-bit weights: faster, nearly the same answers) or torch-int8.  [default: what the model prefers, else torch]"
    ),
]
Language = Annotated[str | None, typer.Option(help="Multilingual models (xlm): language of the text.  [default: detected]")]
Languages = Annotated[
    str | None,
    typer.Option(help="Multilingual models (xlm): language of all texts, or en,de for pairs.  [default: from the rows, or detected]"),
]
TunedTask = Annotated[
    str | None,
    typer.Option(help="Task of a model fine-tuned for several, or one that needs no fine-tuning: zero-shot, language-modelling."),
]
Template = Annotated[str | None, typer.Option(help="Zero-shot: sentence template that each label is inserted into.")]
Each = Annotated[bool, typer.Option("--each", help="Zero-shot: score each label independently; scores need not sum to 1.")]
Way = Annotated[
    str | None, typer.Option(help="Zero-shot: entailment or cloze.  [default: entailment if the model was fine-tuned on NLI, else cloze]")
]
NoCalibrate = Annotated[
    bool, typer.Option("--no-calibrate", help="Zero-shot, cloze: do not correct scores for the prior probability of each label.")
]
