"""plume kb"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="A knowledge base: build it from triples, link text to it, look at it, edit it.",
)

Folder = Annotated[Path, typer.Argument(help="Knowledge base directory.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]
Given = Annotated[list[str], typer.Argument(help="Subject, relation and object, as names or ids.")]
IsValue = Annotated[bool, typer.Option("--literal", help="The object is a value, which no text is linked to.")]


@app.command("build")
def build(
    files: Annotated[
        list[Path], typer.Argument(help="Triples: TSV, fields between |||, N-Triples, or JSONL with subject, relation, object; .gz too.")
    ],
    out: Annotated[Path, typer.Option(help="Directory to create.")],
    aliases: Annotated[Path | None, typer.Option(help="TSV: entity, another name of it, and how often the name means it.")] = None,
    entities: Annotated[Path | None, typer.Option(help="TSV: what the triples call an entity, and its name; ids follow its order.")] = None,
    relations: Annotated[Path | None, typer.Option(help="The same for relations.")] = None,
    literals: Annotated[
        str, typer.Option(help="Which objects are values: marked, or leaves (also objects that are no subject).")
    ] = "marked",
    quiet: Quiet = False,
) -> None:
    """Build a knowledge base of files of triples."""
    from plume.core.errors import PlumeError
    from plume.kb.building import Literals, Sources
    from plume.kb.building import build as built

    if literals not in tuple(Literals):
        raise PlumeError(f"--literals {literals}: choose from {', '.join(Literals)}.")
    sources = Sources(entities=entities, relations=relations, aliases=aliases)
    with built(files, out, sources=sources, literals=Literals(literals), shown=_progress(quiet, "triples")) as kb:
        if not quiet:
            found = kb.info()
            sizes = ", ".join(f"{found[name]:,} {name}" for name in ("triples", "entities", "values", "relations", "names"))
            print(f"{_clear()}{sizes} → {out}", file=sys.stderr)


@app.command("link")
def link(
    corpus: Annotated[Path, typer.Argument(help="Text file (documents parted by blank lines), or JSONL with a text field.")],
    kb: Annotated[Path, typer.Option(help="Knowledge base directory.")],
    out: Annotated[Path, typer.Option(help="JSONL to write: each line gets its mentions.")],
    least: Annotated[int, typer.Option(help="Characters a name must have.")] = 2,
    stop: Annotated[Path | None, typer.Option(help="File of names to pass over, one a line.")] = None,
    capitalised: Annotated[bool, typer.Option("--capitalised", help="Only where the text writes a capital letter.")] = False,
    surest: Annotated[float, typer.Option(help="Pass over a name whose likeliest meaning is less likely than this.")] = 0.0,
    candidates: Annotated[bool, typer.Option("--candidates", help="Write the names too, for models that choose among meanings.")] = False,
    quiet: Quiet = False,
) -> None:
    """Find the entities that a text names: the longest name at each place, by its likeliest meaning."""
    from plume.data.lines import read_lines
    from plume.kb.link import Linker, LinkOptions
    from plume.kb.linked import beside, link_corpus
    from plume.kb.store import KnowledgeBase

    names = [] if stop is None else [line for _, line in read_lines(stop, longest=None) if line.strip()]
    with KnowledgeBase.open(kb) as opened:
        linker = Linker(opened, LinkOptions(least=least, stop=names, capitalised=capitalised, surest=surest))
        made = link_corpus(corpus, out, linker, candidates=candidates, shown=_progress(quiet, "documents"))
    if not quiet:
        share = f"{1000 * made.mentions / max(made.characters, 1):.1f} per 1,000 characters, {made.ambiguous:,} ambiguous"
        print(f"{_clear()}{made.documents:,} documents, {made.mentions:,} mentions ({share}) → {out}, {beside(out).name}", file=sys.stderr)


@app.command("vectors")
def vectors(
    kb: Folder,
    out: Annotated[Path | None, typer.Option(help="Another directory to write to than the knowledge base's.")] = None,
    dimension: Annotated[int, typer.Option(help="Of each vector.")] = 100,
    epochs: Annotated[int, typer.Option(help="Passes over the triples.")] = 100,
    margin: Annotated[float, typer.Option(help="By which a right triple must be nearer than a corrupted one.")] = 6.0,
    distance: Annotated[str, typer.Option(help="l1 or l2.")] = "l1",
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 0.01,
    negatives: Annotated[int, typer.Option(help="Corrupted triples a right one.")] = 5,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    measured: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Hold triples out first, and say how well they are found.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Learn a vector for each entity from the triples (TransE), for the models that read them."""
    from plume.core.errors import PlumeError
    from plume.static.kb_vectors import VECTORS, learn_vectors
    from plume.static.transe import TransE, TripleDistance

    if distance not in tuple(TripleDistance):
        raise PlumeError(f"--distance {distance}: choose from {', '.join(TripleDistance)}.")
    part = TransE(dimension=dimension, epochs=epochs, margin=margin, distance=TripleDistance(distance), rate=rate, negatives=negatives)

    def show(share: float, loss: float) -> None:
        if sys.stderr.isatty() and not quiet:
            print(f"\r{share:.0%}, loss {loss:.3f}", end="", file=sys.stderr, flush=True)

    found = learn_vectors(kb, part, seed=seed, out=out, measured=measured, progress=show)
    if quiet:
        return
    if found is not None:
        ranks, plain = found.vectors, found.frequency
        print(
            f"{_clear()}{found.held_out:,} triples held out: mean reciprocal rank {ranks.mean_reciprocal:.3f}, "
            f"in the first ten {ranks.hits_at_10:.1%} "
            f"(most frequent: {plain.mean_reciprocal:.3f}, {plain.hits_at_10:.1%}; chance {found.chance:.4f})",
            file=sys.stderr,
        )
    print(f"{_clear()}vectors of {dimension} dimensions → {(kb if out is None else out) / VECTORS}", file=sys.stderr)


