"""GPT: a left-to-right decoder that predicts each token from those before it.

Every token is predicted, so it learns fast, and its loss is an exact likelihood. Use it to write, to score text exactly, or as the plainest
baseline of language modelling. The scores over the vocabulary for every token make it dearer a token than BERT.

Differs from the paper:

- Text is neither mended by ftfy nor cut by spaCy before BPE; words are cut at spaces and punctuation.
- A separator stands between documents, and blocks go on across it; the authors' books were one document each.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import Blocks
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge
from plume.model.config_map import Entry, FixedValue, Implied
from plume.model.keymap import KeyMap
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Cosine
from plume.model.task_head import text_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer
from plume.objectives.causal_lm import causal_lm
from plume.recipes._gpt_like import decoder_config, decoder_keys
from plume.recipes._sizes import with_small
from plume.text.format import GPT as GPT_FORMAT
from plume.text.tokenizers import BPE

GPT = Recipe(
    name="gpt",
    size="base",
    title="left-to-right decoder; predicts the next token, generates",
    paper="Radford et al. 2018, Improving Language Understanding by Generative Pre-Training",
    tokenizer=BPE(vocabulary=40478),
    format=replace(GPT_FORMAT, unknown="<unk>"),
    embedding=Embedding(width=768, norm=False, epsilon=1e-5),
    positions=Learned(longest=512),
    network=Transformer(width=768, depth=12, heads=12, feed_forward=3072, activation=Activation.GELU_TANH, epsilon=1e-5),
    layout=Blocks(),
    objectives=(causal_lm(head=TokenPrediction(transform=False, bias=False)),),
    classifier=SentenceClassification(bias=False),
    training=Training(length=512, batch=64, peak=2.5e-4, schedule=Cosine(warmup=0.002), epsilon=1e-8),
)

SIZES = with_small(GPT)

HF = Bridge(
    model_type="openai-gpt",
    architectures={"OpenAIGPTLMHeadModel": ("causal_lm",), "OpenAIGPTModel": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=decoder_keys(token="tokens_embed", position="positions_embed"),
        copies=(("lm_head.weight", "transformer.tokens_embed.weight"),),
        ignored=("transformer.h.*.attn", "transformer.position_ids", "transformer.h.*.attn.bias"),
    ),
    config=decoder_config(
        GPT,
        Entry("attn_pdrop", "network.attention_dropout"),
        Implied("network.feed_forward", lambda look: 4 * look("network.width")),
        FixedValue("afn", "gelu"),
    ),
    tasks=(text_head("OpenAIGPTForSequenceClassification", output="score", bias=False, dropout=()),),
)
