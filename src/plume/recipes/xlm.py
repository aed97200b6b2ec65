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

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.pairs import OneSide
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename
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
_SIZES = with_small(
    {
        "base": XLM,
        "en-de": replace(
            XLM,
            size="en-de",
            tokenizer=BPE(vocabulary=64699),
            embedding=replace(XLM.embedding, segments=2),
            network=replace(XLM.transformer, depth=6),
            objectives=XLM.objectives[:1],
        ),
    }
)
SIZES = {
    size: replace(recipe, embedding=replace(recipe.embedding, segments=2)) if recipe.size in ("tiny", "mini", "small") else recipe
    for size, recipe in _SIZES.items()
}


def _to_config(recipe: Recipe) -> Config:
    network = recipe.transformer
    if network.feed_forward != 4 * network.width:
        raise PlumeError(f"transformers' XLM has a feed-forward width of 4 · {network.width}; this model's is {network.feed_forward}.")
    return {
        "emb_dim": network.width,
        "n_layers": network.depth,
        "n_heads": network.heads,
        "dropout": network.dropout,
        "attention_dropout": network.attention_dropout,
        "gelu_activation": network.activation is Activation.GELU,
        "layer_norm_eps": network.epsilon,
        "init_std": network.initial_range,
        "n_langs": recipe.embedding.segments,
        "use_lang_emb": recipe.embedding.segments > 1,
        "max_position_embeddings": recipe.positions.longest,
    }


def _from_config(config: Config) -> Recipe:
    if config.get("sinusoidal_embeddings") or config.get("causal") or config.get("asm"):
        raise PlumeError("This XLM has sinusoidal positions, a causal mask or an adaptive softmax, none of which plume's XLM has.")
    width = config.get("emb_dim", 2048)
    languages = config.get("n_langs", 1) if config.get("use_lang_emb", True) else 1
    network = replace(
        XLM.transformer,
        width=width,
        depth=config.get("n_layers", 12),
        heads=config.get("n_heads", 16),
        feed_forward=4 * width,
        activation=Activation.GELU if config.get("gelu_activation", True) else Activation.RELU,
        dropout=float(config.get("dropout", 0.1)),
        attention_dropout=float(config.get("attention_dropout", 0.1)),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        initial_range=float(config.get("init_std", 0.02)),
    )
    longest = config.get("max_position_embeddings", 512)
    return replace(
        XLM,
        size="imported",
        embedding=replace(
            XLM.embedding, width=width, segments=languages if languages > 1 else 0, dropout=network.dropout, epsilon=network.epsilon
        ),
        network=network,
        positions=Learned(longest=longest),
        training=replace(XLM.training, length=min(XLM.training.length, longest)),
    )


HF = Bridge(
    model_type="xlm",
    architectures={"XLMWithLMHeadModel": ("masked_lm",), "XLMModel": ()},
    prefix="transformer.",
    token_types=False,
    languages=True,
    keys=KeyMap(
        rules=(
            Rename("embedding.token", "transformer.embeddings"),
            Rename("embedding.position.table", "transformer.position_embeddings"),
            Rename("embedding.segment", "transformer.lang_embeddings"),
            Rename("embedding.norm", "transformer.layer_norm_emb"),
            Rename("stack.blocks.*.attention.query", "transformer.attentions.*.q_lin"),
            Rename("stack.blocks.*.attention.key", "transformer.attentions.*.k_lin"),
            Rename("stack.blocks.*.attention.value", "transformer.attentions.*.v_lin"),
            Rename("stack.blocks.*.attention.output", "transformer.attentions.*.out_lin"),
            Rename("stack.blocks.*.attention_norm", "transformer.layer_norm1.*"),
            Rename("stack.blocks.*.feed_forward.inner", "transformer.ffns.*.lin1"),
            Rename("stack.blocks.*.feed_forward.output", "transformer.ffns.*.lin2"),
            Rename("stack.blocks.*.feed_forward_norm", "transformer.layer_norm2.*"),
            Rename("heads.masked_lm", "pred_layer.proj"),
        ),
        copies=(("pred_layer.proj.weight", "transformer.embeddings.weight"),),
        ignored=("transformer.position_ids",),
    ),
    to_config=_to_config,
    from_config=_from_config,
)
