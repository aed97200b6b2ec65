"""plume embed"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plume.cli._options import Device, Language, Model, Runtime


def run(
    model: Model,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; with --out files: text (one per line), JSONL, TSV or CSV.  [default: standard input]")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Embed files of any length into this .npy or .jsonl file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue --out after a run that was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite --out.")] = False,
    text: Annotated[
        str | None,
        typer.Option(
            help="Field of JSONL files or column of tables, by name or number, that holds the text.  [default: text; found in tables]"
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            help="mean, first, last, max or weighted; word vectors: mean or sif.  [default: as sentence.json says, or else by family]"
        ),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer of a network: -1 is the last, 0 the embedding.  [default: -1]")] = None,
    layers: Annotated[str | None, typer.Option(help="Several layers, averaged: 1,-1 is the first-last average.")] = None,
    joined: Annotated[bool, typer.Option("--joined", help="Concatenate --layers instead of averaging them.")] = False,
    entities: Annotated[
        bool,
        typer.Option("--entities", help="The vectors of a model's own entities (eae, fae), one per entity in the order of entities.txt."),
    ] = False,
    language: Language = None,
    runtime: Runtime = None,
    device: Device = "cpu",
    threads: Annotated[int | None, typer.Option(help="CPU threads.  [default: all cores]")] = None,
    engine: Annotated[str, typer.Option(help="local or ray: shard --out over the workers of a running Ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Address of the Ray cluster.  [default: the one on this machine]")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Embed texts: one vector per text, as JSON lines; or files of any length, in constant memory, into one file."""
    from plume.core.errors import PlumeError

    given = _options(pooling, layer, layers, joined=joined, language=language)
    if entities:
        if texts or given or resume:
            raise PlumeError("--entities embeds what the model itself knows: leave out texts, pooling, layers and --resume.")
        _entities(model, out, overwrite=overwrite)
        return
    if out is not None:
        files = texts or ["-"]
        count = _files(
            model, files, out, column=text, options=given, runtime=runtime, device=device, engine=engine, address=address, threads=threads,
            resume=resume, overwrite=overwrite, quiet=quiet,
        )  # fmt: skip
        print(f"{count:,} vectors → {out}", file=sys.stderr)
        return
    if resume or overwrite or engine != "local":
        raise PlumeError("--resume, --overwrite and --engine are for files: add --out vectors.npy.")
    _print(model, texts, given, column=text, runtime=runtime, device=device, threads=threads)


def _entities(model: Path, out: Path | None, *, overwrite: bool) -> None:
    """As JSON lines, or as one matrix in a file."""
    import plume
    from plume.core.errors import PlumeError
    from plume.core.files import write_array
    from plume.vectors.vector_files import json_line

    if out is not None and (out.suffix != ".npy" or (out.exists() and not overwrite)):
        raise PlumeError(f"{out}: " + ("write --out entities.npy" if out.suffix != ".npy" else "it is there already; add --overwrite."))
    names, vectors = plume.load(model).entity_vectors()
    if out is None:
        for name, vector in zip(names, vectors, strict=True):
            print(json_line(name, vector), end="")
        return
    write_array(out, vectors)
    print(f"{len(names):,} vectors → {out}", file=sys.stderr)


def _options(pooling: str | None, layer: int | None, layers: str | None, *, joined: bool, language: str | None) -> dict[str, Any]:
    """What `embed` is told; nothing where nothing was said."""
    from plume.cli._pooling import layer_numbers
    from plume.core.errors import PlumeError

    if layers is not None and layer is not None:
        raise PlumeError("--layer is one layer, --layers several: give one of them.")
    if joined and layers is None:
        raise PlumeError("--joined concatenates several layers: name them with --layers.")
    found: dict[str, Any] = {"pooling": pooling, "layer": layer, "language": language}
    if layers is not None:
        from plume.nn.pooling import pooling_of

        found["pooling"] = pooling_of(pooling or "mean", layers=layer_numbers(layers), joined=joined)
    return {name: value for name, value in found.items() if value is not None}


def _print(model: Path, texts: list[str] | None, given: dict[str, Any], *, column: str | None, threads: int | None, **how: Any) -> None:
    import torch

    import plume
    from plume.core.errors import PlumeError
    from plume.vectors.corpus_texts import chunks, stream_texts
    from plume.vectors.vector_files import json_line

    if texts is None and sys.stdin.isatty():
        raise PlumeError("Nothing to embed: give texts, a file with --out, or lines on standard input.")
    if texts is not None and column is not None:
        raise PlumeError("--text names a field or column of files: add --out vectors.npy.")
    if threads is not None:
        torch.set_num_threads(threads)
    loaded = plume.load(model, **{name: value for name, value in how.items() if value is not None})
    for some in [texts] if texts is not None else chunks(stream_texts(["-"]), 256):
        for text, vector in zip(some, loaded.embed(some, **given), strict=True):
            print(json_line(text, vector), end="")


def _files(model: Path, files: list[str], out: Path, *, quiet: bool, **how: Any) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    from plume.sentences.embedding import embed_files
    from plume.tuning.stream_bar import lines_in

    live = not quiet and sys.stderr.isatty()
    total = sum(lines_in(Path(file)) for file in files) if live and "-" not in files else None
    columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not live, transient=True) as bar:
        task = bar.add_task("", total=total)
        return embed_files(model, files, out, shown=lambda done: bar.update(task, completed=done), **how)
