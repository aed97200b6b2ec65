"""Which layer knows what: a linear layer on each layer of the frozen models."""

from __future__ import annotations

from plume.comparing.results import Probe, TaskRecord
from plume.report.blocks import Block, Figure, Fold, Paragraph, Section
from plume.report.charts.keys import probe_key
from plume.report.charts.panels import Panel, PanelFrame, panels
from plume.report.charts.scales import spread
from plume.report.formats import points
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of


def probes(study: StudyLookup) -> Section:
    """The section on what each layer knows."""
    words = study.words
    inner = tuple(made for number, task in enumerate(study.results.tasks, start=1) if (made := _task(study, task, number)))
    intro = Paragraph(words("probes_intro") if inner else words("no_probes"))
    return Section(anchor="probes", title=words("probes"), blocks=(intro,), sections=inner)


def _task(study: StudyLookup, task: TaskRecord, number: int) -> Section | None:
    words = study.words
    order = [model.name for model in [*study.recipes(), *study.controls()]]
    found = sorted(
        (probe for probe in study.results.probes if probe.task == task.name and probe.score and probe.model in order),
        key=lambda probe: order.index(probe.model),
    )
    if not found:
        return None
    top = max(found, key=lambda probe: max(probe.score))
    values = {"layer": _layer(study, _peak(top)), "score": points(max(top.score)), "majority": points(top.majority)}
    blocks: list[Block] = [Paragraph(words("probe_sentence", model=top.model, **values)), _figure(study, task, found)]
    blocks.append(Fold(summary=words("probe_numbers", task=task.name), blocks=(_table(study, task, found),)))
    return Section(anchor=f"probes-{number}", title=task.name, blocks=tuple(blocks))


def _peak(probe: Probe) -> int:
    return probe.score.index(max(probe.score))


def _layer(study: StudyLookup, layer: int) -> str:
    return study.words("embedding") if layer == 0 else study.words("layer_number", layer=layer)


def _figure(study: StudyLookup, task: TaskRecord, found: list[Probe]) -> Figure:
    words = study.words
    deepest = max(len(probe.score) for probe in found) - 1
    seen = [100 * value for probe in found for value in (*probe.score, probe.majority)]
    frame = PanelFrame(
        across=words("axis_layer"), x=(-0.2, max(deepest, 1) + 0.2), y=spread(seen, around=0.08, least=1), whole_numbers=True
    )
    drawn = [_panel(study, probe) for probe in found]
    return Figure(drawing=panels(drawn, frame), caption=words("probe_caption", task=task.name), key=probe_key(words))


def _panel(study: StudyLookup, probe: Probe) -> Panel:
    note = study.words("probe_best", layer=_layer(study, _peak(probe)), score=points(max(probe.score)))
    return Panel(
        name=probe.model,
        note=note,
        about=f"{probe.model}: " + ", ".join(points(value) for value in probe.score),
        lines=(),
        main=[(float(layer), 100 * value) for layer, value in enumerate(probe.score)],
        level=100 * probe.majority,
    )


def _table(study: StudyLookup, task: TaskRecord, found: list[Probe]) -> Table:
    words = study.words
    deepest = max(len(probe.score) for probe in found)
    columns = [TableColumn(heading=words("model")), *(TableColumn(heading=_layer(study, layer), number=True) for layer in range(deepest))]
    columns += [TableColumn(heading=words("majority"), number=True), TableColumn(heading=words("examples"), number=True)]
    return Table(
        caption=words("probe_table", task=task.name), columns=tuple(columns), groups=rows_of([_row(probe, deepest) for probe in found])
    )


def _row(probe: Probe, deepest: int) -> tuple[TableCell, ...]:
    scores = [TableCell(points(value), strong=layer == _peak(probe)) for layer, value in enumerate(probe.score)]
    empty = [TableCell("")] * (deepest - len(scores))
    return (TableCell(probe.model), *scores, *empty, TableCell(points(probe.majority)), TableCell(f"{probe.examples:,}"))
