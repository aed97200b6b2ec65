"""GPT: a left-to-right decoder that predicts each token from those before it.

Every token is predicted, so it learns fast, and its loss is an exact likelihood. Use it to write, to score text exactly, or as the plainest
baseline of language modelling. The scores over the vocabulary for every token make it dearer a token than BERT.

Differs from the paper:

- Text is neither mended by ftfy nor cut by spaCy before BPE; words are cut at spaces and punctuation.
- A separator stands between documents, and blocks go on across it; the authors' books were one document each.
"""

from __future__ import annotations

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.layout import Blocks
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge, Config
from plume.model.keymap import Fused, KeyMap, Rename
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Cosine
from plume.model.task_head import text_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer
from plume.objectives.causal_lm import causal_lm
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

SIZES = with_small({"base": GPT})


def decoder_rules(*, token: str, position: str, body: str = "transformer") -> tuple[Rename | Fused, ...]:
    """GPT's and GPT-2's names: matrices input-first, query, key and value side by side."""
    return (
        Rename("embedding.token", f"{body}.{token}"),
        Rename("embedding.position.table", f"{body}.{position}"),
        Fused(tuple(f"stack.blocks.*.attention.{part}" for part in ("query", "key", "value")), f"{body}.h.*.attn.c_attn"),
        Rename("stack.blocks.*.attention.output", f"{body}.h.*.attn.c_proj", transposed=True),
        Rename("stack.blocks.*.feed_forward.inner", f"{body}.h.*.mlp.c_fc", transposed=True),
        Rename("stack.blocks.*.feed_forward.output", f"{body}.h.*.mlp.c_proj", transposed=True),
        Rename("stack.blocks.*.attention_norm", f"{body}.h.*.ln_1"),
        Rename("stack.blocks.*.feed_forward_norm", f"{body}.h.*.ln_2"),
    )


def decoder_config(recipe: Recipe) -> Config:
    network = recipe.transformer
    return {
        "n_embd": network.width,
        "n_layer": network.depth,
        "n_head": network.heads,
        "n_positions": recipe.positions.longest,
        "resid_pdrop": network.dropout,
        "attn_pdrop": network.attention_dropout,
        "embd_pdrop": recipe.embedding.dropout,
        "layer_norm_epsilon": network.epsilon,
        "initializer_range": network.initial_range,
    }


def decoder_from_config(recipe: Recipe, config: Config) -> Recipe:
    width = config.get("n_embd", 768)
    network = replace(
        recipe.transformer,
        width=width,
        depth=config.get("n_layer", 12),
        heads=config.get("n_head", 12),
        feed_forward=config.get("n_inner") or 4 * width,
        dropout=float(config.get("resid_pdrop", 0.1)),
        attention_dropout=float(config.get("attn_pdrop", 0.1)),
        epsilon=float(config.get("layer_norm_epsilon", 1e-5)),
        initial_range=float(config.get("initializer_range", 0.02)),
    )
    embedding = replace(recipe.embedding, width=width, dropout=float(config.get("embd_pdrop", 0.1)))
    longest = int(config.get("n_positions", recipe.positions.longest or 512))
    training = replace(recipe.training, length=min(recipe.training.length, longest))
    return replace(recipe, size="imported", network=network, embedding=embedding, positions=Learned(longest=longest), training=training)


def _to_config(recipe: Recipe) -> Config:
    if recipe.transformer.feed_forward != 4 * recipe.transformer.width:
        raise PlumeError("transformers' GPT has a feed-forward of four times its width; this one differs. Export gpt2 instead.")
    return decoder_config(recipe) | {"afn": "gelu"}


HF = Bridge(
    model_type="openai-gpt",
    architectures={"OpenAIGPTLMHeadModel": ("causal_lm",), "OpenAIGPTModel": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=decoder_rules(token="tokens_embed", position="positions_embed"),
        copies=(("lm_head.weight", "transformer.tokens_embed.weight"),),
        ignored=("transformer.h.*.attn", "transformer.position_ids", "transformer.h.*.attn.bias"),
    ),
    to_config=_to_config,
    from_config=lambda config: decoder_from_config(GPT, config),
    tasks=(text_head("OpenAIGPTForSequenceClassification", output="score", bias=False, dropout=()),),
)
