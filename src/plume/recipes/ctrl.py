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
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Constant
from plume.nn.activation import Activation
from plume.nn.block import Norm
from plume.nn.embedding import Embedding
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.stack import Transformer
from plume.objectives.causal_lm import causal_lm
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
        width=1280,
        depth=48,
        heads=16,
        feed_forward=8192,
        activation=Activation.RELU,
        norm=Norm.PRE,
        attention_dropout=0.0,
        epsilon=1e-6,
    ),
    layout=CodedBlocks(),
    objectives=(causal_lm(head=TokenPrediction(transform=False)),),
    training=Training(length=256, batch=1024, peak=2.5e-4, schedule=Constant(warmup=0.031), clip=0.25),
)

SIZES = with_small({"base": CTRL})


def _to_config(recipe: Recipe) -> Config:
    network = recipe.transformer
    return {
        "n_embd": network.width,
        "n_layer": network.depth,
        "n_head": network.heads,
        "dff": network.feed_forward,
        "n_positions": recipe.positions.longest,
        "resid_pdrop": network.dropout,
        "embd_pdrop": recipe.embedding.dropout,
        "layer_norm_epsilon": network.epsilon,
        "initializer_range": network.initial_range,
    }


def _from_config(config: Config) -> Recipe:
    width = config.get("n_embd", 1280)
    longest = config.get("n_positions", 256)
    return replace(
        CTRL,
        size="imported",
        embedding=replace(CTRL.embedding, width=width, dropout=float(config.get("embd_pdrop", 0.1))),
        positions=replace(CTRL.positions, longest=longest),
        network=replace(
            CTRL.transformer,
            width=width,
            depth=config.get("n_layer", 48),
            heads=config.get("n_head", 16),
            feed_forward=config.get("dff", 8192),
            dropout=float(config.get("resid_pdrop", 0.1)),
            epsilon=float(config.get("layer_norm_epsilon", 1e-6)),
            initial_range=float(config.get("initializer_range", 0.02)),
        ),
        training=replace(CTRL.training, length=min(CTRL.training.length, longest)),
    )


HF = Bridge(
    model_type="ctrl",
    architectures={"CTRLLMHeadModel": ("causal_lm",), "CTRLModel": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=(
            Rename("embedding.token", "transformer.w"),
            Rename("stack.blocks.*.attention.query", "transformer.h.*.multi_head_attention.Wq"),
            Rename("stack.blocks.*.attention.key", "transformer.h.*.multi_head_attention.Wk"),
            Rename("stack.blocks.*.attention.value", "transformer.h.*.multi_head_attention.Wv"),
            Rename("stack.blocks.*.attention.output", "transformer.h.*.multi_head_attention.dense"),
            Rename("stack.blocks.*.attention_norm", "transformer.h.*.layernorm1"),
            Rename("stack.blocks.*.feed_forward.inner", "transformer.h.*.ffn.0"),
            Rename("stack.blocks.*.feed_forward.output", "transformer.h.*.ffn.2"),
            Rename("stack.blocks.*.feed_forward_norm", "transformer.h.*.layernorm2"),
            Rename("stack.final_norm", "transformer.layernorm"),
            Rename("heads.causal_lm", "lm_head"),
        ),
        copies=(("lm_head.weight", "transformer.w.weight"),),
    ),
    to_config=_to_config,
    from_config=_from_config,
)
