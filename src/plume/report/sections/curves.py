"""How the models learned: held-out loss while pre-training, dev score while tuning."""

from __future__ import annotations

from plume.comparing.results import PretrainRecord, TaskRecord
from plume.report.blocks import Block, Figure, Fold, Paragraph, Section
from plume.report.charts.keys import loss_key, tuning_key
from plume.report.charts.panels import Line, Panel, PanelFrame, panels
from plume.report.charts.scales import spread
from plume.report.formats import NONE, in_points, points
from plume.report.lookup import StudyLookup


def curves(study: StudyLookup) -> Section:
    """The section on how the models learned."""
    words = study.words
    return Section(anchor="curves", title=words("curves"), sections=(_losses(study), _tuning(study)))


def _losses(study: StudyLookup) -> Section:
    words = study.words
    by_model = [[run for run in study.runs(model.name) if run.curve] for model in [*study.recipes(), *study.controls()]]
    drawn = [_loss_panel(study, runs) for runs in by_model if runs]
    blocks: list[Block] = [Paragraph(words("loss_intro"))]
    if drawn:
        longest = max(across for panel in drawn for one in (*panel.lines, panel.main) for across, _ in one)
        frame = PanelFrame(across=words("axis_tokens" if _by_tokens(study) else "axis_seconds"), x=(0, longest or 1))
        several = any(panel.lines for panel in drawn)
        blocks.append(Figure(drawing=panels(drawn, frame), caption=words("loss_caption"), key=loss_key(words, several=several)))
    else:
        blocks.append(Paragraph(words("no_curves")))
    return Section(anchor="losses", title=words("losses"), blocks=tuple(blocks))


def _by_tokens(study: StudyLookup) -> bool:
    return study.results.budget_unit != "seconds"


def _loss_panel(study: StudyLookup, runs: list[PretrainRecord]) -> Panel:
    words, first = study.words, runs[0]
    end = study.usage(first.model).loss
    lines = [tuple((float(point.tokens) if _by_tokens(study) else point.seconds, point.loss) for point in run.curve) for run in runs]
    trivial = f"{first.trivial:.2f}" if first.trivial is not None else "–"
    return Panel(
        name=first.model,
        note=f"{NONE if end is None else f'{end:.2f}'} {first.objective}",
        about=words("loss_about", model=first.model, objective=first.objective, end=NONE if end is None else f"{end:.3f}", trivial=trivial),
        main=lines[0],
        lines=tuple(lines[1:]),
        level=first.trivial,
        level_name=trivial,
    )


def _tuning(study: StudyLookup) -> Section:
    words = study.words
    blocks: list[Block] = [Paragraph(words("tuning_intro"))]
    made = [(task, _tuning_figure(study, task)) for task in study.results.tasks]
    shown = [(task, figure) for task, figure in made if figure]
    for place, (task, figure) in enumerate(shown):
        blocks.append(Fold(summary=words("tuning_summary", task=task.name, metric=task.metric), blocks=(figure,), is_open=place == 0))
    if not shown:
        blocks.append(Paragraph(words("no_curves")))
    return Section(anchor="tuning", title=words("tuning"), blocks=tuple(blocks))


def _tuning_figure(study: StudyLookup, task: TaskRecord) -> Figure | None:
    words = study.words
    means: dict[str, Line] = {
        summary.model: [(float(step), in_points(score, task.best)) for step, score in summary.curve]
        for summary in study.leaderboard(task.name)
        if summary.curve
    }
    if not means:
        return None
    drawn = [_tuning_panel(study, model, means) for model in means]
    frame = PanelFrame(
        across=words("axis_steps"),
        x=(0, max(step for curve in means.values() for step, _ in curve) or 1),
        y=spread([value for curve in means.values() for _, value in curve], around=0.06, least=0.5),
    )
    return Figure(drawing=panels(drawn, frame), caption=words("tuning_caption", task=task.name), key=tuning_key(words))


def _tuning_panel(study: StudyLookup, model: str, means: dict[str, Line]) -> Panel:
    step, highest = max(means[model], key=lambda point: point[1])
    about = study.words("tuning_best", value=points(highest, best=100), step=f"{step:,.0f}")
    others = tuple(curve for name, curve in means.items() if name != model)
    return Panel(name=model, note=about, about=f"{model}: {about}", lines=(), main=means[model], others=others)
