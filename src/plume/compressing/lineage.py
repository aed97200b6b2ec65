"""What a compressed model came from, by which steps, and what each cost: lineage.json, and a section of the card."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plume.core.files import read_json, write_json, write_text
from plume.core.timing import PredictionSpeed
from plume.train.card import CARD, table
from plume.train.progress import duration

LINEAGE = "lineage.json"
_HEADING = "## Made small"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Of a model directory: what is stored, and how good it is on dev."""

    parameters: int
    bytes: int  # of the weights on disk
    scores: dict[str, float] = field(default_factory=dict)  # by task's metric; empty where there are no labelled rows
    speed: PredictionSpeed | None = None  # from text to answer; None: not timed
    runtime: str = "torch"  # what answered


@dataclass(frozen=True, kw_only=True)
class TimedOn:
    """The machine that speeds are of: those of two machines say nothing about two models."""

    processor: str
    instructions: tuple[str, ...]  # by which 8-bit weights gain: VNNI, AMX
    threads: int

    def __str__(self) -> str:
        told = [*self.instructions, f"{self.threads} thread{'s' if self.threads > 1 else ''}"]
        return f"{self.processor} ({', '.join(told)})"


@dataclass(frozen=True, kw_only=True)
class CompressionStep:
    """One compression: how, what it took, and the model before and after."""

    method: str
    settings: str  # the declaration, in short
    seconds: float
    before: Figures
    after: Figures
    timed_on: TimedOn | None = None
    text: tuple[str, ...] = ()  # names of the plain texts that it was fed

    @property
    def how(self) -> str:
        """Method, settings and text, as the card has them."""
        return f"{self.method}: `{self.settings}`" + (f", with {', '.join(self.text)}" if self.text else "")


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The models that it began with, by name, and every step since."""

    origin: tuple[str, ...]
    steps: tuple[CompressionStep, ...]


def read_lineage(folder: Path) -> Lineage | None:
    """Of a model that was compressed."""
    if not (folder / LINEAGE).exists():
        return None
    told: dict[str, Any] = read_json(folder / LINEAGE, "what a compressed model came from")
    return Lineage(origin=tuple(told["origin"]), steps=tuple(_step(step) for step in told["steps"]))


def _step(told: dict[str, Any]) -> CompressionStep:
    figures = {name: figures_from(told[name]) for name in ("before", "after")}
    machine = told.get("timed_on")
    timed_on = machine and TimedOn(**{**machine, "instructions": tuple(machine["instructions"])})
    return CompressionStep(**{**told, **figures, "timed_on": timed_on, "text": tuple(told.get("text", ()))})


def figures_from(told: dict[str, Any]) -> Figures:
    """What a file says of a model; files of earlier versions know no speed."""
    speed = told.get("speed")
    return Figures(**{**told, "speed": speed and PredictionSpeed(**speed)})


def write_lineage(folder: Path, sources: list[Path], step: CompressionStep) -> None:
    """What the source's own lineage says, and this step; the card gets a section of it."""
    before = read_lineage(sources[0]) if len(sources) == 1 else None
    made = Lineage(
        origin=before.origin if before else tuple(source.resolve().name for source in sources),
        steps=(*(before.steps if before else ()), step),
    )
    write_json(folder / LINEAGE, asdict(made))
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.exists() else f"# {folder.resolve().name}\n"
    write_text(card, _without(text) + in_words(made))


def in_words(lineage: Lineage) -> str:
    """The section of the card."""
    rows = [
        (number, step.how, _change(step.before.parameters, step.after.parameters),
         _change(step.before.bytes, step.after.bytes), _scores(step), *_speeds(step.before, step.after), duration(step.seconds))
        for number, step in enumerate(lineage.steps, 1)
    ]  # fmt: skip
    machines = list(dict.fromkeys(str(step.timed_on) for step in lineage.steps if step.timed_on is not None))
    timed = f"\nSpeed from text to answer, by {' and '.join(machines)}.\n" if machines else ""
    return (
        f"\n{_HEADING}\n\nFrom {', '.join(lineage.origin)}.\n\n"
        + table(("step", "how", "parameters", "bytes", "dev score", "one text (ms)", "texts/s", "took"), rows)
        + "\n"
        + timed
    )


def _speeds(before: Figures, after: Figures) -> tuple[str, str]:
    if before.speed is None or after.speed is None:
        return "–", "–"
    latency = f"{before.speed.p50:.3g} → {after.speed.p50:.3g} (÷{before.speed.p50 / after.speed.p50:.1f})"
    return (
        latency,
        f"{before.speed.per_second:,.0f} → {after.speed.per_second:,.0f} (×{after.speed.per_second / before.speed.per_second:.1f})",
    )


def _change(before: int, after: int) -> str:
    times = f" (÷{before / after:.1f})" if after and before > after else ""
    return f"{before:,} → {after:,}{times}"


def _scores(step: CompressionStep) -> str:
    known = [name for name in step.after.scores if name in step.before.scores]
    return ", ".join(f"{name} {step.before.scores[name]:.4f} → {step.after.scores[name]:.4f}" for name in known) or "–"


def _without(card: str) -> str:
    """The card without such a section, which the new one replaces."""
    kept, _, rest = card.partition(f"\n{_HEADING}\n")
    after = rest.partition("\n## ")
    return kept.rstrip() + "\n" + (f"\n## {after[2]}" if after[2] else "")


def compared(before: Figures, after: Figures) -> list[str]:
    """Two models, a line a figure."""
    lines = [f"parameters  {_change(before.parameters, after.parameters)}", f"bytes       {_change(before.bytes, after.bytes)}"]
    both = [name for name in after.scores if name in before.scores]
    scores = [(name, before.scores[name], after.scores[name]) for name in both]
    lines += [f"dev {name}  {old:.4f} → {new:.4f}{_share(old, new)}" for name, old, new in scores]
    if before.speed is None or after.speed is None:
        return lines
    runtime = f", by {after.runtime}" if after.runtime != before.runtime else ""
    latency, throughput = _speeds(before, after)
    return [*lines, f"one text    {latency} ms{runtime}", f"throughput  {throughput} texts/s{runtime}"]


def _share(before: float, after: float) -> str:
    return f" ({after / before:.1%})" if before > 0 else ""
