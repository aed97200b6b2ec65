"""What the guide says can be typed, can be typed; and it names every endpoint."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from plume.cli import app
from plume.serve.http.app import make_app
from plume.serve.settings import ServeSettings

ROOT = Path(__file__).parents[3]
PAGES = ("docs/serving.md", "docs/zh/serving.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_understood(page: str) -> None:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = re.findall(r"^plume serve (.*)$", text, flags=re.MULTILINE)
    assert lines
    for line in lines:
        command.make_context("serve", shlex.split(line, comments=True))
    known = {name for option in command.params for name in option.opts}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known


@pytest.mark.parametrize("page", PAGES)
def test_every_endpoint_is_named(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = make_app({}, ServeSettings()).openapi()["paths"]
    assert not [path for path in paths if path not in text and not path.startswith("/v1/models/")]


def test_the_pages_say_the_same() -> None:
    english, chinese = (re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL) for page in PAGES)
    for pattern in (r"`([^`\n]+)`", r"^#+ ", r"^\|"):
        ours, theirs = (re.findall(pattern, text, flags=re.MULTILINE) for text in (english, chinese))
        assert sorted(ours) == sorted(theirs)
