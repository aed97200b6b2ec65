"""What each layer knows: probes, clusters of phrases, agreement; each beside a network of the same shape that was never trained."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plume.comparing.measuring.probes import probe_body
from plume.comparing.results import Probe
from plume.comparing.rows.scored import scored_examples
from plume.comparing.study import StudyTask, parse_task
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.tuning.kinds.tagging import Tagging
from plume.view.recording.agreeing import Agreed, agreement
from plume.view.recording.phrases import PhraseClusters, phrase_clusters


@dataclass(frozen=True, kw_only=True)
class LayerKnowledge:
    """Curves by layer, 0 the embedding; of each pair the second is the untrained network's."""

    depth: int
    probes: list[tuple[Probe, Probe]]
    phrases: list[tuple[PhraseClusters, PhraseClusters]]
    agreement: tuple[Agreed, Agreed] | None
    no_agreement: str  # why there is none
    skipped: list[str]  # tasks that cannot be probed


def layer_knowledge(model: LanguageModel, tasks: Sequence[str | StudyTask] = (), *, most: int = 1000, seed: int = 0) -> LayerKnowledge:
    """`tasks` are written as on the command line: "pos=train.conll,dev.conll". Up to `most` examples of either file are read."""
    if not isinstance(model, LanguageModel):
        raise PlumeError("Word vectors have one layer: there is nothing to compare. Name a network.")
    named = [parse_task(one) if isinstance(one, str) else one for one in tasks]
    untrained = random_network(model, seed=seed)
    probes, phrases, skipped = [], [], []
    for one in named:
        ready, scored, _ = scored_examples(one)
        found = [
            probe_body(net.model, net.tokenizer, ready.task, ready.train, scored, name=name, most=most, where=Path(one.train))
            for net, name in ((model, "trained"), (untrained, "untrained"))
        ]
        if found[0] is None or found[1] is None:
            skipped.append(one.name)
        else:
            probes.append((replace(found[0], task=one.name), replace(found[1], task=one.name)))
        if isinstance(ready.task, Tagging):
            grouped = [phrase_clusters(net, ready.task, scored, name=one.name, seed=seed) for net in (model, untrained)]
            if grouped[0] is not None and grouped[1] is not None:
                phrases.append((grouped[0], grouped[1]))
    agreed, why = _agreement(model, untrained)
    return LayerKnowledge(
        depth=model.recipe.network.depth, probes=probes, phrases=phrases, agreement=agreed, no_agreement=why, skipped=skipped
    )


def random_network(model: LanguageModel, *, seed: int = 0) -> LanguageModel:
    """The same shape and vocabulary with first weights: what a layer knows without having read anything."""
    network = copy.deepcopy(model.model)
    network.initialise(seed)
    return LanguageModel(network, model.tokenizer)


def _agreement(model: LanguageModel, untrained: LanguageModel) -> tuple[tuple[Agreed, Agreed] | None, str]:
    try:
        return (agreement(model), agreement(untrained)), ""
    except PlumeError as why:
        return None, str(why)
