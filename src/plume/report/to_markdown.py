"""Sections as Markdown: all but the charts, whose numbers the tables have."""

from __future__ import annotations

from plume.report.blocks import Block, Bullets, Code, ExampleBlock, Facts, Figure, Fold, Paragraph, Section
from plume.report.tables import plain, table_markdown


def section_markdown(section: Section, level: int = 2) -> str:
    """The section with its heading, and those within it."""
    parts = [f"{'#' * level} {plain(section.title)}\n"]
    parts += [block_markdown(block, level) for block in section.blocks]
    parts += [section_markdown(inner, level + 1) for inner in section.sections]
    return "\n".join(part for part in parts if part)


def block_markdown(block: Block, level: int = 2) -> str:
    """One block; a chart is left out."""
    match block:
        case Paragraph():
            text, word = plain(block.text), plain(block.strong)
            return (text.replace(word, f"**{word}**", 1) if word else text) + "\n"
        case Bullets():
            return "".join(f"- {plain(item)}\n" for item in block.items)
        case Figure():
            return ""
        case Code():
            fence = "`" * max(3, 1 + _longest_run(block.text))
            return f"{plain(block.label)}\n\n{fence}\n{block.text.rstrip()}\n{fence}\n"
        case Facts():
            return "".join(f"- {plain(fact.name)}: **{plain(fact.value)}** {plain(fact.note)}".rstrip() + "\n" for fact in block.items)
        case ExampleBlock():
            return _example(block)
        case Fold():
            inner = "\n".join(made for made in (block_markdown(each, level + 1) for each in block.blocks) if made)
            return f"{'#' * (level + 1)} {plain(block.summary)}\n\n{inner}" if inner else ""
    return table_markdown(block)


def _example(example: ExampleBlock) -> str:
    lines = [f"- {plain(example.heading)}: {' ‖ '.join(plain(text) for text in example.texts)}"]
    lines.append(f"  - {plain(example.gold_name)} **{plain(example.gold)}**")
    lines += [
        f"  - {'✓' if answer.right else '✗'} {plain(answer.text) or '–'}: {plain(', '.join(answer.models))}" for answer in example.answers
    ]
    return "\n".join(lines) + "\n"


def _longest_run(text: str) -> int:
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    return longest
