"""Which differences are real: in sentences, as a matrix, and pair by pair."""

from __future__ import annotations

from plume.comparing.results import Comparison, ModelGroup, TaskRecord, Verdict
from plume.report.formats import points, probability, signed
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of

_SIGNS = {Verdict.FIRST: "▲", Verdict.SECOND: "▽", Verdict.SAME: "="}
_MOST_SENTENCES = 3
_TOO_MANY_SEEDS = 100  # nobody will run them, and the estimate is not that good
_TURNED = {Verdict.FIRST: Verdict.SECOND, Verdict.SECOND: Verdict.FIRST, Verdict.SAME: Verdict.SAME}


def sentence(study: StudyLookup, task: TaskRecord, pair: Comparison) -> str:
    """One comparison in plain words."""
    words = study.words
    if pair.verdict is Verdict.SAME:
        return _same(study, pair)
    turned = pair.verdict is Verdict.SECOND
    better, worse = (pair.second, pair.first) if turned else (pair.first, pair.second)
    low, high = (-pair.high, -pair.low) if turned else (pair.low, pair.high)
    values = {"low": points(low, task.best), "high": points(high, task.best), "by": points(abs(pair.difference), task.best)}
    return words("is_better", better=better, worse=worse, **values)


def _same(study: StudyLookup, pair: Comparison) -> str:
    words, both = study.words, {"first": pair.first, "second": pair.second}
    if pair.difference == 0:
        return words("same_score", **both)
    if pair.more_seeds and pair.more_seeds > _TOO_MANY_SEEDS:
        return words.count("same_too_many", pair.seeds, more=_TOO_MANY_SEEDS, **both)
    if pair.more_seeds:
        return words.count("same_more_seeds", pair.seeds, more=pair.more_seeds, **both)
    if pair.seeds == 1:
        return words("same_one_seed", **both)
    return words("same_more_rows", seeds=pair.seeds, **both)


def _more(seeds: int) -> str:
    return str(seeds) if seeds <= _TOO_MANY_SEEDS else f"> {_TOO_MANY_SEEDS}"


def task_sentences(study: StudyLookup, task: TaskRecord) -> list[str]:
    """The best and its group, what would tell them apart, and the controls."""
    board, pairs = study.leaderboard(task.name), _by_pair(study, task)
    if len(board) < 2 or not pairs:
        return []
    best = board[0].model
    alike = [summary.model for summary in board[1:] if summary.best_group]
    rest = [summary.model for summary in board if not summary.best_group]
    said = [_group(study, best, alike, rest)]
    said += _what_would_tell(study, task, [pairs[best, name] for name in alike if (best, name) in pairs])
    if rest and (best, rest[0]) in pairs:
        said.append(sentence(study, task, pairs[best, rest[0]]))
    controls = [summary.model for summary in board if study.models[summary.model].group is ModelGroup.CONTROL]
    return said + [text for control in controls if (text := _against(study, task, control, pairs))]


def _what_would_tell(study: StudyLookup, task: TaskRecord, alike: list[Comparison]) -> list[str]:
    """A sentence a pair; where there are many, those together that lack the same."""
    words = study.words
    if len(alike) <= _MOST_SENTENCES or alike[0].seeds == 1:
        return [sentence(study, task, pair) for pair in alike][:_MOST_SENTENCES]
    best, seeds = alike[0].first, alike[0].seeds
    by_seeds = [words("seeds_item", model=pair.second, more=_more(pair.more_seeds)) for pair in alike if pair.more_seeds]
    by_rows = [pair.second for pair in alike if not pair.more_seeds and pair.difference]
    ties = [pair.second for pair in alike if not pair.difference]
    said = [words("same_seeds_many", best=best, seeds=seeds, models=words.list(by_seeds))] if by_seeds else []
    said += [words("same_rows_many", best=best, models=words.list(by_rows))] if by_rows else []
    return said + ([words("same_score", first=best, second=words.list(ties))] if ties else [])


def _group(study: StudyLookup, best: str, alike: list[str], rest: list[str]) -> str:
    words = study.words
    if not alike:
        return words("best_alone", best=best)
    if not rest:
        return words("best_none_worse", best=best)
    return words("best_of_group", best=best, alike=words.list(alike), rest=words.list(rest))


