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

from plume.core.part import replace
from plume.data.layouts.streams import StreamsWithPairs
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import TwoStreams
from plume.model.bridge import Bridge
from plume.model.config_map import ConfigMap, ConfigRule, Entry, activation, entries
from plume.model.keymap import Headed, KeyMap, Rename
from plume.model.memory import Memory
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import choice_head, span_head, summary, text_head, token_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.relative import Relative
from plume.nn.stack import Transformer
from plume.objectives.permuted_lm import permuted_lm
from plume.recipes._sizes import sized, with_small
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

_LARGE = sized(XLNET, "large", width=1024, depth=24, heads=16)


def _with_memory(recipe: Recipe) -> Recipe:
    """A small size remembers three quarters of what it reads, as the published ones do, drops nothing, and reads forwards only."""
    return replace(
        recipe,
        memory=Memory(length=recipe.training.length * 3 // 4, reuse=0.5),
        positions=replace(recipe.positions, dropout=0.0),
        layout=replace(recipe.layout, backward=False),
    )


SIZES = with_small(XLNET, _LARGE, small=_with_memory)

_CONFIG: tuple[ConfigRule, ...] = (
    *entries(
        d_model=("network.width", "embedding.width"),
        n_layer="network.depth",
        n_head="network.heads",
        d_inner="network.feed_forward",
    ),
    activation("ff_activation"),
    *entries(
        dropout=("network.dropout", "network.attention_dropout", "embedding.dropout", "positions.dropout"),
        layer_norm_eps="network.epsilon",
        initializer_range="network.initial_range",
    ),
    Entry(
        "clamp_len",
        "positions.clamp",
        read=lambda length, look: length if length > 0 else None,
        write=lambda clamp, look: clamp or -1,
    ),
    Entry(
        "mem_len",
        "memory",
        read=lambda length, look: Memory(length=length, reuse=look("layout.reuse")) if length else look("memory"),
        write=lambda memory, look: None if memory is None else memory.length,
    ),
    # What the next row follows on is a share of the row.
    Entry(
        "reuse_len",
        "training.length",
        read=lambda reuse, look: int(reuse / look("layout.reuse")) if reuse else look("training.length"),
        write=lambda length, look: None if look("memory") is None else int(look("memory.reuse") * length),
    ),
)

# A text is labelled from its last token, <cls>, so transformers wants the padding in front.
_SUMMARY = summary("last", hidden=Activation.TANH) | {"output": "logits_proj", "pads_left": True}
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
    config=ConfigMap(base=XLNET, entries=_CONFIG, defaults={"d_model": 1024, "n_layer": 24, "n_head": 16, "d_inner": 4096}),
    tasks=(
        text_head("XLNetForSequenceClassification", **_SUMMARY),
        token_head("XLNetForTokenClassification", dropout=()),
        span_head("XLNetForQuestionAnsweringSimple"),
        choice_head("XLNetForMultipleChoice", **_SUMMARY),
    ),
)
