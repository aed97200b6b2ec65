"""XLNet: Transformer-XL made bidirectional: tokens are predicted in a random order, by a second stream that knows their place only.

Sees both sides like BERT, but predicts tokens one after the other, so guesses do not ignore each other, and no mask token appears that
fine-tuning never shows. The price is the second stream and the memory. Use it for encoders where you can afford it; it also writes and
scores, as its order may be that of the text.

Differs from the paper:

- <sep> stands between documents where the authors' code has <eod>, and no <eop> marks paragraphs.
- Documents keep their order from epoch to epoch; theirs are shuffled anew in each pass.
- The 85 predictions of a row fall anywhere in it; theirs are 43 in its first half and 42 in its second.
- In rows that are read backwards a run of predicted tokens begins with a word's last token; theirs ends with a word's first.
- The exact GELU, as transformers has it, where theirs is the tanh approximation.
- No dropout inside the feed-forward network nor on the last block's output.
- The small sizes read forwards only, where half of the authors' rows run backwards (`layout.backward=true` turns it on).
"""

from __future__ import annotations

from typing import Any

from plume.core.part import replace
from plume.data.layouts.streams import StreamsWithPairs
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import TwoStreams
from plume.model.bridge import Bridge, Config
from plume.model.keymap import Headed, KeyMap, Rename
from plume.model.memory import Memory
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import choice_head, span_head, text_head, token_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.relative import Relative
from plume.nn.stack import Transformer
from plume.objectives.permuted_lm import permuted_lm
from plume.recipes._sizes import with_small
from plume.recipes.bert import ACTIVATIONS
from plume.text.format import Format
from plume.text.tokenizers import Unigram

FORMAT = Format(
    pad="<pad>",
    unknown="<unk>",
    begin="<cls>",
    separator="<sep>",
    mask="<mask>",
    single=("A", "<sep>", "<cls>"),
    single_segments=(0, 0, 2),
    pair=("A", "<sep>", "B", "<sep>", "<cls>"),
    segments=(0, 0, 1, 1, 2),
    triple=("A", "B", "<sep>", "C", "<sep>", "<cls>"),  # A goes into the memory
    triple_segments=(0, 0, 0, 1, 1, 2),
    order=("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"),
)

# The paper's large settings (appendix A.4); its base model has BERT's size.
XLNET = Recipe(
    name="xlnet",
    size="base",
    title="predicts tokens in a random order from both sides, with a memory; fills blanks and generates",
    paper="arXiv:1906.08237",
    tokenizer=Unigram(vocabulary=32000),
    format=FORMAT,
    embedding=Embedding(width=768, norm=False),
    positions=Relative(untied=True, segments=True),
    network=Transformer(width=768, depth=12, heads=12, feed_forward=3072, attention_bias=False),
    layout=StreamsWithPairs(reuse=0.5, backward=True),
    assembly=TwoStreams(),
    memory=Memory(length=384, reuse=0.5),
    objectives=(permuted_lm(),),
    classifier=SentenceClassification(hidden=Activation.TANH),
    training=Training(length=512, batch=8192, peak=4e-4, schedule=Linear(warmup=0.08)),
)

_LARGE = replace(
    XLNET,
    size="large",
    embedding=replace(XLNET.embedding, width=1024),
    network=replace(XLNET.transformer, width=1024, depth=24, heads=16, feed_forward=4096),
)

_PUBLISHED = {"base": XLNET, "large": _LARGE}


