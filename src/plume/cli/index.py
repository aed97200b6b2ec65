"""plume index"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from plume.cli._own_parts import with_parameters_of, with_parts

if TYPE_CHECKING:
    from plume.search.adding import Added
    from plume.search.index import Index


class BuildUnlessNamed(TyperGroup):
    """`plume index docs.jsonl --out idx/` is `plume index build docs.jsonl --out idx/`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A first word that is no command is a file, or an option of build."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["build", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=BuildUnlessNamed,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build an index of texts to search (plume index FILES --model MODEL --out DIR), and maintain it.",
)

IndexFolder = Annotated[Path, typer.Argument(help="Index directory.")]
Files = Annotated[list[str], typer.Argument(help="JSONL, CSV, TSV or text files (a text a line), or - for standard input.")]
ReadyVectors = Annotated[Path | None, typer.Option("--vectors", help="Ready vectors: a .npy file, a row a document in order.")]
TextField = Annotated[str, typer.Option("--text", help="Field that holds the text; several, joined: title,body.  [default: text]")]
IdField = Annotated[str | None, typer.Option("--id", help="Field that holds the id.  [default: id; else file:line, as the file is given]")]
Types = Annotated[list[str] | None, typer.Option("--types", help="Type of a field: year=text; int, real, text, bool or list; repeatable.")]
QueryModel = Annotated[Path | None, typer.Option("--model", help="Model directory.  [default: the one that made the index]")]
Address = Annotated[str | None, typer.Option("--backend", help="Its server, with a password or elsewhere.  [default: as it was built]")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]


@app.command("build")
@with_parts
def build(
    files: Files,
    out: Annotated[Path, typer.Option(help="Index directory to create.")],
    model: Annotated[Path | None, typer.Option(help="Model directory that embeds the texts.")] = None,
    vectors: ReadyVectors = None,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Search by words only.")] = False,
    type: Annotated[
        str,
        typer.Option(
            help="auto (measured), flat, hnsw, ivf, lsh, sq, pq, ivf-sq, ivfadc, ivfadc-refine, or a faiss factory string: IVF256,PQ48."
        ),
    ] = "auto",
    recall: Annotated[float, typer.Option(help="Share of the 10 nearest that an approximate type must find.")] = 0.95,
    metric: Annotated[
        str | None, typer.Option(help="cosine, ip (inner product) or l2 (distance).  [default: as the model's vectors are compared]")
    ] = None,
    words: Annotated[str, typer.Option(help="How Chinese is cut into words: jieba or trigram; none: search by vectors only.")] = "jieba",
    passage: Annotated[int, typer.Option(help="Words in a passage: longer documents are cut between sentences.")] = 200,
    overlap: Annotated[int, typer.Option(help="Words that a passage repeats of the one before; at most half of --passage.")] = 0,
    title: Annotated[
        str | None, typer.Option(help="Field that is put before every passage of a document when it is embedded, as --task retrieval does.")
    ] = None,
    text: TextField = "",
    id: IdField = None,
    types: Types = None,
    backend: Annotated[
        str, typer.Option(help="embedded, milvus://HOST, milvus://FILE.db, postgresql://HOST/DATABASE or elasticsearch://HOST.")
    ] = "embedded",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a build that was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the index at --out.")] = False,
    quiet: Quiet = False,
) -> None:
    """Build an index: texts, metadata, vectors and words. The command that is meant if none is named."""
    from plume.core.errors import PlumeError
    from plume.search.arguments import table_of_vectors
    from plume.search.backends import made_whole
    from plume.search.index import Index
    from plume.search.replacing import replacing

    if sum((model is not None, vectors is not None, no_vectors)) != 1 and not (model is not None and vectors is not None):
        raise PlumeError("Give --model MODEL, --vectors FILE (with --model, that queries are embedded with), or --no-vectors.")
    ready = table_of_vectors(vectors)
    dimension = None if ready is None else int(ready.shape[1])
    options: dict[str, Any] = {"text": text, "id": id, "types": _types(types)}
    if resume and (out / "index.json").exists():
        with Index.open(out, model=model, backend=None if backend == "embedded" else backend) as index:
            _told(out, index, index.add_files(files, vectors=ready, skip_known=True, shown=_progress(quiet), **options), quiet)
        return
    replaced = overwrite and (out / "index.json").exists()
    if overwrite and not replaced and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} is no index, and --overwrite replaces nothing else: choose another --out, or delete it yourself.")
    with (
        replacing(out, backend) if replaced else nullcontext(out) as target,
        made_whole(target, backend),
        Index.create(
            target, model=model, dimension=dimension, type=type, recall=recall, metric=metric, words=None if words == "none" else words,
            passage=passage, overlap=overlap, title=title, backend=backend,
        ) as index,
    ):  # fmt: skip
        added = index.add_files(files, vectors=ready, shown=_progress(quiet), **options)
        if not len(index):
            raise PlumeError(f"{', '.join(map(str, files))}: no document has text, so there is nothing to find in an index of them.")
        _told(out, index, added, quiet)


