"""plume doctor"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from plume.data.doctor import Examination

# Characters per token of an 8,000-token vocabulary, roughly; only to estimate epochs.
_LATIN_A_TOKEN, _HAN_A_TOKEN = 4.0, 1.0


def run(
    corpus: Annotated[list[Path], typer.Argument(help="Text or JSONL, plain or .gz, or a folder; or pairs: a .tsv or two aligned files.")],
    probe: Annotated[bool, typer.Option(help="Measure the training speed of this machine (a few seconds).")] = True,
) -> None:
    """Inspect a corpus: statistics, problems, and which model size and budget it suits."""
    from rich.console import Console

    from plume.data.corpus import Corpus
    from plume.data.doctor import examine
    from plume.data.pair_files import are_pairs

    console = Console(highlight=False, soft_wrap=True)
    if are_pairs(corpus):
        _pairs(console, corpus)
        return
    with Console(stderr=True).status("reading …"):
        found = examine(corpus)
    _counts(console, found)
    if found.warnings:
        console.print("\n[bold]Problems[/bold]")
    for warning in found.warnings:
        console.print(f"- {warning}", markup=False)
    if found.blobs:
        console.print("\n[bold]Long runs without a space[/bold] (encoded files or damaged lines?); a model learns nothing from them")
    for blob in found.blobs:
        console.print(f"  {blob.file}:{blob.line}: {blob.length:,} characters", markup=False)
    if found.undecodable_lines:
        console.print("\n[bold]Lines that are not UTF-8[/bold]" + (" (first ten)" if found.undecodable_lines > 10 else ""))
        for bad in found.undecodable:
            console.print(f"  {bad.file}:{bad.line}, byte {bad.column}: 0x{bad.byte:02x}, looks like {bad.encoding}", markup=False)
    else:
        Corpus(corpus).require_trainable()
    if probe:
        _advice(console, found)


def _pairs(console: Console, corpus: list[Path]) -> None:
    from rich.table import Table

    from plume.data.pair_doctor import examine_pairs

    found = examine_pairs(corpus)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("pairs", f"{found.pairs:,}"),
        ("languages", " and ".join(found.languages)),
        ("words per side", f"{found.words[0]:.1f} and {found.words[1]:.1f}"),
        ("duplicates", f"{found.duplicates:,}"),
        ("identical sides", f"{found.same:,}"),
        ("implausible length ratio", f"{found.unlikely:,}"),
    ):
        table.add_row(name, value)
    console.print(table)
    for warning in found.warnings:
        console.print(f"- {warning}", markup=False)


def _counts(console: Console, found: Examination) -> None:
    from rich.table import Table

    mix = found.languages
    longest = found.longest_line
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("documents", f"{found.documents:,}"),
        ("lines", f"{found.lines:,}"),
        ("sentences", f"{found.sentences:,} ({found.sentence_length:.1f} words on average)"),
        ("words", f"{found.words:,} (a Chinese character counts as one)"),
        ("characters", f"{found.characters:,} ({found.bytes:,} bytes)"),
        (
            "languages",
            f"Chinese {mix.share(mix.han):.1%}, Latin script {mix.share(mix.latin):.1%}, other {mix.share(mix.other):.1%} of letters",
        ),
        ("duplicate lines", f"{found.duplicate_lines:,} ({found.duplicate_lines / max(found.lines, 1):.1%})"),
        ("duplicate documents", f"{found.duplicate_documents:,} ({found.duplicate_documents / max(found.documents, 1):.1%})"),
        ("longest line", f"{longest.length:,} characters ({longest.file.name}:{longest.line})" if longest else "none"),
        ("not UTF-8", f"{found.undecodable_lines:,} lines"),
        ("unigram entropy", f"{found.unigram_entropy:.2f} nats with {found.vocabulary:,} word pieces: the loss a model must beat"),
    ):
        table.add_row(name, value)
    console.print(table)


def _advice(console: Console, found: Examination) -> None:
    from rich.console import Console as Screen
    from rich.table import Table

    from plume.train.probe import advise, measure_speeds

    with Screen(stderr=True).status("measuring this machine …"):
        speeds = measure_speeds()
    latin = found.languages.share(found.languages.latin)
    tokens = int(found.characters * (latin / _LATIN_A_TOKEN + (1 - latin) / _HAN_A_TOKEN))
    console.print("\n[bold]Recommended sizes[/bold] (BERT at 128 tokens; other families are similar)")
    console.print("  " + ", ".join(f"{speed.size} {speed.tokens_a_second:,.0f}" for speed in speeds) + " tokens/s on this machine")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("budget", "size", "tokens seen", "epochs", ""):
        table.add_column(column, justify="left" if column in ("size", "") else "right")
    for advice in advise(speeds, corpus_tokens=tokens):
        note = "" if advice.enough_text else "more text would help more than more time"
        table.add_row(advice.budget, advice.size, f"{advice.tokens:,.0f}", f"{advice.passes:,.1f}", note)
    console.print(table)
