"""Switch a head off and see what becomes of the answer, and of the attention of the others."""

from __future__ import annotations

from plume.view.page import ViewPanel
from plume.view.words_attention import ATTENTION

PANEL = ViewPanel(
    name="switch",
    words={
        **ATTENTION,
        "title": ("Switch a head off", "关闭一个头"),
        "about": (
            "Each cell is a head; its colour says what the answer loses (orange) or gains (blue) when only that head is switched off. "
            "Choose a cell to see the answer without it, and how far the attention of the other heads moves.",
            "每格是一个头，颜色表示只关闭这个头时答案的损失（橙色）或增益（蓝色）。点击某格可查看关闭后的答案，以及其他头的注意力移动了多少。",
        ),
        "kind_blank": (
            "Measured: the log-probability (nats) of the whole model's first guess for each blank.",
            "度量：完整模型对每个空的首选词的对数概率（nat）。",
        ),
        "kind_text": (
            "Measured: the log-probability (nats) of tokens of the text, each hidden in turn, in the mean.",
            "度量：依次遮住文本中的词元，其对数概率（nat）的平均值。",
        ),
        "kind_next": (
            "Measured: the log-probability (nats) of each token after those before it, in the mean; shown: the next token.",
            "度量：每个词元在其前文之后的对数概率（nat）的平均值；表中为下一个词元的预测。",
        ),
        "kind_task": ("Measured: the log-odds of the whole model's answer.", "度量：完整模型答案的对数几率。"),
        "kind_number": ("Measured: the number that the model answers.", "度量：模型给出的数值。"),
        "kind_states": (
            "Measured: the cosine between the vectors that the model makes of the text with and without the head.",
            "度量：有无该头时，模型为文本生成的向量之间的余弦。",
        ),
        "whole": ("whole model", "完整模型"),
        "off": ("without {head}", "关闭{head}"),
        "answer": ("answer", "答案"),
        "change": ("change", "变化"),
        "heads_of": ("heads of", "头属于"),
        "moved": ("How far attention moves", "注意力的移动"),
        "moved_about": (
            "The share of each head's attention that goes elsewhere, in the mean of all tokens. Earlier layers cannot change.",
            "每个头的注意力转移到别处的比例（对所有词元取平均）。更早的层不会改变。",
        ),
        "moved_none": ("Nothing that comes after it looks elsewhere.", "其后的各个头没有变化。"),
        "grid": ("Change of the answer, by layer and head", "各层各头对答案的影响"),
        "loses": ("loses", "损失"),
        "gains": ("gains", "增益"),
    },
)
