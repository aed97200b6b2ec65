"""The head view: lines between the tokens of one layer, heads told apart by colour (BertViz's head view)."""

from __future__ import annotations

from plume.view.page import ViewPanel
from plume.view.words_attention import ATTENTION

PANEL = ViewPanel(
    name="head",
    words={
        **ATTENTION,
        "title": ("Heads", "注意力头"),
        "about": (
            "Each line goes from a token that looks (left) to one that is looked at (right); the stronger, the more attention. "
            "Point at a token to see it alone, click to hold it. Click a colour to switch a head on or off, double-click to see it alone.",
            "每条线从“看”的词元（左）连到“被看”的词元（右），颜色越深，注意力越大。指向某个词元可单独查看，点击可固定；点击色块可显示或隐藏某个头，双击则只看这一个头。",
        ),
        "from": ("lines from", "显示阈值"),
        "all": ("all", "全部"),
        "none": ("none", "全不选"),
        "lines": ("Attention between tokens, {place}, layer {layer}", "词元之间的注意力，{place}，第 {layer} 层"),
    },
)
