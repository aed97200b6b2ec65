"""The layers view: what each layer knows, as curves from the embedding to the last (Jawahar et al. 2019)."""

from __future__ import annotations

from plume.view.page import ViewPanel

PANEL = ViewPanel(
    name="layers",
    words={
        "title": ("What each layer knows", "每一层知道什么"),
        "about": (
            "From the embedding (0) to the last layer. A dashed line is a network of the same shape that was never trained: "
            "what lies above it was learned.",
            "从词向量（第 0 层）到最后一层。虚线是同样形状但未经训练的网络：高出它的部分才是学到的。",
        ),
        "probes": ("Probes", "探针"),
        "probes_about": (
            "A linear classifier on each layer, the network unchanged: how much of the answer can be read off directly. Accuracy on the second file.",
            "网络保持不变，在每一层上训练一个线性分类器：答案有多少可以直接读出。准确率在第二个文件上计算。",
        ),
        "phrases": ("Phrases", "短语"),
        "phrases_about": (
            "k-means over the vectors of labelled spans, with as many clusters as labels: do spans of a kind lie together? "
            "Normalised mutual information of clusters and labels; 0 is chance.",
            "对带标签片段的向量做 k-means（聚类数等于标签数）：同类片段是否聚在一起？纵轴为聚类与标签的归一化互信息，0 为随机。",
        ),
        "agreement": ("Subject–verb agreement", "主谓一致"),
        "agreement_about": (
            "“The keys to the cabinet are / is …”: how often the right form is likelier, by the number of nouns of the other number that stand "
            "between subject and verb (attractors). Half of the subjects are plural: guessing gives 50%.",
            "“The keys to the cabinet are / is …”：正确形式更可能的比例，"
            "按主语与动词之间数不同的名词（干扰项）个数分开。单复数主语各半，瞎猜为 50%。",
        ),
        "no_agreement": ("Not measured: {reason}", "未测量：{reason}"),
        "no_tasks": (
            "No task was named. Add --task pos=train.conll,dev.conll to see probes and phrases.",
            "没有指定任务。加上 --task pos=train.conll,dev.conll 即可看到探针与短语。",
        ),
        "skipped": (
            "Not probed, for they give no single label to a text or a word: {tasks}.",
            "未做探针（不是给文本或词一个标签的任务）：{tasks}。",
        ),
        "trained": ("this model", "本模型"),
        "untrained": ("untrained", "未训练"),
        "untrained_mean": ("untrained, all", "未训练（全部）"),
        "majority": ("most frequent answer", "最常见答案"),
        "chance": ("guessing", "瞎猜"),
        "attractors_0": ("no attractor", "无干扰项"),
        "attractors_1": ("1 attractor", "1 个干扰项"),
        "attractors_n": ("{count} attractors", "{count} 个干扰项"),
        "layer": ("layer", "层"),
        "accuracy": ("accuracy", "准确率"),
        "nmi": ("NMI", "NMI"),
        "of_words": ("{count} words or texts", "{count} 个词或文本"),
        "of_spans": ("{count} spans, {labels} labels", "{count} 个片段，{labels} 种标签"),
        "of_sentences": ("{count} sentences", "{count} 个句子"),
        "best": ("best: layer {layer}, {value}", "最高：第 {layer} 层，{value}"),
        "numbers": ("Numbers", "数值"),
    },
)
