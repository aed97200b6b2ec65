"""What a RAG's directory declares: rag.json beside the files of the writer; the retriever is a model directory in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.part import Part, part_from_json
from plume.tasks.rag import RetrievalAugmented
from plume.tuning.writing.ways import ByDecoder

RAG_FILE = "rag.json"
RETRIEVER = "retriever"  # the folder of what finds, where that is a model


@dataclass(frozen=True, kw_only=True)
class RagDeclared(Part):
    """What rag.json says."""

    task: RetrievalAugmented
    way: ByDecoder
    length: int  # tokens of a row that the writer reads
    longest: int  # tokens of an answer at most
    documents: tuple[str, ...]  # files of training, where they were then
    dense: bool  # is the retriever a model? Else words find


def is_rag(folder: str | Path) -> bool:
    """Does the folder hold one?"""
    return (Path(folder) / RAG_FILE).exists()


def read_rag(folder: Path) -> RagDeclared:
    """What its directory says."""
    declared = part_from_json(read_json(folder / RAG_FILE, "it should say how a RAG answers"))
    if not isinstance(declared, RagDeclared):
        raise PlumeError(f"{folder / RAG_FILE} does not say how a RAG answers.")
    return declared
