"""What public checkpoints brought: English, Chinese."""

WORDS: dict[str, tuple[str, str]] = {
    "gain_corpus": (
        "What your corpus added: continued pre-training ({model} against {against}) changes quality by {by} points: {tasks}.",
        "你的语料带来了什么：继续预训练之后（{model} 与 {against} 相比），质量变化 {by} 分：{tasks}。",
    ),
    "gain_corpus_some": (
        "What your corpus added by continued pre-training ({model} against {against}): {tasks}.",
        "你的语料通过继续预训练带来了什么（{model} 与 {against} 相比）：{tasks}。",
    ),
    "gain_checkpoint": (
        "What the checkpoint added: {model} differs from {against}, the best model trained on your corpus alone, by {by} points of quality: {tasks}.",
        "已有模型带来了什么：{model} 与只用你的语料训练的最好模型 {against} 相比，质量相差 {by} 分：{tasks}。",
    ),
    "gain_checkpoint_some": (
        "What the checkpoint added: {model} against {against}, the best model trained on your corpus alone: {tasks}.",
        "已有模型带来了什么：{model} 与只用你的语料训练的最好模型 {against} 相比：{tasks}。",
    ),
    "gain_task": ("{task} {by} (95% CI {low} to {high}, {sign})", "{task} {by}（95% 置信区间 {low} 至 {high}，{sign}）"),
    "gain_significant": ("significant", "显著"),
    "gain_same": ("not significant", "不显著"),
    "gain_cost": (
        "To run: {model} makes {rate} predictions per second and takes {disk}, {against} {against_rate} and {against_disk}.",
        "运行成本：{model} 每秒预测 {rate} 条，占 {disk}；{against} 每秒 {against_rate} 条，占 {against_disk}。",
    ),
    "gain_disk": ("To run: {model} takes {disk}, {against} {against_disk}.", "运行成本：{model} 占 {disk}，{against} 占 {against_disk}。"),
}
