"""The page of an exploration: quality against latency and size, the front, and the command that makes each model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath

from plume.compressing.exploring.frontier import Frontier, FrontierRole
from plume.core.catalog import load
from plume.view.page import Page
from plume.view.words import Words, in_language

_WORDS: Words = {
    "title": ("Making {model} small", "压缩 {model}"),
    "lede": (
        "{made} of {tried} small models, made from {model}. Quality is {metric}{data}; speed from text to answer, on {machine}. {date}",
        "由 {model} 得到 {made} 个小模型（共尝试 {tried} 个）。质量为 {metric}{data}；速度从文本到答案计，机器为 {machine}。{date}",
    ),
    "on": (" on {files}", "（{files}）"),
    "agreement": ("the mean cosine with the vectors of the original", "与原模型向量的平均余弦"),
}


def frontier_page(frontier: Frontier, *, language: str = "en") -> Page:
    """One page, which needs nothing else."""
    words = in_language(_WORDS, language)
    name = PurePath(frontier.model).name
    variants = [one for one in frontier.models if one.role is not FrontierRole.BASELINE]
    files = ", ".join(dict.fromkeys(PurePath(path).name for path in frontier.data))
    lede = words["lede"].format(
        made=sum(not one.reason for one in variants),
        tried=len(variants),
        model=name,
        metric=words["agreement"] if not frontier.data else frontier.metric,
        data=words["on"].format(files=files) if files else "",
        machine=frontier.machine,
        date=frontier.made.replace("T", " ").rpartition("+")[0],
    )
    panel = load("view.views", "frontier").PANEL
    return Page(
        title=words["title"].format(model=name),
        lede=lede,
        panels=[panel],
        data={"frontier": asdict(frontier)},
        language=language,
        height=1100,
    )
