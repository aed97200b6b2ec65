"""Public sets cut to 16 examples a class, with the template and the label words that a person would take for them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TNEWS = (
    "news_story=故事,news_culture=文化,news_entertainment=娱乐,news_sports=体育,news_finance=财经,news_house=房产,news_car=汽车,news_edu=教育,"
    "news_tech=科技,news_military=军事,news_travel=旅游,news_world=国际,news_stock=股票,news_agriculture=农业,news_game=游戏"
)


@dataclass(frozen=True, kw_only=True)
class FewShotSet:
    """`texts` and `label` are columns of its files."""

    train: str
    dev: str
    template: str
    labels: str | None
    others: tuple[str, ...] = ()  # templates, for methods that take several
    texts: tuple[str, ...]
    label: str | None
    task: str = "classification"
    language: str = "en"
    a_class: int | None = None  # examples, where not what is asked for: FewCLUE's 42 are six for each place of the right idiom


UNLABELLED = 200  # rows

SETS = {
    "sst2": FewShotSet(
        train="sst2/train.tsv", dev="sst2/dev.tsv", template="{text} It was ___.",
        others=("{text} All in all, ___.", "Just ___! {text}"), labels="0=terrible,1=great", texts=("sentence",), label="label"
    ),
    "cr": FewShotSet(
        train="cr/train.tsv", dev="cr/dev.tsv", template="{text} It was ___.",
        others=("{text} All in all, ___.", "Just ___! {text}"), labels="0=terrible,1=great", texts=("sentence",), label="label"
    ),
    "subj": FewShotSet(
        train="subj/train.tsv", dev="subj/dev.tsv", template="{text} This is ___.",
        others=("{text} All this is ___.", "It is ___: {text}"), labels="0=opinion,1=fact", texts=("sentence",), label="label"
    ),
    "trec": FewShotSet(
        train="trec/train.tsv", dev="trec/dev.tsv", template="___: {text}",
        others=("{text} ( ___ )", "[ ___ ] {text}"), texts=("question",), label="coarse",
        labels="ABBR=Expression,DESC=Description,ENTY=Entity,HUM=Human,LOC=Location,NUM=Number",
    ),
    "ag_news": FewShotSet(
        train="ag_news/train.csv", dev="ag_news/dev.csv", template="{text} This is ___ news.",
        others=("{text} ( ___ )", "[ ___ ] {text}"), labels="0=world,1=sports,2=business,3=technology",
        texts=("1",), label="2",
    ),
    "mrpc": FewShotSet(
        train="mrpc/msr-para-train.tsv", dev="mrpc/msr-para-val.tsv", template="{text} ___, {text_b}",
        others=("{text} ___. {text_b}", "\"{text}\" ___, \"{text_b}\""), labels="0=No,1=Yes", task="paraphrase",
        texts=("#1 String", "#2 String"), label="Quality",
    ),
    "rte": FewShotSet(
        train="rte/train.tsv", dev="rte/dev.tsv", template="{text}? ___, {text_b}",
        others=("{text}? ___. {text_b}", "\"{text}\"? ___, \"{text_b}\""), labels="entailment=Yes,not_entailment=No", task="nli",
        texts=("sentence1", "sentence2"), label="label",
    ),
    "chnsenticorp": FewShotSet(
        train="chnsenticorp/train.tsv", dev="chnsenticorp/dev.tsv", template="总之很___。{text}",
        others=("{text}总之很___。", "真___！{text}"), labels="0=差,1=好", texts=("text_a",),
        label="label", language="zh",
    ),
    "tnews": FewShotSet(
        train="tnews_fewclue/train.json", dev="tnews_fewclue/dev.json", template="这是___新闻：{text}",
        others=("{text}（___）", "［___］{text}"), labels=TNEWS, texts=("sentence",),
        label="label_desc", language="zh",
    ),
    "iflytek": FewShotSet(
        train="iflytek_fewclue/train.json", dev="iflytek_fewclue/dev.json", template="这是___应用：{text}",
        others=("{text}（___）", "［___］{text}"), labels=None, texts=("sentence",),
        label="label_des", language="zh",
    ),
    "chid": FewShotSet(
        train="chid_fewclue/train.json", dev="chid_fewclue/dev.json", template="{text}", labels=None, texts=(), label=None,
        task="multiple-choice", language="zh", a_class=6,
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A set's few examples, its test rows, and other training rows for methods that look at texts alone."""

    train: list[dict[str, Any]]
    dev: list[dict[str, Any]]
    unlabelled: list[dict[str, Any]]


def cut_rows(one: FewShotSet, data: Path, *, cut: int, a_class: int, rows: int) -> Cut:
    """`a_class` examples of each label; the test rows are the same for all cuts."""
    from plume.core.part import replace
    from plume.prompting.folds import example_row
    from plume.tuning.options import named
    from plume.tuning.preparing import prepare
    from plume.tuning.settings import TaskData
    from plume.tuning.task import Columns

    task = named(one.task)
    if hasattr(task, "unseen"):
        task = replace(task, unseen=True)  # test rows of labels that no example has are left out below
    wanted = TaskData(task=task, train=(str(data / one.train),), dev=(str(data / one.dev),))
    read = prepare(wanted, Columns(texts=one.texts, answer=one.label))
    source, kept, spare, taken = random.Random(f"cut {cut}"), [], [], dict[str, int]()
    for example in source.sample(read.train, len(read.train)):
        taken[str(example.answer)] = taken.get(str(example.answer), 0) + 1
        if taken[str(example.answer)] <= (one.a_class or a_class):
            kept.append(example)
        elif len(spare) < UNLABELLED:
            spare.append(example)  # its answer is not looked at
    asked = [example for example in read.dev if str(example.answer) in taken]
    dev = random.Random("test rows").sample(asked, min(rows, len(asked)))
    return Cut(**{name: [example_row(one) for one in found] for name, found in (("train", kept), ("dev", dev), ("unlabelled", spare))})


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """As JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
