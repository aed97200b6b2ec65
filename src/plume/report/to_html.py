"""Sections as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from plume.report.blocks import Block, Bullets, Code, ExampleBlock, Facts, Figure, Fold, Paragraph, Section
from plume.report.markup import Markup, element, joined
from plume.report.tables import table_html


def section_html(section: Section, level: int = 2) -> Markup:
    """The section with its heading, and those within it."""
    return element(
        "section",
        element(f"h{level}", section.title),
        *(block_html(block) for block in section.blocks),
        *(section_html(inner, level + 1) for inner in section.sections),
        id=section.anchor,
        class_=section.class_ or None,
    )


def contents_html(sections: Sequence[Section], label: str) -> Markup:
    """Links to the sections."""
    return element("nav", _entries(sections), aria_label=label, class_="contents")


def _entries(sections: Sequence[Section]) -> Markup:
    items = []
    for section in sections:
        link = element("a", section.title, href=f"#{section.anchor}")
        items.append(element("li", link, _entries(section.sections) if section.sections else None))
    return element("ul", *items)


def block_html(block: Block) -> Markup:
    """One block."""
    match block:
        case Paragraph():
            before, word, after = block.text.partition(block.strong) if block.strong else (block.text, "", "")
            return element("p", before, element("strong", word) if word else None, after, class_=block.class_ or None)
        case Bullets():
            return element("ul", *(element("li", item) for item in block.items), class_="sentences")
        case Figure():
            return element("figure", block.drawing, element("figcaption", block.caption, " " if block.key else None, block.key))
        case Code():
            box = element("pre", element("code", block.text), tabindex="0", role="region", aria_label=block.label)
            return joined(element("p", block.label, class_="label"), box)
        case Facts():
            return element("dl", *(_fact(fact.name, fact.value, fact.note) for fact in block.items), class_="facts")
        case ExampleBlock():
            return _example(block)
        case Fold():
            inner = [block_html(each) for each in block.blocks]
            return element("details", element("summary", block.summary), *inner, open="" if block.is_open else None)
    return table_html(block)


def _fact(name: str, value: str, note: str) -> Markup:
    return element("div", element("dt", name), element("dd", element("b", value), element("span", note) if note else None))


def _example(example: ExampleBlock) -> Markup:
    answers = []
    for answer in example.answers:
        word = example.right_word if answer.right else example.wrong_word
        sign = element("span", "✓" if answer.right else "✗", role="img", aria_label=word, title=word, class_="sign")
        said = element("span", answer.text or "–", class_="said")
        answers.append(
            element(
                "li",
                sign,
                " ",
                said,
                " ",
                element("span", ", ".join(answer.models), class_="who"),
                class_="right" if answer.right else "wrong",
            )
        )
    return element(
        "div",
        element("p", example.heading, class_="row"),
        *(element("blockquote", text) for text in example.texts),
        element("p", element("span", example.gold_name, class_="row"), " ", element("strong", example.gold), class_="gold"),
        element("ul", *answers, class_="answers"),
        class_="example",
    )
