"""plume export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._options import Model


def run(
    model: Model,
    out: Annotated[Path, typer.Option(help="Output directory; for word vectors, output file.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="hf: a directory that transformers loads; sentence-transformers: one that it loads, with the same vectors; "
            "onnx, torchscript: a file, or an encoder and a decoder of what writes, with a script that runs them without plume; "
            "word vectors: word2vec (text), word2vec-binary, fasttext.  "
            "[default: hf; word vectors: by the file's suffix]"
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Task to export, if the model is fine-tuned for several. onnx, torchscript of a language model: embed or generate.  "
            "[default: generate, if it writes and has no sentence.json]"
        ),
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="onnx: 8-bit weights; smaller and faster, nearly the same answers.")] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            help="onnx, torchscript: file of texts, or in the task's format, to compare with torch on.  [default: texts of plume's]"
        ),
    ] = None,
) -> None:
    """Export a model to Hugging Face, sentence-transformers, ONNX or TorchScript, or word vectors to word2vec or fastText files."""
    import plume
    from plume.core.errors import PlumeError, suggest
    from plume.core.files import read_json
    from plume.static.model import is_word_model
    from plume.tuning.declared import is_tuned

    if to in ("onnx", "torchscript"):
        from plume.api import export_graph

        for line in export_graph(model, out=out, to=to, int8=int8, task=task, check=check).lines():
            print(line)
        return
    if int8 or check is not None:
        raise PlumeError("--int8 and --check are for --to onnx and --to torchscript.")
    if is_word_model(model) and not is_tuned(model) and to != "sentence-transformers":
        from plume.static.exchange import export_vectors

        print(f"{out}: {export_vectors(model, out, to=to)}")
        return
    if to == "sentence-transformers":
        from plume.api import export_sentence_transformers

        export_sentence_transformers(model, out=out)
        print(f"{out}: load it with sentence_transformers.SentenceTransformer('{out}')")
        return
    if to not in (None, "hf"):
        assert to is not None
        raise PlumeError(f"There is no export format '{to}': {suggest(to, ['hf', 'sentence-transformers', 'onnx', 'torchscript'])}.")
    plume.export_hf(model, out=out, task=task)
    (architecture,) = read_json(out / "config.json", "it was just written")["architectures"]
    print(f"{out}: load it with transformers.{architecture}.from_pretrained('{out}')")
