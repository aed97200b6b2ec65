"""Which heads matter for a task."""

from __future__ import annotations

from plume.view.page import ViewPanel
from plume.view.words_attention import ATTENTION

PANEL = ViewPanel(
    name="importance",
    words={
        **ATTENTION,
        "title": ("Which heads matter", "哪些头重要"),
        "about": (
            "Gradient importance (Michel et al. 2019): how much the loss of an example would change if a head were turned down a little, "
            "in the mean of all examples; divided by the layer's length (l2 norm) unless you choose otherwise.",
            "梯度重要性（Michel 等，2019）：把某个头稍微调弱时，样本损失变化多少，对所有样本取平均；默认除以该层的 l2 范数。",
        ),
        "heads_of": ("heads of", "头属于"),
        "show": ("show", "显示"),
        "normalised": ("importance, normalised by layer", "重要性（按层归一）"),
        "gradient": ("importance as it is", "重要性（原值）"),
        "without": ("loss added without the head", "关闭该头后增加的损失"),
        "grid": ("Importance by layer and head", "各层各头的重要性"),
        "scatter": ("Importance against the loss that is added without the head", "重要性与关闭该头后增加的损失"),
        "correlation": (
            "Spearman's correlation of importance and the size of that change: {value}",
            "重要性与损失变化幅度的 Spearman 相关系数：{value}",
        ),
        "scatter_about": (
            "Each dot is a head, its colour the layer. Gradients take one pass for all heads; they foresee how much the loss changes "
            "without a head, not in which direction.",
            "每个点是一个头，颜色表示层。梯度只需一遍即可得到所有头的重要性；它预示关闭某个头后损失变化的幅度，而非方向。",
        ),
        "facts": ("{examples} examples, loss of an example {loss}", "{examples} 个样本，平均每个样本的损失 {loss}"),
        "prune": (
            "To take the lesser half out for good, and let the model learn its task again: plume compress {model} --method heads --keep 0.5 --out "
            "DIRECTORY",
            "要永久去掉较不重要的一半头，并让模型重新学习任务：plume compress {model} --method heads --keep 0.5 --out 目录",
        ),
        "best": ("The ten most important heads", "最重要的十个头"),
    },
)
