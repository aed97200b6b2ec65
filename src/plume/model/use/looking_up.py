"""Documents handed to a model that looks things up, and what it found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from plume.core.errors import PlumeError
from plume.data.blocks import read_blocks
from plume.model.networks.evidence import Evidence
from plume.model.networks.realm import Realm
from plume.model.recipe import Recipe
from plume.model.retriever_reader import RetrieverReader
from plume.model.use.abilities import Abilities
from plume.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class FoundBlock:
    """A block that was read beside a text, and how relevant it was held to be. Its title and text are empty where nothing was looked up."""

    title: str
    text: str
    share: float


@torch.inference_mode()
def consult(can: Abilities, files: Sequence[str | Path]) -> None:
    """From now on the model looks things up in these documents; their index is made here."""
    model = can.model
    if not isinstance(model, Realm):
        raise PlumeError(f"{can.name} looks nothing up, so it has no use for documents. {can.words()}")
    model.consult(evidence_of(model.recipe, files, can.tokenizer))
    model.renew_index()


@torch.inference_mode()
def looked_up(can: Abilities, text: str) -> list[FoundBlock]:
    """What the model found for a text with blanks, the most relevant first."""
    model = can.model
    if not isinstance(model, Realm) or model.evidence is None:
        raise PlumeError(f"{can.name} was given no documents: consult(FILE) hands it some, or --documents FILE.")
    frame = can.with_blanks(text)
    found = model.candidates(can.rows([frame]))
    assert found is not None
    shares = found.prior[0].exp().tolist()
    blocks = [(-1, shares[0]), *zip(found.which[0].tolist(), shares[1:], strict=True)]
    told = [_block(model.evidence, number, share) for number, share in blocks if share > 0]
    return sorted(told, key=lambda one: -one.share)


def _block(evidence: Evidence, number: int, share: float) -> FoundBlock:
    if number < 0:
        return FoundBlock(title="", text="", share=share)
    return FoundBlock(title=evidence.title(number), text=evidence.text(number), share=share)


def evidence_of(recipe: Recipe, files: Sequence[str | Path], tokenizer: Tokenizer) -> Evidence:
    """For a recipe that retrieves: blocks that fit beside its texts."""
    part = recipe.assembly
    assert isinstance(part, RetrieverReader)
    specials, title = 3, max(recipe.training.length // 8, 1)
    longest = recipe.training.length - specials
    places = recipe.positions.longest
    most = max(longest + title, int(longest * (1 + 1 / 3)) + 1) + specials
    if places is not None and most > places:
        raise PlumeError(
            f"A text and a block of {recipe.training.length} tokens together need {most} positions, and {recipe.name} has {places}: "
            f"lower training.length or raise positions.longest."
        )
    blocks = read_blocks(files, tokenizer, words=recipe.words, longest=longest, title=title)
    wanted = part.candidates - 1
    if len(blocks) <= wanted:
        raise PlumeError(
            f"{', '.join(map(str, files))}: {len(blocks)} blocks of text, and {recipe.name} looks up {wanted} of other documents for each "
            f"sentence: give more documents, or fewer candidates with --set assembly.candidates={max(len(blocks), 2)}."
        )
    return Evidence(blocks, tokenizer)