def _with_memory(recipe: Recipe) -> Recipe:
    """A small size remembers three quarters of what it reads, as the published ones do, drops nothing, and reads forwards only."""
    return replace(
        recipe,
        memory=Memory(length=recipe.training.length * 3 // 4, reuse=0.5),
        positions=replace(recipe.positions, dropout=0.0),
        layout=replace(recipe.layout, backward=False),
    )


SIZES = {size: recipe if size in _PUBLISHED else _with_memory(recipe) for size, recipe in with_small(_PUBLISHED).items()}


def _to_config(recipe: Recipe) -> Config:
    network, memory, positions = recipe.transformer, recipe.memory, recipe.positions
    assert isinstance(positions, Relative)
    return {
        "d_model": network.width,
        "n_layer": network.depth,
        "n_head": network.heads,
        "d_inner": network.feed_forward,
        "ff_activation": next(name for name, member in ACTIVATIONS.items() if member is network.activation),
        "dropout": network.dropout,
        "layer_norm_eps": network.epsilon,
        "initializer_range": network.initial_range,
        "clamp_len": positions.clamp or -1,
        "mem_len": None if memory is None else memory.length,
        "reuse_len": None if memory is None else int(memory.reuse * recipe.training.length),
    }


def _from_config(config: Config) -> Recipe:
    width, dropout = config.get("d_model", 1024), float(config.get("dropout", 0.1))
    clamp, length, reuse = config.get("clamp_len", -1), config.get("mem_len"), config.get("reuse_len")
    assert isinstance(XLNET.layout, StreamsWithPairs)
    return replace(
        XLNET,
        size="imported",
        embedding=replace(XLNET.embedding, width=width, dropout=dropout),
        positions=replace(XLNET.positions, clamp=clamp if clamp > 0 else None, dropout=dropout),
        network=replace(
            XLNET.transformer,
            width=width,
            depth=config.get("n_layer", 24),
            heads=config.get("n_head", 16),
            feed_forward=config.get("d_inner", 4096),
            activation=ACTIVATIONS[config.get("ff_activation", "gelu")],
            dropout=dropout,
            attention_dropout=dropout,
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
            initial_range=float(config.get("initializer_range", 0.02)),
        ),
        memory=Memory(length=length, reuse=XLNET.layout.reuse) if length else XLNET.memory,
        training=replace(XLNET.training, length=int(reuse / XLNET.layout.reuse) if reuse else XLNET.training.length),
    )


# A text is labelled from its last token, <cls>, so transformers wants the padding in front.
_SUMMARY: dict[str, Any] = {
    "dense": "sequence_summary.summary",
    "output": "logits_proj",
    "hidden": Activation.TANH,
    "pads_left": True,
    "dropout": ("summary_first_dropout", "summary_last_dropout"),
    "config": {"summary_type": "last", "summary_use_proj": True, "summary_activation": "tanh"},
}
_LAYER, _U = "transformer.layer.*", "embedding.position.content_bias.*"

HF = Bridge(
    model_type="xlnet",
    architectures={"XLNetLMHeadModel": ("permuted_lm",), "XLNetModel": ()},
    prefix="transformer.",
    keys=KeyMap(
        rules=(
            Rename("embedding.token", "transformer.word_embedding"),
            Rename("query_start", "transformer.mask_emb", axes=2),
            Headed("stack.blocks.*.attention.query", f"{_LAYER}.rel_attn.q", heads=_U),
            Headed("stack.blocks.*.attention.key", f"{_LAYER}.rel_attn.k", heads=_U),
            Headed("stack.blocks.*.attention.value", f"{_LAYER}.rel_attn.v", heads=_U),
            Headed("stack.blocks.*.attention.output", f"{_LAYER}.rel_attn.o", heads=_U, output=True),
            Headed("embedding.position.blocks.*.project", f"{_LAYER}.rel_attn.r", heads=_U),
            Rename("embedding.position.content_bias.*", f"{_LAYER}.rel_attn.r_w_bias"),
            Rename("embedding.position.position_bias.*", f"{_LAYER}.rel_attn.r_r_bias"),
            Rename("embedding.position.blocks.*.segment_bias", f"{_LAYER}.rel_attn.r_s_bias"),
            Rename("embedding.position.blocks.*.segment", f"{_LAYER}.rel_attn.seg_embed"),
            Rename("stack.blocks.*.attention_norm", f"{_LAYER}.rel_attn.layer_norm"),
            Rename("stack.blocks.*.feed_forward.inner", f"{_LAYER}.ff.layer_1"),
            Rename("stack.blocks.*.feed_forward.output", f"{_LAYER}.ff.layer_2"),
            Rename("stack.blocks.*.feed_forward_norm", f"{_LAYER}.ff.layer_norm"),
            Rename("heads.permuted_lm", "lm_loss"),
        ),
        copies=(("lm_loss.weight", "transformer.word_embedding.weight"),),
    ),
    to_config=_to_config,
    from_config=_from_config,
    tasks=(
        text_head("XLNetForSequenceClassification", **_SUMMARY),
        token_head("XLNetForTokenClassification", dropout=()),
        span_head("XLNetForQuestionAnsweringSimple"),
        choice_head("XLNetForMultipleChoice", **_SUMMARY),
    ),
)
