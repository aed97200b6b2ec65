"""GPT-2: GPT, but norms before each sublayer and at the end, bytes, longer text, smaller first weights into the residual.

Easier to train deep than GPT, and no text is unknown to it. The usual choice for writing; costs what GPT costs.

Differs from the paper:

- It states neither learning rate nor schedule: GPT's are kept.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.model.bridge import Bridge
from plume.model.config_map import Entry, FixedValue
from plume.model.keymap import KeyMap, Rename
from plume.model.task_head import span_head, text_head, token_head
from plume.nn.block import Norm
from plume.nn.positions.learned import Learned
from plume.recipes._gpt_like import decoder_config, decoder_keys
from plume.recipes._sizes import sized, with_small
from plume.recipes.gpt import GPT
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

SIZES = with_small(
    GPT2,
    sized(GPT2, "medium", width=1024, depth=24, heads=16),
    sized(GPT2, "large", width=1280, depth=36, heads=20),
    sized(GPT2, "xl", width=1600, depth=48, heads=25),
)
PARENT = "gpt"

HF = Bridge(
    model_type="gpt2",
    architectures={"GPT2LMHeadModel": ("causal_lm",), "GPT2Model": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=(*decoder_keys(token="wte", position="wpe"), Rename("stack.final_norm", "transformer.ln_f")),
        copies=(("lm_head.weight", "transformer.wte.weight"),),
        ignored=("transformer.h.*.attn", "transformer.h.*.attn.masked_bias"),
    ),
    config=decoder_config(
        GPT2,
        Entry("attn_pdrop", "network.attention_dropout"),
        Entry("n_inner", "network.feed_forward", read=lambda inner, look: inner or 4 * look("network.width")),
        FixedValue("activation_function", "gelu_new"),
        n_inner=None,
    ),
    tasks=(
        text_head("GPT2ForSequenceClassification", output="score", bias=False, dropout=()),
        token_head("GPT2ForTokenClassification"),
        span_head("GPT2ForQuestionAnswering"),
    ),
)
