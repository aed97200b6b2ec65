"""The page at /docs: every endpoint, read from /openapi.json. No script, style or font comes from elsewhere."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).with_name("docs.html").read_text(encoding="utf-8")
