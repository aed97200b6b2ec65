"""DPR's encoders as transformers writes them: a BERT in a wrapper, whose vector is the state of its first token (arXiv:2004.04906 §3.1)."""

from __future__ import annotations

import re
from pathlib import Path

from plume.core.errors import PlumeError
from plume.model.config_map import Config
from plume.model.keymap import State
from plume.nn.pooling import FIRST, Pooling
from plume.vectors.sentence import SentenceVectors, Similarity

DPR = "dpr"  # the type of its config.json
_WRAPPED = re.compile(r"^(question_encoder|ctx_encoder)\.bert_model\.")
_WAS = "dpr_encoder"  # in the config, once it is read as BERT's


def as_bert(config: Config, folder: Path) -> Config:
    """The configuration of the BERT inside."""
    architectures = config.get("architectures") or []
    if any("Reader" in one for one in architectures):
        raise PlumeError(f"{folder} holds a reader of DPR: its encoders can be imported, DPRQuestionEncoder and DPRContextEncoder.")
    if config.get("projection_dim"):
        raise PlumeError(
            f"{folder} projects its vectors to {config['projection_dim']} dimensions, which none of the published encoders does."
        )
    return {**config, "model_type": "bert", "architectures": ["BertModel"], _WAS: True}


def without_wrapping(state: State) -> State:
    """The names of the BERT inside; of every other model the names it has."""
    if not any(_WRAPPED.match(name) for name in state):
        return state
    return {_WRAPPED.sub("", name): value for name, value in state.items()}


def dpr_vectors(config: Config) -> SentenceVectors | None:
    """The first token's state, compared by the inner product."""
    return SentenceVectors(pooling=Pooling(tokens=(FIRST,)), similarity=Similarity.DOT) if config.get(_WAS) else None
