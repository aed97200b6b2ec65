"""Transformer: attention in place of recurrence; an encoder reads a sentence, a decoder writes its translation.

Trained on pairs only, from scratch, with smoothed labels; the parent of every other encoder–decoder here. Use it for translation, or any
text-to-text task with many pairs. A step runs two stacks, and scores the vocabulary at every token of the target.

Differs from the paper:

- A batch is 800 pairs; the paper's is 25,000 tokens a side.
- The norms' epsilon is 1e-5, as in Marian and fairseq; the paper names none, tensor2tensor has 1e-6.
- Wavelengths follow the paper's formula; in tensor2tensor the last is 10,000 · 2π exactly. Sines stand before cosines, as there.
- The decoder starts with the end token; in tensor2tensor it reads zeros.
- Checkpoints are not averaged, and a beam search ranks by the mean log-probability, not by the paper's length penalty.
"""

from __future__ import annotations

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.pairs import Fit, Translations
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import EncoderDecoder
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename, prefixed
from plume.model.recipe import Recipe, Training
from plume.model.schedule import InverseSquareRoot
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.stack import Transformer
from plume.objectives.translation import translation
from plume.recipes._sizes import with_small
from plume.text.format import Format
from plume.text.tokenizers import BPE

TRANSFORMER = Recipe(
    name="transformer",
    size="base",
    title="encoder–decoder that translates; needs a corpus of pairs",
    paper="arXiv:1706.03762",
    tokenizer=BPE(vocabulary=37000, lowercase=False),
    format=Format(
        pad="<pad>",
        unknown="<unk>",
        begin=None,
        separator="</s>",
        mask=None,
        single=("A", "</s>"),
        pair=("A", "</s>", "B", "</s>"),
        segments=(0, 0, 1, 1),
    ),
    embedding=Embedding(width=512, norm=False, scaled=True, epsilon=1e-5),
    positions=Sinusoidal(columns=SineColumns.HALVES),
    network=Transformer(
        width=512, depth=6, heads=8, feed_forward=2048, activation=Activation.RELU, attention_dropout=0.0, epsilon=1e-5
    ),
    assembly=EncoderDecoder(),
    layout=Translations(fit=Fit.APART),
    objectives=(translation(),),
    classifier=SentenceClassification(hidden=Activation.TANH),
    training=Training(
        # width^-0.5 · 4000^-0.5 is the peak of §5.3
        length=256, batch=800, peak=7e-4, schedule=InverseSquareRoot(warmup=0.04), beta2=0.98, epsilon=1e-9, decay=0.0, clip=0.0
    ),
)  # fmt: skip

SIZES = with_small(
    {
        "base": TRANSFORMER,
        "big": replace(
            TRANSFORMER,
            size="big",
            embedding=replace(TRANSFORMER.embedding, width=1024, dropout=0.3),
            network=replace(TRANSFORMER.transformer, width=1024, heads=16, feed_forward=4096, dropout=0.3),
            training=replace(TRANSFORMER.training, peak=4.9e-4, schedule=InverseSquareRoot(warmup=0.0133)),
        ),
    }
)

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "gelu_new": Activation.GELU_TANH}


def _attention(ours: str, theirs: str) -> tuple[tuple[str, str], ...]:
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    return tuple((f"{ours}.{name}", f"{theirs}.{other}") for name, other in names.items())


def _blocks(ours: str, theirs: str) -> tuple[tuple[str, str], ...]:
    return (
        *_attention(f"{ours}.blocks.*.attention", f"{theirs}.layers.*.self_attn"),
        (f"{ours}.blocks.*.attention_norm", f"{theirs}.layers.*.self_attn_layer_norm"),
        *_attention(f"{ours}.blocks.*.across", f"{theirs}.layers.*.encoder_attn"),
        (f"{ours}.blocks.*.across_norm", f"{theirs}.layers.*.encoder_attn_layer_norm"),
        (f"{ours}.blocks.*.feed_forward.inner", f"{theirs}.layers.*.fc1"),
        (f"{ours}.blocks.*.feed_forward.output", f"{theirs}.layers.*.fc2"),
        (f"{ours}.blocks.*.feed_forward_norm", f"{theirs}.layers.*.final_layer_norm"),
        (f"{ours}.final_norm", f"{theirs}.layer_norm"),
    )