@app.command("add")
def add(
    kb: Folder,
    triple: Given,
    literal: IsValue = False,
    new: Annotated[bool, typer.Option("--new", help="Make entities and relations that it lacks.")] = False,
    quiet: Quiet = False,
) -> None:
    """Add a triple."""
    from plume.kb.store import KnowledgeBase

    with KnowledgeBase.open(kb) as opened:
        added = opened.add([_edit(triple, literal)], new=new)
        if not quiet:
            print(f"{'added' if added else 'was there already'}; {opened.count:,} triples", file=sys.stderr)


@app.command("remove")
def remove(kb: Folder, triple: Given, literal: IsValue = False, quiet: Quiet = False) -> None:
    """Remove a triple; its entities stay."""
    from plume.kb.store import KnowledgeBase

    with KnowledgeBase.open(kb) as opened:
        opened.remove([_edit(triple, literal)])
        if not quiet:
            print(f"removed; {opened.count:,} triples left", file=sys.stderr)


@app.command("info")
def info(
    kb: Folder,
    entity: Annotated[str | None, typer.Argument(help="An entity, of which everything is shown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a knowledge base holds, or all triples of an entity."""
    from plume.kb.store import KnowledgeBase

    with KnowledgeBase.open(kb) as opened:
        if entity is None:
            found = opened.info()
            lines = [f"{name:<12} {value:,}" if isinstance(value, int) else f"{name:<12} {value}" for name, value in found.items()]
            print(json.dumps(found, ensure_ascii=False) if as_json else "\n".join(lines))
            return
        meant = [one.entity for one in opened.candidates(entity)] or [opened.id_of(entity)]
        for number in meant:
            said = [opened.said(fact) for fact in (*opened.facts(number), *opened.facts_about(number))]
            if as_json:
                print(json.dumps({"id": number, "name": opened.name_of(number), "triples": said}, ensure_ascii=False))
            else:
                print("\n".join([f"{opened.name_of(number)} ({number})", *("  " + "  |  ".join(fact) for fact in said)]))


def _edit(triple: list[str], literal: bool) -> Any:
    from plume.core.errors import PlumeError
    from plume.kb.store import Edit

    if len(triple) != 3:
        raise PlumeError(f"A triple is a subject, a relation and an object; {len(triple)} were given: put names with spaces in quotes.")
    return Edit(subject=triple[0], relation=triple[1], object=triple[2], literal=literal)


def _clear() -> str:
    return "\r" if sys.stderr.isatty() else ""


def _progress(quiet: bool, what: str) -> Any:
    def show(count: int) -> None:
        if sys.stderr.isatty() and not quiet:
            print(f"\r{count:,} {what}", end="", file=sys.stderr, flush=True)

    return show
