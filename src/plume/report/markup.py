"""HTML and SVG as nested calls. Whatever is a plain string is escaped, so no text of a study can become markup."""

from __future__ import annotations

import html

_VOID = {"meta", "br", "line", "path", "circle", "rect", "polygon", "polyline", "use"}
_SVG = {"line", "path", "circle", "rect", "polygon", "polyline", "use"}  # these close themselves


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | None


def element(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """One element; `class_` and `aria_label` are written class and aria-label, an attribute that is None is left out.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(f' {_attribute(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    if name in _VOID and not children:
        return Markup(f"<{name}{written}{'/' if name in _SVG else ''}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """One after the other, plain strings escaped."""
    return Markup("".join(child if isinstance(child, Markup) else html.escape(child) for child in children if child is not None))


def hidden(text: str) -> Markup:
    """For those who listen to the page."""
    return element("span", text, class_="hidden")


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key != "viewBox" else key


def _value(value: str | float) -> str:
    return f"{value:.5g}" if isinstance(value, float) else html.escape(str(value))
