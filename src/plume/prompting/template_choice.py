"""One of several templates, by folds of the training examples: those that were given, and those that a model writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json
from plume.prompting.job import PromptJob
from plume.prompting.one_gap import OneGapWriter
from plume.prompting.shots import demonstrations_of, drawn
from plume.prompting.template_writing import TemplateWriter
from plume.prompting.trying import TriedPrompt, section, told, tried_by_folds
from plume.tuning.loaded import load
from plume.tuning.zero_shot.blanks import language_model

_READ = 32  # examples that a writer looks at
_BY = "pattern"  # templates are compared by it: with demonstrations it would take several times as long


@dataclass(frozen=True, kw_only=True)
class ChosenTemplate:
    """The best, what the card says of the others, and the signal that stopped the search, if one did."""

    template: str
    section: str = ""
    stopped_by: str | None = None


def chosen_template(job: PromptJob, writer: Path | None, *, beams: int, offer: int, folds: int) -> ChosenTemplate:
    """Of one there is no choice."""
    templates = job.templates if writer is None else tuple(dict.fromkeys([*job.settings.templates, *_written(job, writer, beams, offer)]))
    if len(templates) == 1:
        return ChosenTemplate(template=templates[0])
    among = job.changed(templates=templates)
    tried: list[TriedPrompt] = []
    for template in templates:
        found = tried_by_folds(among, _BY, template, folds)
        if isinstance(found, str):
            return ChosenTemplate(template=template, stopped_by=found)
        tried.append(found)
        job.say(told(found))
    able = [one for one in tried if not one.refused]
    if not able:
        raise PlumeError(f"None of the templates can be used: {tried[0].template}: {tried[0].refused}")
    best = max(able, key=lambda one: one.share)  # of equals the first
    return ChosenTemplate(template=best.template, section=section(tried, best))


def _written(job: PromptJob, writer: Path, beams: int, offer: int) -> Sequence[str]:
    """Kept beside the run, so that it goes on with the same."""
    file = job.parts / "templates.json"
    if not file.exists():
        if beams < 1 or offer < 1:
            raise PlumeError(f"A writer searches with 1 or more beams and offers 1 or more templates, not {beams} and {offer}.")
        can = language_model(load(writer), "writer").abilities
        pool = demonstrations_of(job.prompted(job.templates[0]), job.prepared.train)
        some = [pool[place] for place in drawn(pool, min(_READ, len(pool)), seed=job.settings.seed)]
        several = can.decoder() is not None and bool(can.tokenizer.format.sentinel_tokens())
        made: TemplateWriter | OneGapWriter = TemplateWriter(can, beams=beams) if several else OneGapWriter(can, beams=beams)
        found = made.written(some)[:offer]
        if not found:
            raise PlumeError(f"{writer} wrote no template that ends within its length: give templates with --template, or another writer.")
        job.say(*(f'written: "{one.template}" ({one.score / len(some):.2f} nats a token)' for one in found))
        make_folder(job.parts)
        write_json(file, [one.template for one in found])
    templates: list[str] = read_json(file, "the templates that a model wrote")
    return templates
