"""How sure a recommendation is: who else may be the best, and what would settle it."""

from __future__ import annotations

from plume.comparing.results import CatchUp, Recommendation
from plume.report.blocks import Figure
from plume.report.charts.bars import Bar, bar_chart
from plume.report.charts.drawing import for_desk_and_phone
from plume.report.charts.keys import chance_key
from plume.report.formats import chance, duration
from plume.report.lookup import StudyLookup

_MOST = 100  # times, or seeds: more are as good as none
_SHOWN = 0.005  # the probability below which a bar is nothing to look at


def margin_text(study: StudyLookup, chosen: Recommendation) -> str:
    """The margin in words: one point, 2.5 points."""
    return study.words("one_point") if chosen.margin == 1 else study.words("margin_points", number=f"{chosen.margin:g}")


def not_decided(study: StudyLookup, chosen: Recommendation) -> str:
    """The candidates, and what would decide between them."""
    words = study.words
    listed = [words("contender", model=name, chance=chance(chosen.chances.get(name))) for name in chosen.contenders]
    open_ = words(
        "undecided", risk=chance(chosen.risk), model=chosen.model, margin=margin_text(study, chosen), contenders=words.list(listed)
    )
    return words.sentences(open_, _settled_by(study, chosen))


def _settled_by(study: StudyLookup, chosen: Recommendation) -> str:
    words = study.words
    seeds = f"{chosen.more_seeds:,}" if chosen.more_seeds and chosen.more_seeds <= _MOST else ""
    times = f"{max(chosen.more_rows, 1.1):.2g}" if chosen.more_rows and chosen.more_rows <= _MOST else ""
    if seeds and times:
        return words("settled_by_either", seeds=seeds, times=times)
    if seeds:
        return words("settled_by_seeds", seeds=seeds)
    return words("settled_by_rows", times=times) if times else words("settled_by_both")


def longer(study: StudyLookup, found: CatchUp) -> str:
    """When a network would draw level with what is ahead of it."""
    words, now = study.words, study.usage(found.model).seconds
    told = {"model": found.model, "target": found.target, "now": duration(now)}
    told |= {"about": duration(now * found.middle), "low": duration(now * found.low)}
    return words("catch_up_open", **told) if found.high is None else words("catch_up", high=duration(now * found.high), **told)


def chances_figure(study: StudyLookup, chosen: Recommendation) -> Figure:
    """The probability of being the best, by model."""
    words, title = study.words, study.words("chances_title")
    ranked = sorted(chosen.chances.items(), key=lambda item: (-item[1], item[0] != chosen.model))
    bars = [
        Bar(label=name, value=100 * value, told=chance(value), shape=study.shape(name), chosen=name == chosen.model)
        for place, (name, value) in enumerate(ranked)
        if value >= _SHOWN or place < 2
    ]
    about = "; ".join(f"{bar.label} {bar.told}" for bar in bars)
    drawing = for_desk_and_phone(lambda width: bar_chart(bars, width=width, title=title, about=about, axis=words("chances_axis")))
    margin = margin_text(study, chosen)
    sure = words("risk_note", model=chosen.model, margin=margin, risk=chance(chosen.risk))
    return Figure(drawing=drawing, caption=words.sentences(words("chances_caption", margin=margin), sure), key=chance_key(words))
