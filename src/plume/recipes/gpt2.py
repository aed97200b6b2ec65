"""GPT-2: GPT, but norms before each sublayer and at the end, bytes, longer text, smaller first weights into the residual.

Easier to train deep than GPT, and no text is unknown to it. The usual choice for writing; costs what GPT costs.

Differs from the paper:

- It states neither learning rate nor schedule: GPT's are kept.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.model.bridge import Bridge
from plume.model.keymap import KeyMap, Rename
from plume.model.recipe import Recipe
from plume.model.task_head import span_head, text_head, token_head
from plume.nn.block import Norm
from plume.nn.positions.learned import Learned
from plume.recipes._sizes import with_small
from plume.recipes.gpt import GPT, decoder_config, decoder_from_config, decoder_rules
from plume.text.format import GPT as GPT_FORMAT
from plume.text.tokenizers import ByteLevelBPE

GPT2 = replace(
    GPT,
    name="gpt2",
    title="GPT with norms first, bytes and longer text",
    paper="Radford et al. 2019, Language Models are Unsupervised Multitask Learners",
    tokenizer=ByteLevelBPE(vocabulary=50257),
    format=GPT_FORMAT,
    positions=Learned(longest=1024),
    network=replace(GPT.transformer, norm=Norm.PRE, residual_scaling=True),
    training=replace(GPT.training, length=1024, batch=512),
)


def _sized(size: str, *, width: int, depth: int, heads: int) -> Recipe:
    return replace(
        GPT2,
        size=size,
        embedding=replace(GPT2.embedding, width=width),
        network=replace(GPT2.transformer, width=width, depth=depth, heads=heads, feed_forward=4 * width),
    )


SIZES = with_small(
    {
        "base": GPT2,
        "medium": _sized("medium", width=1024, depth=24, heads=16),
        "large": _sized("large", width=1280, depth=36, heads=20),
        "xl": _sized("xl", width=1600, depth=48, heads=25),
    }
)

HF = Bridge(
    model_type="gpt2",
    architectures={"GPT2LMHeadModel": ("causal_lm",), "GPT2Model": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=(*decoder_rules(token="wte", position="wpe"), Rename("stack.final_norm", "transformer.ln_f")),
        copies=(("lm_head.weight", "transformer.wte.weight"),),
        ignored=("transformer.h.*.attn", "transformer.h.*.attn.masked_bias"),
    ),
    to_config=lambda recipe: decoder_config(recipe) | {"activation_function": "gelu_new", "n_inner": recipe.transformer.feed_forward},
    from_config=lambda config: decoder_from_config(GPT2, config),
    tasks=(
        text_head("GPT2ForSequenceClassification", output="score", bias=False, dropout=()),
        token_head("GPT2ForTokenClassification"),
        span_head("GPT2ForQuestionAnswering"),
    ),
)
