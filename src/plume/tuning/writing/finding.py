"""Which way a model writes, by what it was pre-trained to do; and who can, where it cannot."""

from __future__ import annotations

from plume.core.errors import PlumeError
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities
from plume.objectives._objective import Answers
from plume.tuning.writing.ways import AfterText, AtMasks, ByDecoder, InBlank, Way

ENCODER_DECODERS = "t5, bart, pegasus, mass, palm, transformer"
LEFT_TO_RIGHT = "gpt, gpt2, ctrl, transformer-xl, ulmfit"


def way_of(can: Abilities) -> Way | None:
    """How this model writes, by what it was trained to do; None: it does not."""
    if kind := can.decoder():
        return ByDecoder(objective=_objective(kind), start=can.start, end=can.end, opening=tuple(can.opening(kind)))
    if can.model.recipe.assembly.directions == 1 and (kind := can.causal()):
        return AfterText(objective=_objective(kind), end=can.end)
    if kind := can.masks_after_text():
        first, second = kind.noise.segments or (0, 1)
        return AtMasks(objective=_objective(kind), end=can.end, mask=can.mask, segments=(first, second))
    if kind := can.spans():
        return InBlank(objective=_objective(kind), start=can.start, end=can.end, mask=can.mask)
    return None


def require_way(can: Abilities, task: str) -> Way:
    """How this model writes; an error says why the task needs another."""
    if can.model.languages is not None:
        raise PlumeError(f"{can.name} has a vector for each language, and is not tuned to write here: {task} needs another family.")
    way = way_of(can)
    if way is None:
        raise PlumeError(
            f"{can.name} cannot write a text: {task} needs a model that can, an encoder–decoder ({ENCODER_DECODERS}), one that writes from "
            f"left to right ({LEFT_TO_RIGHT}), unilm or glm. {can.words()}"
        )
    return way


def _objective(kind: BatchKind) -> str:
    return next(one.name for one in kind.objectives if one.answers is Answers.NOISE and one.asks is None)
