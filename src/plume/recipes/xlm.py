"""XLM: BERT on several languages at once, each with a vector of its own, and on sentences beside their translations.

Rows of one language alternate with pairs, in which a hidden word can be read off the other side; positions begin again there, so that words
and their translations stand near each other. Use it with a corpus of pairs, to search or classify in one language what was labelled in
another. A text is read with its language's vector: the one that is said (`language=`, `--language`, a row's `language`), or the one that
its script or its words tell.

Differs from the paper:

- Rows begin with `<s>` and have one `</s>` between the texts of a pair, as the published tokenizers write them; in the authors' training they
  begin with `</s>`, and translations have two between them, at the second of which positions begin again (ours do with the second text).
- 15% of the tokens of each row are hidden; the authors draw each token by itself.
- Frequent tokens are hidden as often as others (§3.2 weighs them down; that is off in the authors' code too).
- All text comes from the pairs, and languages come as often as they have rows; the paper reads Wikipedia beside them, and draws rare languages
  more often (§3.1, and lg_sampling_factor in the code).
- Rows of one language hold whole sentences; the authors' are a stream, cut every 256 tokens.
- The rate falls linearly after its warm-up; the authors' commands hold it at 1e-4.
- Causal LM (§3.2) is not among the objectives: `--objective causal_lm` trains it.
- In tasks of English alone (GLUE) the authors add no language vector; here a text always has its own. Pairs of a task are laid out as in their
  XNLI: positions go on.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.pairs import OneSide
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge
from plume.model.config_map import ConfigMap, ConfigRule, Entry, FixedValue, Implied, Word, entries
from plume.model.keymap import KeyMap, Rename, block_names, prefixed
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer
from plume.objectives.masked_lm import masked_lm
from plume.objectives.translation_lm import translation_lm
from plume.recipes._sizes import with_small
from plume.text.format import Format
from plume.text.tokenizers import BPE

# <special1> is the mask; the others of the ten are kept so that ids are those of the published vocabularies.
FORMAT = Format(
    pad="<pad>",
    unknown="<unk>",
    begin="<s>",
    separator="</s>",
    mask="<special1>",
    single=("<s>", "A", "</s>"),
    pair=("<s>", "A", "</s>", "B", "</s>"),
    order=("<s>", "</s>", "<pad>", "<unk>", *(f"<special{number}>" for number in range(10))),
)
_HEAD = TokenPrediction(transform=False)

# A segment is a language, numbered in the order of their names.
XLM = Recipe(
    name="xlm",
    size="base",
    title="BERT on several languages at once, and on sentences beside their translations",
    paper="arXiv:1901.07291",
    tokenizer=BPE(vocabulary=95000),
    format=FORMAT,
    embedding=Embedding(width=1024, segments=15),
    positions=Learned(longest=512),
    network=Transformer(width=1024, depth=12, heads=8, feed_forward=4096),
    layout=OneSide(),
    objectives=(masked_lm(head=_HEAD), translation_lm(head=_HEAD, head_of="masked_lm")),
    training=Training(length=256, batch=64, peak=1e-4, schedule=Linear(warmup=0.01)),
)

# xlm-mlm-tlm-xnli15-1024 is "base"; xlm-mlm-ende-1024 has no translations to read.
_EN_DE = replace(
    XLM,
    size="en-de",
    tokenizer=BPE(vocabulary=64699),
    embedding=replace(XLM.embedding, segments=2),
    network=replace(XLM.transformer, depth=6),
    objectives=XLM.objectives[:1],
)
SIZES = with_small(XLM, _EN_DE, small=lambda recipe: replace(recipe, embedding=replace(recipe.embedding, segments=2)))

_NONE_HERE = "this XLM has sinusoidal positions, a causal mask or an adaptive softmax, none of which plume's has"
_CONFIG: tuple[ConfigRule, ...] = (
    *entries(emb_dim=("network.width", "embedding.width"), n_layers="network.depth", n_heads="network.heads"),
    Implied("network.feed_forward", lambda look: 4 * look("network.width")),
    *entries(dropout=("network.dropout", "embedding.dropout"), attention_dropout="network.attention_dropout"),
    Word("gelu_activation", ("network.activation",), {True: (Activation.GELU,), False: (Activation.RELU,)}),
    *entries(layer_norm_eps=("network.epsilon", "embedding.epsilon"), init_std="network.initial_range"),
    Entry("n_langs", "embedding.segments", read=lambda languages, look: languages if languages > 1 else 0),
    Entry(
        "use_lang_emb",
        "embedding.segments",
        read=lambda used, look: look("embedding.segments") if used else 0,
        write=lambda segments, look: segments > 1,
    ),
    *entries(max_position_embeddings="positions.longest"),
    *(FixedValue(key, False, otherwise=_NONE_HERE, written=False) for key in ("sinusoidal_embeddings", "causal", "asm")),
)
# Ours: theirs, below the prefix.
_BODY = {
    "embedding.token": "embeddings",
    "embedding.position.table": "position_embeddings",
    "embedding.segment": "lang_embeddings",
    "embedding.norm": "layer_norm_emb",
    **block_names(
        "",
        attention=[f"attentions.*.{name}" for name in ("q_lin", "k_lin", "v_lin", "out_lin")],
        feed_forward=("ffns.*.lin1", "ffns.*.lin2"),
        norms=("layer_norm1.*", "layer_norm2.*"),
    ),
}

HF = Bridge(
    model_type="xlm",
    architectures={"XLMWithLMHeadModel": ("masked_lm",), "XLMModel": ()},
    prefix="transformer.",
    token_types=False,
    languages=True,
    keys=KeyMap(
        rules=(*prefixed(_BODY.items(), "transformer."), Rename("heads.masked_lm", "pred_layer.proj")),
        copies=(("pred_layer.proj.weight", "transformer.embeddings.weight"),),
        ignored=("transformer.position_ids",),
    ),
    config=ConfigMap(base=XLM, entries=_CONFIG, defaults={"emb_dim": 2048, "n_heads": 16, "n_langs": 1}),
)
