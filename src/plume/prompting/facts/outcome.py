"""A model's directory and files of facts in, scores by relation out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plume.core.files import make_folder, write_json
from plume.prompting.facts.probing import MEANS, ProbeSettings, RelationProbe, means_of, probe_facts
from plume.prompting.facts.reading import read_facts
from plume.tuning.loaded import load
from plume.tuning.zero_shot.blanks import language_model


def probe(
    model: Path,
    facts: Path,
    templates: Path,
    *,
    settings: ProbeSettings = ProbeSettings(),
    out: Path | None = None,
    tell: Callable[[RelationProbe], None] = lambda _: None,
) -> dict[str, Any]:
    """All that was found, as plain records; written to `out` where one is given."""
    found = probe_facts(language_model(load(model), "probe-facts"), facts, templates, settings, tell=tell)
    asked = {one.relation for one in found}
    made = {
        "model": str(model),
        "settings": asdict(settings),
        "asked": {name: MEANS[name] for name in found[0].scores},
        "mean": {name: asdict(scores) for name, scores in means_of(found).items()},
        "left_out": [one for one in dict.fromkeys(fact.relation for fact in read_facts(facts)) if one not in asked],
        "relations": [asdict(one) for one in found],
    }
    if out is not None:
        make_folder(out.parent)
        write_json(out, made)
    return made
