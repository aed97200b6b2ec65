"""The model view: every head of every layer at once (BertViz's model view)."""

from __future__ import annotations

from plume.view.page import ViewPanel
from plume.view.words_attention import ATTENTION

PANEL = ViewPanel(
    name="model",
    words={
        **ATTENTION,
        "title": ("All layers and heads", "所有层与头"),
        "about": (
            "A row for each layer, a picture for each head: tokens that look from top to bottom, tokens looked at from left to right. "
            "Click one to enlarge it.",
            "每行一层，每图一个头：自上而下是“看”的词元，自左而右是“被看”的词元。点击可放大。",
        ),
        "matrix": ("matrix", "矩阵"),
        "lines_style": ("lines", "连线"),
        "style": ("as", "样式"),
        "close": ("Close", "关闭"),
        "earlier": ("Previous head", "上一个头"),
        "later": ("Next head", "下一个头"),
        "row_of_heads": ("Heads of layer {layer}", "第 {layer} 层的各个头"),
    },
)