# Marian's, BART's and PEGASUS' names below the prefix.
BODY = (
    ("embedding.token", "shared"),
    ("embedding.norm", "encoder.layernorm_embedding"),
    ("decoder_embedding.norm", "decoder.layernorm_embedding"),
    *_blocks("stack", "encoder"),
    *_blocks("decoder", "decoder"),
)
FIXED_POSITIONS = ("model.encoder.embed_positions", "model.decoder.embed_positions")


def body_keys(*further: Rename, ignored: tuple[str, ...] = ()) -> KeyMap:
    return KeyMap(
        rules=(*prefixed(BODY, "model."), *further),
        copies=tuple((copy, "model.shared.weight") for copy in _COPIES),
        ignored=ignored,
        zero=("final_logits_bias",),
    )


_COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def body_config(recipe: Recipe) -> Config:
    """What config.json says of an encoder and a decoder of this shape."""
    network = recipe.transformer
    assert isinstance(recipe.assembly, EncoderDecoder)
    config: Config = {
        "d_model": network.width,
        "activation_function": next(name for name, member in ACTIVATIONS.items() if member is network.activation),
        "dropout": network.dropout,
        "attention_dropout": network.attention_dropout,
        "activation_dropout": 0.0,
        "init_std": network.initial_range,
        "scale_embedding": recipe.embedding.scaled,
        "max_position_embeddings": recipe.positions.longest or 1024,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
    }
    for side, depth in (("encoder", network.depth), ("decoder", recipe.assembly.depth or network.depth)):
        config |= {f"{side}_layers": depth, f"{side}_attention_heads": network.heads, f"{side}_ffn_dim": network.feed_forward}
    return config


def body_from_config(recipe: Recipe, config: Config) -> Recipe:
    """The recipe with the sizes that config.json gives; both sides must have one shape, but may differ in depth."""
    for name in ("attention_heads", "ffn_dim"):
        if config.get(f"encoder_{name}") != config.get(f"decoder_{name}"):
            raise PlumeError(f"config.json: encoder_{name} and decoder_{name} differ, and here they are one declaration.")
    if not config.get("tie_word_embeddings", True) or not config.get("share_encoder_decoder_embeddings", True):
        raise PlumeError("config.json: encoder, decoder and output do not share their token vectors, and here they do.")
    activation = config.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise PlumeError(f"config.json: the activation '{activation}' is not known here: {', '.join(ACTIVATIONS)}.")
    depth, decoder = config.get("encoder_layers", 12), config.get("decoder_layers", 12)
    network = replace(
        recipe.transformer,
        width=config.get("d_model", 1024),
        depth=depth,
        heads=config.get("encoder_attention_heads", 16),
        feed_forward=config.get("encoder_ffn_dim", 4096),
        activation=ACTIVATIONS[activation],
        dropout=float(config.get("dropout", 0.1)),
        attention_dropout=float(config.get("attention_dropout", 0.0)),
        initial_range=float(config.get("init_std", 0.02)),
    )
    scaled = bool(config.get("scale_embedding", False))
    positions, length = recipe.positions, recipe.training.length
    if positions.longest is not None:  # sines have no end
        positions = replace(positions, longest=config.get("max_position_embeddings", 1024))
        length = min(length, config.get("max_position_embeddings", 1024))
    return replace(
        recipe,
        size="imported",
        network=network,
        embedding=replace(recipe.embedding, width=network.width, scaled=scaled, dropout=network.dropout),
        positions=positions,
        assembly=EncoderDecoder(depth=None if decoder == depth else decoder),
        training=replace(recipe.training, length=length),
    )


HF = Bridge(
    model_type="marian",
    architectures={"MarianMTModel": ("translation",), "MarianModel": ()},
    prefix="model.",
    keys=body_keys(ignored=FIXED_POSITIONS),
    to_config=lambda recipe: body_config(recipe) | {"share_encoder_decoder_embeddings": True},
    from_config=lambda config: body_from_config(TRANSFORMER, config),
)
