"""The gradients view: which tokens speak for an answer of a tuned model, and which against it."""

from __future__ import annotations

from plume.view.page import ViewPanel

PANEL = ViewPanel(
    name="gradients",
    words={
        "title": ("Why this answer", "为何如此回答"),
        "about": (
            "Integrated gradients: what each token adds on the way from a text that says nothing to this one. "
            "Blue speaks for the answer, orange against it.",
            "积分梯度：从“什么也没说”的文本走到这段文本，每个词元各贡献多少。蓝色支持该答案，橙色反对。",
        ),
        "answers": ("Answers", "答案"),
        "chosen": ("the model's answer", "模型的答案"),
        "tagged": ("{about}: {answer}", "{about}：{answer}"),
        "adds": ("{token}: {added}", "{token}：{added}"),
        "before": ("before: nothing said ({baseline})", "基线（{baseline}）"),
        "output": ("for this text", "此文本"),
        "sum": ("all tokens together", "各词元之和"),
        "error": ("completeness error", "完备性误差"),
        "steps": ("steps", "积分步数"),
        "unit_odds": ("log-odds", "对数几率"),
        "unit_number": ("score", "分数"),
        "baseline_mask": ("every token masked", "所有词元均被遮盖"),
        "baseline_pad": ("padding in place of every token", "所有词元换成填充符"),
        "baseline_zero": ("no vector in place of every token", "所有词元换成零向量"),
        "strongest": ("Strongest tokens", "作用最大的词元"),
        "odd": (
            "The sum misses the difference by more than 5%: take these numbers with care.",
            "各词元之和与差值相差超过 5%，请谨慎看待这些数字。",
        ),
    },
)
