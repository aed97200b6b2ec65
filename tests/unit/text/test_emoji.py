import pytest

from plume.text.emoji import emoji_types, without_emoji


@pytest.mark.parametrize(("text", "found", "left"), [
    ("no emoji, only © 2019 ™ → ★ ✓ 1 # * ♪", (), "no emoji, only © 2019 ™ → ★ ✓ 1 # * ♪"),
    ("❤ ❤️ ❤︎", ("❤",), "❤"),  # as text, by the selector
    ("👍🏻👍🏿", ("👍",), ""),
    ("👨‍👩‍👧 family", ("👨‍👩‍👧",), "family"),
    ("🤷🏽‍♀️ 🤷‍♀", ("🤷‍♀",), ""),
    ("🇩🇪🇨🇳 flags", ("🇩🇪", "🇨🇳"), "flags"),
    ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 won", ("🏴󠁧󠁢󠁥󠁮󠁧󠁿",), "won"),
    ("press 1️⃣ or ©️", ("1⃣", "©"), "press or"),
    ("中文😀很好。", ("😀",), "中文 很好。"),
    ("☀☕⭐🫠", ("☀", "☕", "⭐", "🫠"), ""),
])  # fmt: skip
def test_kinds_and_rest(text, found, left):
    assert emoji_types(text) == found
    assert without_emoji(text).replace("\ufe0e", "") == left