def _add(
    index: IndexFolder,
    files: Files,
    vectors: ReadyVectors = None,
    model: QueryModel = None,
    text: TextField = "",
    id: IdField = None,
    types: Types = None,
    backend: Address = None,
    quiet: Quiet = False,
    **how: bool,
) -> None:
    from plume.core.errors import PlumeError
    from plume.search.index import Index

    with Index.open(index, model=model, backend=backend) as opened:
        before = len(opened)
        try:
            added = opened.add_files(files, vectors=vectors, text=text, id=id, types=_types(types), shown=_progress(quiet), **how)
        except (PlumeError, KeyboardInterrupt) as error:
            if more := len(opened) - before:
                said = f"{more:,} documents were added before that: give --resume to pass over them when you add the files again."
                if isinstance(error, PlumeError):
                    raise PlumeError(f"{error} {said}") from None
                print(f"\nplume: {said}", file=sys.stderr)
            raise
        _told(index, opened, added, quiet)


@app.command("add")
@with_parts
@with_parameters_of(_add)
def add(resume: Annotated[bool, typer.Option("--resume", help="Skip documents that are there already.")] = False, **given: Any) -> None:
    """Add documents."""
    _add(**given, skip_known=resume)


@app.command("update")
@with_parts
@with_parameters_of(_add)
def update(**given: Any) -> None:
    """Replace documents of the same id; new ones are added."""
    _add(**given, replace_known=True)


@app.command("remove")
@with_parts
def remove(
    index: IndexFolder, ids: Annotated[list[str], typer.Argument(help="Ids of documents.")], backend: Address = None, quiet: Quiet = False
) -> None:
    """Remove documents by id."""
    from plume.search.index import Index

    with Index.open(index, backend=backend) as opened:
        removed = opened.remove(ids)
        if not quiet:
            print(f"removed {removed:,} of {len(set(ids)):,} documents; {len(opened):,} left", file=sys.stderr)


@app.command("check")
@with_parts
def check(index: IndexFolder, backend: Address = None) -> None:
    """Verify that texts, words, vectors, metadata and checksums agree; exit code 1 if not."""
    from plume.search.index import Index

    with Index.open(index, backend=backend) as opened:
        problems = opened.check()
        documents, passages = opened.backend.count()
    for problem in problems:
        print(problem)
    if problems:
        raise typer.Exit(1)
    print(f"{index}: {documents:,} documents, {passages:,} passages, no problem found")


@app.command("info")
@with_parts
def info(index: IndexFolder, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, backend: Address = None) -> None:
    """Show what an index holds and what made it."""
    from plume.search.index import Index

    with Index.open(index, backend=backend) as opened:
        found = opened.info()
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for name, value in found.items():
        if value not in (None, [], {}):
            shown = ", ".join(f"{key}: {one}" for key, one in value.items() if one is not None) if isinstance(value, dict) else value
            print(f"{name:<10} {shown:,}" if isinstance(value, int) else f"{name:<10} {shown}")


@app.command("compact")
@with_parts
def compact(index: IndexFolder, backend: Address = None, quiet: Quiet = False) -> None:
    """Drop removed documents for good, and build the vector index again."""
    from plume.search.index import Index

    with Index.open(index, backend=backend) as opened:
        opened.compact()
        if not quiet:
            print(f"{len(opened):,} documents", file=sys.stderr)


@app.command("embed-again")
@with_parts
def embed_again(
    index: IndexFolder,
    model: Annotated[Path, typer.Option("--model", help="Model directory that embeds the texts from now on.")],
    backend: Address = None,
    quiet: Quiet = False,
) -> None:
    """Embed all passages again, with another model."""
    from plume.search.index import Index

    opened = Index.open(index, backend=backend)
    made = opened.embed_again(model)
    if not quiet:
        print(f"{len(made):,} documents embedded again with {model}", file=sys.stderr)
    made.close()


@app.command("drop")
def drop(
    index: IndexFolder,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    backend: Address = None,
    quiet: Quiet = False,
) -> None:
    """Delete an index: its folder, and what it has on a server. Asks before it does."""
    from plume.core.errors import PlumeError
    from plume.search import replacing
    from plume.search.settings import IndexSettings

    IndexSettings.load(index)  # what is no index is refused before anything is asked
    if not yes and not sys.stdin.isatty():
        raise PlumeError(f"This deletes {index} for good: confirm with --yes.")
    if not yes and not typer.confirm(f"Delete {index} for good?"):
        raise typer.Exit(1)
    replacing.drop(index, backend)
    if not quiet:
        print(f"deleted {index}", file=sys.stderr)


def _types(given: list[str] | None) -> dict[str, str]:
    from plume.core.errors import PlumeError

    for one in given or ():
        if "=" not in one:
            raise PlumeError(f"--types {one}: write field=type, as year=text.")
    return dict(one.split("=", 1) for one in given or ())


def _progress(quiet: bool) -> Any:
    def show(added: Added) -> None:
        if sys.stderr.isatty() and not quiet:
            print(f"\r{added.documents:,} documents, {added.passages:,} passages", end="", file=sys.stderr, flush=True)

    return show


def _told(folder: Path, index: Index, added: Added, quiet: bool) -> None:
    if quiet:
        return
    more = [
        f"{count:,} {what}" for count, what in ((added.empty, "without text, skipped"), (added.known, "there already, skipped")) if count
    ]
    clear = "\r" if sys.stderr.isatty() else ""
    print(f"{clear}{'; '.join([f'{added.documents:,} documents, {added.passages:,} passages → {folder}', *more])}", file=sys.stderr)
    if index.prepared:
        print(index.prepared, file=sys.stderr)
