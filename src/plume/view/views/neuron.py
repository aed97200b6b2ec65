"""The neuron view: how one head comes to its attention (BertViz's neuron view), with what positions add."""

from __future__ import annotations

from plume.view.page import ViewPanel
from plume.view.words_attention import ATTENTION

PANEL = ViewPanel(
    name="neuron",
    words={
        **ATTENTION,
        "title": ("Queries and keys", "查询与键"),
        "about": (
            "How one head comes to its attention: the query of the chosen token times the key of each token, element by element; "
            "their sum is the score, and a softmax over all scores the attention. Blue is positive, orange negative.",
            "一个头的注意力如何算出：所选词元的查询向量与每个词元的键向量逐元素相乘，求和得到分数，再对所有分数做 softmax。蓝色为正，橙色为负。",
        ),
        "token": ("token", "词元"),
        "earlier": ("Previous token", "上一个词元"),
        "later": ("Next token", "下一个词元"),
        "query": ("query q", "查询 q"),
        "key": ("key k", "键 k"),
        "product": ("q × k", "q × k"),
        "dot": ("q · k", "q · k"),
        "bias": ("position", "位置"),
        "softmax": ("softmax", "softmax"),
        "drawn": ("Query, key, product and softmax of layer {layer}, head {head}", "第 {layer} 层第 {head} 个头的查询、键、乘积与 softmax"),
        "position_input": (
            "Position enters at the input: it is part of the vectors that queries and keys are made of.",
            "位置信息在输入处加入，已包含在查询和键之中。",
        ),
        "position_query_key": (
            "Position changes queries or keys before the product; they are shown as they are multiplied.",
            "位置信息在相乘之前作用于查询或键；这里显示的是相乘时的值。",
        ),
        "position_scores": (
            "Position adds a bias to the scores: the column “position”. The softmax is over q · k plus it.",
            "位置信息作为偏置加到分数上（“位置”一列），softmax 的对象是 q · k 与它之和。",
        ),
        "position_values": (
            "Position also adds vectors to the values that are mixed, which this picture does not show: attention does not change by it.",
            "位置向量还会加到值（value）上，图中未显示；注意力本身不受其影响。",
        ),
        "position_none": ("No position enters here.", "此处没有位置信息。"),
        "scaled": ("Scores are times {scale}.", "分数已乘以 {scale}。"),
    },
)
