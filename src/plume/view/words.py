"""What a page of views says, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from plume.core.errors import PlumeError, suggest

LANGUAGES = ("en", "zh")
Words = Mapping[str, tuple[str, str]]  # key: English, Chinese

FRAME: Words = {
    "made_by": ("Made by plume {version}. This page needs no network.", "由 plume {version} 生成，可离线打开。"),
    "no_script": ("The views are drawn by a script; switch scripts on to see them.", "这些图由脚本绘制，请启用 JavaScript。"),
    "contents": ("Views", "视图"),
    "failed": ("This view could not be drawn: {reason}", "无法绘制此视图：{reason}"),
}


def in_language(words: Words, language: str) -> dict[str, str]:
    """The texts of one language, by key."""
    if language not in LANGUAGES:
        raise PlumeError(f"The views do not speak '{language}': {suggest(language, LANGUAGES)}.")
    place = LANGUAGES.index(language)
    return {key: text[place] for key, text in words.items()}
