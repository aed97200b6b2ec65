"""Draws docs/images/rooms.svg: the rooms in the order in which they may import each other, with their floors, from pyproject.toml and the folders.

python docs/make_rooms.py
"""

from __future__ import annotations

import ast
import html
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "plume"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
WIDTH, ROW, GAP, LEFT = 980, 42, 6, 16
BANDS = {  # text and numbers, networks, training; what is in none of them is what people see
    "#e8f3ee": ("core", "noise", "text", "data", "embedded", "kb", "readers", "metrics"),
    "#e9eefb": ("vectors", "nn", "static", "heads", "objectives", "model", "recipes"),
    "#fdf1e0": ("hf", "train", "tuning", "tasks", "sentences"),
}


def layers() -> list[list[str]]:
    """From the top to the bottom; rooms side by side do not see each other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [one for one in project["tool"]["importlinter"]["contracts"] if one["name"].startswith("Rooms")]
    return [[name.strip().removeprefix("plume.") for name in layer.split("|")] for layer in contract["layers"]]


def about(room: str) -> str:
    """The first clause of what its folder, or file, says of itself."""
    path = SOURCE / room / "__init__.py"
    said = ast.get_docstring(ast.parse((path if path.exists() else SOURCE / f"{room}.py").read_text(encoding="utf-8"))) or ""
    return said.split("\n")[0].split(". ")[0].rstrip(".")


def floors(room: str) -> list[str]:
    return sorted(path.parent.name for path in (SOURCE / room).glob("*/__init__.py"))


def box(room: str, *, left: float, top: float, width: float) -> str:
    fill = next((colour for colour, rooms in BANDS.items() if room in rooms), "#f6eaf4")
    shown, most = about(room), int(width / 6.4)
    shown = shown if len(shown) <= most else shown[: most - 1].rsplit(" ", 1)[0] + " …"
    names = "  ·  ".join(floors(room))
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{ROW}" rx="6" fill="{fill}" stroke="#9aa7bd"/>'
        f'<text x="{left + 10}" y="{top + 17}" font-size="14" font-weight="600" fill="#14213d">{room}'
        f'<tspan dx="10" font-size="11" font-weight="400" fill="#5b6b86">{html.escape(names)}</tspan></text>'
        f'<text x="{left + 10}" y="{top + 33}" font-size="12" fill="#33415c">{html.escape(shown)}</text>'
    )


def picture() -> str:
    """As SVG."""
    rows = layers()
    height = len(rows) * (ROW + GAP) + 34
    parts = []
    for number, rooms in enumerate(rows):
        width = (WIDTH - 2 * LEFT - GAP * (len(rooms) - 1)) / len(rooms)
        top = 26 + number * (ROW + GAP)
        parts += [box(room, left=LEFT + place * (width + GAP), top=top, width=width) for place, room in enumerate(rooms)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" role="img" aria-label="The rooms of plume">'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<text x="{LEFT}" y="17" font-size="12" fill="#5b6b86">A room imports only rooms below it; make check enforces it. '
        "Beside a name: its floors.</text>" + "".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is written")
