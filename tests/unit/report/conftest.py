"""A study as it could have come out: twelve models and two controls, three tasks, three seeds, all drawn from one seed."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from plume.comparing.results import (
    Comparison,
    Control,
    Costs,
    CurvePoint,
    Disagreement,
    ModelRecord,
    PredictionSpeed,
    PretrainRecord,
    Probe,
    RecipeDifference,
    Recommendation,
    Results,
    ScoreRecord,
    Standing,
    Status,
    Summary,
    TaskRecord,
    Verdict,
)
from plume.comparing.usage import with_usage
from plume.report import write_report

_VOID = {"meta", "br"}

# name: paper, objective, how good it is, predictions a second
RECIPES = {
    "bert": ("arXiv:1810.04805", "masked_lm", 0.09, 610.0),
    "roberta": ("arXiv:1907.11692", "masked_lm", 0.085, 615.0),
    "albert": ("arXiv:1909.11942", "masked_lm", 0.05, 560.0),
    "electra": ("arXiv:2003.10555", "masked_lm", 0.10, 590.0),
    "spanbert": ("arXiv:1907.10529", "masked_lm", 0.08, 600.0),
    "xlnet": ("arXiv:1906.08237", "permuted_lm", 0.04, 320.0),
    "mpnet": ("arXiv:2004.09297", "masked_permuted_lm", 0.075, 480.0),
    "gpt": ("Radford et al. 2018", "causal_lm", 0.0, 640.0),
    "t5": ("arXiv:1910.10683", "span_corruption", 0.03, 290.0),
    "bart": ("arXiv:1910.13461", "denoising", 0.02, 280.0),
    "elmo": ("arXiv:1802.05365", "bidirectional_lm", 0.06, 150.0),
    "word2vec": ("arXiv:1301.3781", "skip_gram", -0.07, 5200.0),
}
CONTROLS = {"scratch": (Control.SCRATCH, -0.09, 620.0), "static": (Control.STATIC, -0.06, 5600.0)}
TASKS = (
    TaskRecord(
        name="ner",
        kind="ner",
        title="names in a text and their kinds",
        metric="f1",
        train_file="data/ner/train.conll",
        scored_file="data/ner/test.conll",
        train_examples=1200,
        scored_examples=800,
        labels=("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER"),
        note="Names marked by the authors of the text; split by document.",
    ),
    TaskRecord(
        name="topic",
        kind="classification",
        title="one label for a text, or for a pair of texts",
        metric="accuracy",
        train_file="data/topic/train.tsv",
        scored_file="data/topic/test.tsv",
        train_examples=1000,
        scored_examples=900,
        labels=tuple(f"label {n}" for n in range(14)),
    ),
    TaskRecord(
        name="translation",
        kind="translation",
        title="a text in another language",
        metric="bleu",
        train_file="data/mt/train.tsv",
        scored_file="data/mt/test.tsv",
        train_examples=1500,
        scored_examples=700,
        best=100.0,
    ),
)
BASES = {"ner": 0.62, "topic": 0.71, "translation": 24.0}


def _models(names: list[str]) -> tuple[ModelRecord, ...]:
    made = []
    for place, name in enumerate(names):
        changed = tuple(
            RecipeDifference(path=f"objectives[{n}].noise.select", parent="Tokens()", here=f"NGrams(longest={n + 2})")
            for n in range(place % 5 + 1)
        )
        made.append(
            ModelRecord(
                name=name,
                family=name,
                size="tiny",
                title=f"what {name} is in a few words",
                paper=RECIPES[name][0],
                parent="" if name == "bert" else "bert",
                differences=() if name == "bert" else changed,
                parameters=4_400_000 + 90_000 * place,
                flops_per_token=2.5e7 if name != "word2vec" else 0.0,
                disk=17_500_000 + 400_000 * place,
                tokenizer="WordPiece, 8,000",
            )
        )
    for name, (control, _, _) in CONTROLS.items():
        made.append(
            ModelRecord(
                name=name, family="bert", size="tiny", title="a control", paper="", control=control, parameters=4_400_000, disk=17_000_000
            )
        )
    return tuple(made)


def _pretraining(names: list[str], seeds: range, draw: random.Random) -> tuple[PretrainRecord, ...]:
    made = []
    for name, seed in itertools.product(names, seeds):
        trivial, gain = 6.1 + draw.random(), 0.5 + 1.5 * draw.random()
        curve = tuple(
            CurvePoint(
                tokens=60_000 * n, seconds=10.0 * n, loss=trivial + 2.5 * math.exp(-n) - gain * (1 - math.exp(-n / 6)) + draw.gauss(0, 0.02)
            )
            for n in range(1, 13)
        )
        made.append(
            PretrainRecord(
                model=name,
                seed=seed,
                status=Status.DONE,
                steps=1400,
                tokens=720_000,
                flops=1.8e13,
                seconds=120.0,
                peak_memory=780_000_000,
                objective=RECIPES[name][1],
                trivial=trivial,
                curve=curve,
            )
        )
    return tuple(made)


def _scores(names: list[str], tasks: tuple[TaskRecord, ...], seeds: range, draw: random.Random) -> tuple[ScoreRecord, ...]:
    made = []
    for name, task, seed in itertools.product([*names, *CONTROLS], tasks, seeds):
        lift, rate = (RECIPES[name][2:]) if name in RECIPES else CONTROLS[name][1:]
        main = BASES[task.name] + task.best * (lift * (0.3 if task.best == 100 else 1) + draw.gauss(0, 0.009))
        curve = tuple((40 * n, main - task.best * 0.35 * math.exp(-n / 2.5) + task.best * draw.gauss(0, 0.004)) for n in range(1, 11))
        speed = PredictionSpeed(per_second=rate * draw.uniform(0.97, 1.03), p50=1.6e3 / rate, p99=2.9e3 / rate)
        made.append(
            ScoreRecord(
                model=name,
                task=task.name,
                seed=seed,
                status=Status.DONE,
                scores={task.metric: main, "other": main / 2},
                main=main,
                steps=400,
                seconds=21.5,
                peak_memory=640_000_000,
                curve=curve,
                speed=speed,
            )
        )
    return tuple(made)


def _summaries(scores: tuple[ScoreRecord, ...], tasks: tuple[TaskRecord, ...]) -> tuple[Summary, ...]:
    made: list[Summary] = []
    for task in tasks:
        values: dict[str, list[float]] = {}
        for cell in scores:
            if cell.task == task.name and cell.main is not None:
                values.setdefault(cell.model, []).append(cell.main)
        best = max((sum(each) / len(each) for each in values.values()), default=0.0)
        for model, each in values.items():
            mean = sum(each) / len(each)
            half = (
                4.3 * math.sqrt(sum((value - mean) ** 2 for value in each) / max(len(each) - 1, 1) / len(each)) if len(each) > 1 else None
            )
            low, high = (mean - half, mean + half) if half is not None else (None, None)
            group = mean > best - 0.02 * task.best
            made.append(Summary(model=model, task=task.name, mean=mean, low=low, high=high, seeds=len(each), best_group=group))
    return tuple(made)


def _comparisons(summaries: tuple[Summary, ...], tasks: tuple[TaskRecord, ...]) -> tuple[Comparison, ...]:
    made = []
    for task in tasks:
        here = [summary for summary in summaries if summary.task == task.name]
        for first, second in itertools.combinations(here, 2):
            difference, noise = first.mean - second.mean, 0.02 * task.best
            same = abs(difference) <= noise
            verdict = Verdict.SAME if same else Verdict.FIRST if difference > 0 else Verdict.SECOND
            made.append(
                Comparison(
                    task=task.name,
                    first=first.model,
                    second=second.model,
                    difference=difference,
                    low=difference - noise,
                    high=difference + noise,
                    p=0.4 if same else 0.0004,
                    verdict=verdict,
                    seeds=first.seeds,
                    more_seeds=9 if same and abs(difference) > noise / 2 else None,
                )
            )
    return tuple(made)


def _standings(scores: tuple[ScoreRecord, ...], summaries: tuple[Summary, ...], tasks: tuple[TaskRecord, ...]) -> tuple[Standing, ...]:
    best = {task.name: task.best for task in tasks}
    made = []
    for model in dict.fromkeys(summary.model for summary in summaries):
        mine = [summary for summary in summaries if summary.model == model]
        quality = sum(summary.mean / best[summary.task] for summary in mine) / len(mine)
        speeds = [cell.speed.per_second for cell in scores if cell.model == model and cell.speed]
        known = mine[0].low is not None
        made.append(
            Standing(
                model=model,
                quality=quality,
                low=quality - 0.012 if known else None,
                high=quality + 0.012 if known else None,
                per_second=sum(speeds) / len(speeds),
                disk=17_500_000,
                seconds=65.0 if model == "scratch" else 75.0 if model == "static" else 185.0 + len(model),
                pareto=False,
                complete=len(mine) == len(tasks),
            )
        )
    return tuple(
        replace(
            one,
            pareto=not any(other.quality > one.quality and other.per_second > one.per_second for other in made),
            making_pareto=not any(other.quality > one.quality and other.seconds < one.seconds for other in made),
        )
        for one in made
    )


def _disagreements(names: list[str], tasks: tuple[TaskRecord, ...], draw: random.Random) -> tuple[Disagreement, ...]:
    made = []
    for task, row in itertools.product(tasks, range(8)):
        right = {name: draw.random() < 0.5 for name in [*names, *CONTROLS]}
        answers = {name: "Reykjavík [LOC]" if fine else draw.choice(["Reykjavík [ORG]", "Reykjavík", ""]) for name, fine in right.items()}
        texts = ("The council of Reykjavík met on Tuesday, and nobody was late.", "It was not said why the others stayed away.")
        made.append(
            Disagreement(task=task.name, row=17 * row + 3, texts=texts[: 1 + row % 2], gold="Reykjavík [LOC]", answers=answers, right=right)
        )
    return tuple(made)


def _probes(names: list[str], tasks: tuple[TaskRecord, ...], draw: random.Random) -> tuple[Probe, ...]:
    return tuple(
        Probe(
            model=name,
            task=task.name,
            score=(0.55, 0.62 + 0.1 * draw.random(), 0.6 + 0.12 * draw.random())[: 1 if name == "word2vec" else 3],
            majority=0.5,
            examples=800,
        )
        for name, task in itertools.product(names, tasks[:2])
    )


def make(*, models: int = 12, tasks: int = 3, seeds: int = 3, seed: int = 5) -> Results:
    draw, names, runs = random.Random(seed), list(RECIPES)[:models], range(seeds)
    chosen_tasks = TASKS[:tasks]
    scores = _scores(names, chosen_tasks, runs, draw)
    summaries = _summaries(scores, chosen_tasks)
    standings = _standings(scores, summaries, chosen_tasks)
    best = max(standings, key=lambda standing: standing.quality)
    alike = [standing for standing in standings if standing.quality > best.quality - 0.015]
    quickest = max(alike, key=lambda standing: standing.per_second)
    made = Results(
        title="Which model for our newsroom",
        plume="0.6.0",
        made="2026-11-16 09:30",
        unmeasured=(),
        machine={"processor": "Example CPU at 2.5 GHz", "cores": "2", "memory": "8 GB"},
        versions={"python": "3.13.1", "torch": "2.13.0"},
        corpus=("data/news.txt",),
        corpus_note="1.2 M words of news",
        budget="2m",
        budget_unit="seconds",
        size_class="tiny: width 128, two blocks",
        seeds=tuple(runs),
        command="plume compare study.toml --out study",
        study='recipes = ["bert", "roberta"]\nbudget = "2m"\n',
        commands={f"{name}/0": f"plume pretrain {name}/tiny --corpus data/news.txt --budget 2m --seed 0" for name in names},
        tasks=chosen_tasks,
        models=_models(names),
        pretraining=_pretraining(names, runs, draw),
        scores=scores,
        summaries=summaries,
        comparisons=_comparisons(summaries, chosen_tasks),
        disagreements=_disagreements(names, chosen_tasks, draw),
        probes=_probes(names, chosen_tasks, draw),
        standings=standings,
        recommendation=Recommendation(
            model=quickest.model,
            alike=tuple(standing.model for standing in alike if standing is not quickest),
            best=best.model,
            timed=True,
            beats_scratch=True,
            beats_static=True,
        ),
        costs=Costs(total=8200.0, offered=8200.0, pretraining=4320.0, tuning=2700.0, evaluating=960.0),
    )
    return with_usage(made)


@pytest.fixture(scope="session")
def results() -> Results:
    return make()


@pytest.fixture(scope="session")
def study_of() -> Callable[..., Results]:
    return make


class Reader(HTMLParser):
    """Counts what must balance, and collects what the tests ask for."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="session")
def read() -> Callable[..., Reader]:
    """Writes a report and reads its page."""

    def reading(results: Results, folder: Path, language: str = "en") -> Reader:
        reader = Reader()
        reader.feed(write_report(with_usage(results), folder, language=language).read_text(encoding="utf-8"))
        reader.close()
        assert reader.open == []
        return reader

    return reading
