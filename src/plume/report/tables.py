"""A table once, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.report.markup import Child, Markup, element, joined


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """A heading, and how the cells below it are set."""

    heading: str
    number: bool = False  # to the right, in figures of one width
    wraps: bool = False  # long text, that may break
    about: str = ""  # shown when pointed at


@dataclass(frozen=True)
class TableCell:
    """A text, and how it is set."""

    text: str
    quiet: str = ""  # a margin, in a lighter voice after the text
    sort: float | None = None
    strong: bool = False
    link: str = ""
    spoken: str = ""  # what a symbol means, for those who listen or point
    code: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows that stay together when a table is sorted."""

    rows: tuple[tuple[TableCell, ...], ...]
    heading: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A caption, columns, and rows in groups."""

    caption: str
    columns: tuple[TableColumn, ...]
    groups: tuple[Group, ...]
    sortable: bool = False
    class_: str = ""

    @property
    def rows(self) -> list[tuple[TableCell, ...]]:
        """Of all groups."""
        return [row for group in self.groups for row in group.rows]


def rows_of(rows: Sequence[tuple[TableCell, ...]]) -> tuple[Group, ...]:
    """One group, without a heading."""
    return (Group(rows=tuple(rows)),)


def table_html(table: Table) -> Markup:
    """The table in a box of its own, which scrolls sideways where the screen is narrow."""
    head = element("thead", element("tr", *(_heading(column) for column in table.columns)))
    bodies = [_body(group, table.columns) for group in table.groups if group.rows]
    whole = element(
        "table", element("caption", element("span", table.caption)), head, *bodies, class_="sortable" if table.sortable else None
    )
    # A box that scrolls must be reachable by keyboard.
    return element("div", whole, class_=f"scroll {table.class_}".strip(), tabindex="0", role="region", aria_label=table.caption)


def _heading(column: TableColumn) -> Markup:
    return element("th", column.heading, scope="col", class_=_kind(column), title=column.about or None)


def _kind(column: TableColumn) -> str | None:
    return "number" if column.number else "wraps" if column.wraps else None


def _body(group: Group, columns: tuple[TableColumn, ...]) -> Markup:
    title = None
    if group.heading:
        title = element("tr", element("th", group.heading, colspan=len(columns), scope="rowgroup"), class_="group")
    return element("tbody", title, *(_row(row, columns) for row in group.rows))


def _row(row: tuple[TableCell, ...], columns: tuple[TableColumn, ...]) -> Markup:
    first, *rest = [
        _cell(cell, column, "th" if place == 0 else "td") for place, (cell, column) in enumerate(zip(row, columns, strict=True))
    ]
    return element("tr", first, *rest)


def _cell(cell: TableCell, column: TableColumn, name: str) -> Markup:
    scope = "row" if name == "th" else None
    return element(name, content(cell), scope=scope, class_=_kind(column), data_sort=None if cell.sort is None else repr(float(cell.sort)))


def content(cell: TableCell) -> Markup:
    """A cell as HTML, without the cell around it."""
    inner: Child = cell.text
    if cell.spoken:
        inner = element("span", cell.text, role="img", aria_label=cell.spoken, title=cell.spoken)
    if cell.code:
        inner = element("code", inner)
    if cell.link:
        inner = element("a", inner, href=cell.link)
    if cell.strong:
        inner = element("strong", inner)
    return joined(inner, element("small", f" {cell.quiet}") if cell.quiet else None)


def table_markdown(table: Table) -> str:
    """A table with a line a row; a group's heading is a row of its own."""
    lines = [_line([column.heading for column in table.columns])]
    lines.append(_line(["---:" if column.number else "---" for column in table.columns], escape=False))
    for group in table.groups:
        if group.heading and group.rows:
            lines.append(_line([f"*{plain(group.heading)}*"] + [""] * (len(table.columns) - 1), escape=False))
        lines += [_line([_in_markdown(cell) for cell in row], escape=False) for row in group.rows]
    return f"**{plain(table.caption)}**\n\n" + "\n".join(lines) + "\n"


def _line(cells: list[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(plain(cell) if escape else cell for cell in cells) + " |"


def _in_markdown(cell: TableCell) -> str:
    text = plain(cell.text)
    if cell.code and text:
        text = f"`{cell.text}`".replace("|", "\\|").replace("\n", " ")
    if cell.link.startswith("http"):
        text = f"[{text}]({cell.link})"
    if cell.strong and text:
        text = f"**{text}**"
    return f"{text} {plain(cell.quiet)}".strip()


def plain(text: str) -> str:
    """Text that Markdown takes for nothing but text."""
    for sign in "\\`*_[]<>#|":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
