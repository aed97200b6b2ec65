"""The senses view: one word in many sentences, on a map that changes with the layer."""

from __future__ import annotations

from plume.view.page import ViewPanel

PANEL = ViewPanel(
    name="senses",
    words={
        "title": ("Senses by layer", "逐层词义"),
        "about": (
            "Each point is the word in one sentence; points that lie together are used alike. "
            "Move through the layers; point at one to read its sentence, click it to see the sentences that are nearest.",
            "每个点是该词在一个句子中的一次出现，靠近的点用法相近。拖动滑块逐层查看；指向一个点可读其句子，点击可看最相近的句子。",
        ),
        "layer": ("Layer", "层"),
        "embedding": ("0 (embedding)", "0（词向量）"),
        "map": ("Map", "投影"),
        "pca": ("PCA", "PCA"),
        "tsne": ("t-SNE", "t-SNE"),
        "colour": ("Colour", "颜色"),
        "clusters": ("clusters", "聚类"),
        "labels": ("labels", "标签"),
        "shown": ("The two axes show {share} of the variance.", "两个坐标轴解释了 {share} 的方差。"),
        "tsne_about": (
            "t-SNE keeps neighbours together; distances between groups mean little.",
            "t-SNE 保持近邻关系，组与组之间的距离没有意义。",
        ),
        "apart": ("{count} clusters, silhouette {silhouette}.", "{count} 个聚类，轮廓系数 {silhouette}。"),
        "not_apart": ("All points are one: nothing is told apart at this layer.", "所有点重合：这一层没有任何区分。"),
        "agree": ("Clusters and labels share {information} of their information (NMI).", "聚类与标签的归一化互信息为 {information}。"),
        "embedding_about": (
            "At the embedding only position, capitals and spelling differ: what lies apart here is no sense.",
            "词向量层只含位置、大小写和拼写的差别，这里的分离不是词义。",
        ),
        "curve": ("How far apart, by layer (silhouette)", "各层的分离程度（轮廓系数）"),
        "of_clusters": ("clusters", "聚类"),
        "of_labels": ("labels", "标签"),
        "group": ("Cluster {number} · {count}", "聚类 {number} · {count} 句"),
        "label_group": ("{label} · {count}", "{label} · {count} 句"),
        "examples": ("Sentences of each group", "各组例句"),
        "chosen": ("Sentence", "句子"),
        "nearest": ("Nearest at this layer", "这一层中最相近的句子"),
        "none": ("Click a point, or walk through them with the arrow keys.", "点击一个点，或用方向键逐个查看。"),
        "points": ("{count} occurrences of “{word}” at layer {layer}", "第 {layer} 层中“{word}”的 {count} 次出现"),
        "more": ("and {count} more", "另有 {count} 句"),
    },
)
