"""The predictions view: a token is hidden, and every layer guesses (the "logit lens")."""

from __future__ import annotations

from plume.view.page import ViewPanel

PANEL = ViewPanel(
    name="predictions",
    words={
        "title": ("Predictions by layer", "逐层预测"),
        "about_hidden": (
            "Click a token to mask it: the table shows what each layer would put there, if the model's head read that layer. "
            "Every token was masked by itself, with all others in place.",
            "点击一个词元将其遮盖，表中给出各层的猜测：即让模型的预测头直接读取该层时的结果。每个词元都是单独遮盖的，其余保持原样。",
        ),
        "about_next": (
            "Click a token: the table shows what each layer would write there after reading only what stands before it, "
            "if the model's head read that layer.",
            "点击一个词元，表中给出各层在只读过它前面的内容之后会写什么：即让模型的预测头直接读取该层时的结果。",
        ),
        "about_decoder": (
            "The model has read the first text and writes the second. "
            "Click a token: the table shows what each layer of the decoder would write there.",
            "模型读完第一段文本后写出第二段。点击一个词元，表中给出解码器各层会写什么。",
        ),
        "norm": (
            "Layers below the last go through the network's final norm first, as the last one does.",
            "最后一层之前的各层与最后一层一样，先经过网络末端的归一化。",
        ),
        "read": ("It has read", "已读文本"),
        "written": ("It writes", "写出文本"),
        "text": ("Text", "文本"),
        "layer": ("layer", "层"),
        "embedding": ("embedding", "词向量"),
        "layer_number": ("{number}", "{number}"),
        "guesses": ("guesses", "猜测"),
        "right": ("“{token}”", "“{token}”"),
        "rank": ("rank", "名次"),
        "here": ("What stands here: “{token}”", "此处原词：“{token}”"),
        "blank": ("A blank", "空格"),
        "following": ("What comes next", "接下来的词"),
        "grid": ("The best guess of every layer", "各层的最佳猜测"),
        "grid_about": (
            "A column for each token; the stronger the colour, the surer. Framed: the guess is the token that stands there.",
            "每列一个词元，颜色越深越有把握；有框表示猜中原词。",
        ),
        "sure": (
            "“{guess}”: {share} at {layer}; “{token}” is number {rank}, {own}",
            "“{guess}”：{share}（{layer}）；“{token}”排第 {rank}，{own}",
        ),
        "sure_alone": ("“{guess}”: {share} at {layer}", "“{guess}”：{share}（{layer}）"),
    },
)
