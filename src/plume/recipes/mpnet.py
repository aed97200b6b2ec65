"""MPNet: BERT and XLNet at once: tokens are predicted in a random order, and every prediction knows where all the others stand.

XLNet's predictions see only part of the row; MPNet also shows masks for what is still to come, so every prediction knows how long the row
is and where the gaps are. Its body, without the second stream, is a BERT with T5's position biases, and the base of many sentence encoders.
Use it for embeddings. In pre-training the second stream and the mask copies cost about a third more than BERT; in use nothing.

Differs from the paper:

- Rows of 512 are 445 tokens of text and the copies of those to be predicted; the authors' rows are 512 of text.
- The order is a permutation of single tokens, also inside whole words; the authors permute whole words.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import QueryStart, TwoStreams
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename, prefixed
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import choice_head, own_layer, span_head, text_head, token_head
from plume.nn.activation import Activation
from plume.nn.positions.learned import Learned
from plume.nn.positions.t5 import LearnedAndBuckets
from plume.objectives.masked_permuted_lm import masked_permuted_lm
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT, BODY, body_config, body_from_config
from plume.text.format import ROBERTA as ROBERTA_FORMAT
from plume.text.tokenizers import WordPiece

# Rows, optimizer and schedule are RoBERTa's, as §3.1 says; the vocabulary is BERT's with RoBERTa's special tokens.
MPNET = replace(
    BERT,
    name="mpnet",
    title="predicts hidden words in a random order, knowing where the still hidden ones stand",
    paper="arXiv:2004.09297",
    tokenizer=WordPiece(vocabulary=30527),
    format=replace(ROBERTA_FORMAT, unknown="[UNK]", order=("<s>", "<pad>", "</s>", "[UNK]", "<mask>")),
    embedding=replace(BERT.embedding, segments=0, epsilon=1e-5),
    positions=LearnedAndBuckets(longest=512, offset=2, buckets=32, distance=128),
    network=replace(BERT.transformer, epsilon=1e-5),
    pooler=False,
    assembly=TwoStreams(query=QueryStart.MASK),
    layout=FullSentences(),
    objectives=(masked_permuted_lm(head=TokenPrediction(epsilon=1e-5)),),
    classifier=SentenceClassification(hidden=Activation.TANH),
    training=Training(length=512, batch=8192, peak=6e-4, schedule=Linear(warmup=0.048), beta2=0.98, clip=0.0),
)

SIZES = with_small({"base": MPNET})


def _to_config(recipe: Recipe) -> Config:
    assert isinstance(recipe.positions, LearnedAndBuckets)
    config = body_config(recipe) | {
        "max_position_embeddings": recipe.positions.longest + recipe.positions.offset,
        "relative_attention_num_buckets": recipe.positions.buckets,
    }
    del config["type_vocab_size"]
    return config


def _from_config(config: Config) -> Recipe:
    found = body_from_config(replace(MPNET, positions=Learned(longest=512, offset=2)), config)
    head = TokenPrediction(epsilon=found.transformer.epsilon)
    assert isinstance(MPNET.positions, LearnedAndBuckets) and found.positions.longest is not None
    positions = replace(
        MPNET.positions, longest=found.positions.longest, buckets=config.get("relative_attention_num_buckets", MPNET.positions.buckets)
    )
    return replace(found, positions=positions, objectives=(masked_permuted_lm(head=head),))


# BERT's names but for the attention and the positions.
_OWN = {
    "embedding.position.table": "encoder.relative_attention_bias",
    "stack.blocks.*.attention.query": "encoder.layer.*.attention.attn.q",
    "stack.blocks.*.attention.key": "encoder.layer.*.attention.attn.k",
    "stack.blocks.*.attention.value": "encoder.layer.*.attention.attn.v",
    "stack.blocks.*.attention.output": "encoder.layer.*.attention.attn.o",
    "stack.blocks.*.attention_norm": "encoder.layer.*.attention.LayerNorm",
    "embedding.position.absolute.table": "embeddings.position_embeddings",
}
_BODY = tuple((dict(BODY) | _OWN).items())

HF = Bridge(
    model_type="mpnet",
    architectures={"MPNetForMaskedLM": ("masked_permuted_lm",), "MPNetModel": ()},
    prefix="mpnet.",
    keys=KeyMap(
        rules=(
            *prefixed(_BODY, "mpnet."),
            Rename("heads.masked_permuted_lm.dense", "lm_head.dense"),
            Rename("heads.masked_permuted_lm.norm", "lm_head.layer_norm"),
            Rename("heads.masked_permuted_lm", "lm_head"),
        ),
        copies=(
            ("lm_head.decoder.weight", "mpnet.embeddings.word_embeddings.weight"),
            ("lm_head.decoder.bias", "lm_head.bias"),
        ),
        ignored=("mpnet.embeddings.position_ids",),
    ),
    to_config=_to_config,
    from_config=_from_config,
    tasks=(
        text_head("MPNetForSequenceClassification", dropout=(), **own_layer("classifier")),
        token_head("MPNetForTokenClassification", dropout=()),
        span_head("MPNetForQuestionAnswering"),
        choice_head("MPNetForMultipleChoice", dense="mpnet.pooler.dense", hidden=Activation.TANH, dropout=()),
    ),
)
