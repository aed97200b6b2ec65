"""CTRL: a left-to-right decoder whose text begins with a control code, so that a user can say what kind of text is to be written.

The code is the label of each document, so the corpus must carry labels (JSONL with `label`); at generation `--code` chooses among them. Use
it when your text has kinds (domain, author, rating) and you want to choose one when writing. Costs what GPT costs. Write with the paper's
penalised sampling (§4.1): `plume generate --repetition-penalty 1.2 --greedy`, or with a low temperature; every family that writes has it.

Differs from the paper:

- AdamW where the authors train with Adagrad at 0.05 (§3.2), so the rate is GPT's; the warm-up is theirs, 25,000 of 800,000 steps.
- Codes are tokens of their own, one for each label of the corpus (<|Books|>), where theirs are plain words of the vocabulary.
- A repetition penalty multiplies scores below zero, where the paper divides all: dividing would make those more likely. As in the authors' code
  the prompt counts as said already; they spare line breaks.
- No penalty unless it is asked for, where generation.py has 1.2.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.labelled import CodedBlocks
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge
from plume.model.config_map import Entry
from plume.model.keymap import KeyMap, Rename, block_names, prefixed
from plume.model.recipe import Training
from plume.model.schedule import Constant
from plume.nn.activation import Activation
from plume.nn.block import Norm
from plume.nn.embedding import Embedding
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.stack import Transformer
from plume.objectives.causal_lm import causal_lm
from plume.recipes._gpt_like import decoder_config
from plume.recipes._sizes import with_small
from plume.recipes.gpt import GPT
from plume.text.tokenizers import BPE

# As in the authors' code, attention drops nothing.
CTRL = replace(
    GPT,
    name="ctrl",
    title="left-to-right decoder that is told by a control code what kind of text to write",
    paper="arXiv:1909.05858",
    tokenizer=BPE(vocabulary=246534, lowercase=False),
    embedding=Embedding(width=1280, norm=False, scaled=True, epsilon=1e-6),
    positions=Sinusoidal(longest=256, columns=SineColumns.HALVES),
    network=Transformer(
        width=1280, depth=48, heads=16, feed_forward=8192, activation=Activation.RELU, norm=Norm.PRE, attention_dropout=0.0, epsilon=1e-6
    ),
    layout=CodedBlocks(),
    objectives=(causal_lm(head=TokenPrediction(transform=False)),),
    training=Training(length=256, batch=1024, peak=2.5e-4, schedule=Constant(warmup=0.031), clip=0.25),
)

SIZES = with_small(CTRL)
PARENT = "gpt"

# Ours: theirs, below the prefix.
_BODY = {"embedding.token": "w", "stack.final_norm": "layernorm"} | block_names(
    "h.*.",
    attention=[f"multi_head_attention.{name}" for name in ("Wq", "Wk", "Wv", "dense")],
    feed_forward=("ffn.0", "ffn.2"),
    norms=("layernorm1", "layernorm2"),
)
HF = Bridge(
    model_type="ctrl",
    architectures={"CTRLLMHeadModel": ("causal_lm",), "CTRLModel": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=(*prefixed(_BODY.items(), "transformer."), Rename("heads.causal_lm", "lm_head")),
        copies=(("lm_head.weight", "transformer.w.weight"),),
    ),
    config=decoder_config(CTRL, Entry("dff", "network.feed_forward")),
)