def _against(study: StudyLookup, task: TaskRecord, control: str, pairs: dict[tuple[str, str], Comparison]) -> str:
    """Whom a control leaves behind, whom not."""
    words = study.words
    recipes = [summary.model for summary in study.leaderboard(task.name) if not study.models[summary.model].control]
    verdicts = {name: pairs[name, control].verdict for name in recipes if (name, control) in pairs}
    parts = []
    for verdict, key in ((Verdict.FIRST, "control_behind"), (Verdict.SAME, "control_same"), (Verdict.SECOND, "control_ahead")):
        names = [name for name, found in verdicts.items() if found is verdict]
        if names:
            everyone = len(names) == len(recipes) > 1
            parts.append(words(key, models=words("all_recipes") if everyone else words.list(names)))
    if not parts:
        return ""
    return words("against_control", control=study.named(control), verdicts=words("clause_stop").join(parts)) + words("stop")


def _by_pair(study: StudyLookup, task: TaskRecord) -> dict[tuple[str, str], Comparison]:
    """Both ways round."""
    found: dict[tuple[str, str], Comparison] = {}
    for pair in study.results.comparisons:
        if pair.task == task.name:
            found[pair.first, pair.second] = pair
            found[pair.second, pair.first] = _turned(pair)
    return found


def _turned(pair: Comparison) -> Comparison:
    return Comparison(
        task=pair.task,
        first=pair.second,
        second=pair.first,
        difference=-pair.difference,
        low=-pair.high,
        high=-pair.low,
        p=pair.p,
        verdict=_TURNED[pair.verdict],
        seeds=pair.seeds,
        more_seeds=pair.more_seeds,
    )


def matrix(study: StudyLookup, task: TaskRecord) -> Table | None:
    """A row and a column a model, by rank: the row's model is better ▲, worse ▽, or not told apart = from the column's."""
    words, pairs = study.words, _by_pair(study, task)
    names = [summary.model for summary in study.leaderboard(task.name)]
    if not pairs or len(names) < 2:
        return None
    columns = [TableColumn(heading=words("model")), *(TableColumn(heading=str(n), about=name) for n, name in enumerate(names, start=1))]
    rows = [
        (TableCell(f"{n} {name}"), *(_sign(study, task, pairs, name, other) for other in names)) for n, name in enumerate(names, start=1)
    ]
    return Table(caption=words("matrix_caption", task=task.name), columns=tuple(columns), groups=rows_of(rows), class_="matrix")


def _sign(study: StudyLookup, task: TaskRecord, pairs: dict[tuple[str, str], Comparison], name: str, other: str) -> TableCell:
    if name == other:
        return TableCell("·")
    pair = pairs.get((name, other))
    return TableCell(_SIGNS[pair.verdict], spoken=sentence(study, task, pair)) if pair else TableCell("")


def pairs_table(study: StudyLookup, task: TaskRecord) -> Table:
    """A row a pair: difference, interval, p value, verdict."""
    words, pairs = study.words, _by_pair(study, task)
    names = [summary.model for summary in study.leaderboard(task.name)]
    rows = []
    for place, name in enumerate(names):
        rows += [_pair(study, task, pairs[name, other]) for other in names[place + 1 :] if (name, other) in pairs]
    columns = (
        TableColumn(heading=words("first")),
        TableColumn(heading=words("second")),
        TableColumn(heading=words("difference"), number=True),
        TableColumn(heading=words("interval"), number=True),
        TableColumn(heading=words("p_value"), number=True),
        TableColumn(heading=words("verdict")),
        TableColumn(heading=words("more_seeds"), number=True),
    )
    return Table(caption=words("pairs_caption", task=task.name), columns=columns, groups=rows_of(rows), sortable=True)


def _pair(study: StudyLookup, task: TaskRecord, pair: Comparison) -> tuple[TableCell, ...]:
    return (
        TableCell(pair.first),
        TableCell(pair.second),
        TableCell(signed(pair.difference, task.best), sort=pair.difference),
        TableCell(f"{signed(pair.low, task.best)} … {signed(pair.high, task.best)}", sort=pair.low),
        TableCell(probability(pair.p), sort=pair.p),
        TableCell(f"{_SIGNS[pair.verdict]} {study.words.of(pair.verdict)}"),
        TableCell(_more(pair.more_seeds) if pair.more_seeds else "–", sort=pair.more_seeds),
    )
