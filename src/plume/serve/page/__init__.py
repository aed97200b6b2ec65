"""The workbench at /: its files, read once. No path ever comes from a request: what is not in `FILES` is not there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from plume.report.palette import palette

_HERE = Path(__file__).parent
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_FRAME = "view.html"  # in which a view is shown: a page of plume.view, whose style and scripts stand in it
_SELF = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_INSIDE = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True)
class PageFile:
    """One file, as it is sent."""

    name: str
    content: bytes

    @property
    def type(self) -> str:
        """What a browser is told that it is."""
        return _TYPES[Path(self.name).suffix]

    @cached_property
    def tag(self) -> str:
        """Changes with the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:20]}"'

    @property
    def headers(self) -> dict[str, str]:
        """What the browser itself shall refuse: anything of another host; and of a view, to be anything but a picture."""
        return {
            "Content-Security-Policy": _INSIDE if self.name == _FRAME else _SELF,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
            "ETag": self.tag,
        }


def switchable(style: str) -> str:
    """Colours that follow the system unless the page says otherwise: data-theme is light or dark.

    >>> print(switchable(":root { a } @media (prefers-color-scheme: dark) { :root { b } }"))
    :root { a } @media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { b } }
    :root[data-theme=light] { color-scheme: light; }
    :root[data-theme=dark] { color-scheme: dark; b }
    """
    dark = re.search(r"@media \(prefers-color-scheme: dark\)\s*\{\s*:root\s*\{(.*?)\}\s*\}", style, flags=re.DOTALL)
    assert dark is not None, "the palette has dark colours"
    inside = dark[0].replace(":root", ":root:not([data-theme=light])")
    return (
        f"{style.replace(dark[0], inside).strip()}\n:root[data-theme=light] {{ color-scheme: light; }}\n"
        f":root[data-theme=dark] {{ color-scheme: dark; {dark[1].strip()} }}"
    )


def _files() -> dict[str, PageFile]:
    found = {path.name: path.read_bytes() for path in sorted(_HERE.iterdir()) if path.suffix in _TYPES}
    found["palette.css"] = switchable(str(palette())).encode()
    return {("/" if name == "index.html" else f"/page/{name}"): PageFile(name, content) for name, content in found.items()}


FILES: Mapping[str, PageFile] = _files()
