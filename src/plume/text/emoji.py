"""Emoji in text: which, and the text without them."""

from __future__ import annotations

import re

# Code points that are emoji by themselves: Unicode 16's property Emoji from U+231A on, without the plain signs (squares, arrows, circled
# letters) and those of typography (©, ™, ‼), which count only where a variation selector asks for the picture.
_PICTURES = (
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f"
    "\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1"
    "\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd"
    "\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764"
    "\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f236\U0001f238-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
_SIGNS = "©®‼⁉™ℹ↔-↙↩↪⌨⏏Ⓜ▪▫▶◀◻-◾➡⤴⤵⬅-⬇〰〽㊗㊙\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202\U0001f237"
_TONE, _PICTURE_FORM, _TEXT_FORM, _JOIN = "\U0001f3fb-\U0001f3ff", "\ufe0f", "\ufe0e", "\u200d"
_ONE = f"(?:[{_PICTURES}](?!{_TEXT_FORM})(?:{_PICTURE_FORM}|[{_TONE}])*|[{_SIGNS}]{_PICTURE_FORM})"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_NATION = "\U0001f3f4[\U000e0020-\U000e007f]+"  # England, Scotland, Wales: letters as invisible tags
_KEY = f"[0-9#*]{_PICTURE_FORM}?\u20e3"
_EMOJI = re.compile(f"{_FLAG}|{_KEY}|{_NATION}|{_ONE}(?:{_JOIN}(?:{_ONE}|[♀♂⚕⚖✈➡↔↕]{_PICTURE_FORM}?))*")
_LOOSE = re.compile(f"[{_PICTURE_FORM}{_TEXT_FORM}{_JOIN}{_TONE}]")
_SKIN_AND_FORM = re.compile(f"[{_TONE}{_PICTURE_FORM}]")


def emoji_types(text: str) -> tuple[str, ...]:
    """The different emoji of a text in the order they come; skin tones and variation selectors make no difference.

    >>> emoji_types("so good 😂😂 👍🏽 ❤️ and ❤")
    ('😂', '👍', '❤')
    """
    if text.isascii():
        return ()
    return tuple(dict.fromkeys(_SKIN_AND_FORM.sub("", found) for found in _EMOJI.findall(text)))


def without_emoji(text: str) -> str:
    """
    >>> without_emoji("so 😂 good 👍🏽")
    'so good'
    """
    if text.isascii():
        return " ".join(text.split())
    return " ".join(_LOOSE.sub("", _EMOJI.sub(" ", text)).split())
