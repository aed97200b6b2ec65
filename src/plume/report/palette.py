"""The colours of every page that plume writes, light and dark."""

from __future__ import annotations

from pathlib import Path

from plume.report.markup import Markup


def palette() -> Markup:
    """As custom properties, for a style element."""
    return Markup(Path(__file__).with_name("palette.css").read_text(encoding="utf-8"))
