"""Words that all views of attention share."""

from __future__ import annotations

from plume.view.words import Words

ATTENTION: Words = {
    "layer": ("layer", "层"),
    "head": ("head", "头"),
    "attention": ("attention", "注意力"),
    "texts": ("tokens", "词元"),
    "every": ("all", "全部"),
    "a_a": ("first → first", "第一句 → 第一句"),
    "a_b": ("first → second", "第一句 → 第二句"),
    "b_a": ("second → first", "第二句 → 第一句"),
    "b_b": ("second → second", "第二句 → 第二句"),
    "place_self": ("self-attention", "自注意力"),
    "place_queries": ("query stream (left to right)", "查询流（从左到右）"),
    "place_encoder": ("encoder", "编码器"),
    "place_decoder": ("decoder", "解码器"),
    "place_cross": ("decoder → encoder", "解码器 → 编码器"),
    "one_head": ("layer {layer}, head {head}", "第 {layer} 层，第 {head} 个头"),
    "remembered": ("memory", "记忆"),
    "model": ("model", "模型"),
}
