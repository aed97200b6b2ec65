"""BERT: a deep bidirectional encoder that fills blanks and tells whether one sentence follows another.

The reference point of this page. 15% of the tokens are hidden (80% shown as a mask, 10% as a random token, 10% as they are) and predicted
from both sides; half of the sentence pairs are torn apart, and a second head says which. Use it when you want the best-known baseline, or a
checkpoint that every tool can read. Only one token in seven is predicted, so it learns less from a token read than GPT or ELECTRA do.

Masks are static: pairs and masks are drawn ten times over the text, then the same examples come again in another order (dupe_factor of
create_pretraining_data.py). `--set objectives.masked_lm.noise.duplicates=0` draws them anew each epoch, as RoBERTa does.

Differs from the paper:

- rows have one length all along; the authors train nine tenths of the run at 128 tokens and the rest at 512.
- torch's AdamW corrects the moments for their start at 0, the authors' Adam does not; their rate falls from the first step on, here from the
  end of the warm-up.
- one chunk in ten aims at a shorter row; in the authors' code it is one document in ten, with all its chunks.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename, prefixed
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import TaskHead, choice_head, span_head, text_head, token_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.recipes._sizes import with_small
from plume.text.format import BERT as BERT_FORMAT
from plume.text.tokenizers import WordPiece

BERT = Recipe(
    name="bert",
    size="base",
    title="bidirectional encoder; fills blanks, judges whether B follows A",
    paper="arXiv:1810.04805",
    tokenizer=WordPiece(vocabulary=30522),
    format=BERT_FORMAT,
    embedding=Embedding(width=768, segments=2),
    positions=Learned(longest=512),
    network=Transformer(width=768, depth=12, heads=12, feed_forward=3072),
    pooler=True,
    layout=SentencePairs(label=PairLabel.RANDOM_NEXT),
    objectives=(masked_lm(duplicates=10), next_sentence()),
    training=Training(length=512, batch=256, peak=1e-4, schedule=Linear(warmup=0.01)),
)

SIZES = with_small(
    {
        "base": BERT,
        "large": replace(
            BERT,
            size="large",
            embedding=replace(BERT.embedding, width=1024),
            network=replace(BERT.transformer, width=1024, depth=24, heads=16, feed_forward=4096),
        ),
    }
)

ACTIVATIONS = {"gelu": Activation.GELU, "gelu_new": Activation.GELU_TANH, "relu": Activation.RELU}

# The body's names below the prefix; RoBERTa's and ELECTRA's are the same.
BODY = (
    ("embedding.token", "embeddings.word_embeddings"),
    ("embedding.position.table", "embeddings.position_embeddings"),
    ("embedding.segment", "embeddings.token_type_embeddings"),
    ("embedding.norm", "embeddings.LayerNorm"),
    ("stack.project", "embeddings_project"),
    ("stack.blocks.*.attention.query", "encoder.layer.*.attention.self.query"),
    ("stack.blocks.*.attention.key", "encoder.layer.*.attention.self.key"),
    ("stack.blocks.*.attention.value", "encoder.layer.*.attention.self.value"),
    ("stack.blocks.*.attention.output", "encoder.layer.*.attention.output.dense"),
    ("stack.blocks.*.attention_norm", "encoder.layer.*.attention.output.LayerNorm"),
    ("stack.blocks.*.feed_forward.inner", "encoder.layer.*.intermediate.dense"),
    ("stack.blocks.*.feed_forward.output", "encoder.layer.*.output.dense"),
    ("stack.blocks.*.feed_forward_norm", "encoder.layer.*.output.LayerNorm"),
    ("pooler.dense", "pooler.dense"),
)


def body_config(recipe: Recipe) -> Config:
    """What config.json says of an encoder of this shape."""
    network, embedding = recipe.transformer, recipe.embedding
    return {
        "hidden_size": network.width,
        "num_hidden_layers": network.depth,
        "num_attention_heads": network.heads,
        "intermediate_size": network.feed_forward,
        "hidden_act": next(name for name, member in ACTIVATIONS.items() if member is network.activation),
        "hidden_dropout_prob": network.dropout,
        "attention_probs_dropout_prob": network.attention_dropout,
        "layer_norm_eps": network.epsilon,
        "initializer_range": network.initial_range,
        "type_vocab_size": embedding.segments,
    }


def body_from_config(recipe: Recipe, config: Config) -> Recipe:
    """The recipe with the sizes that config.json gives; what it leaves out stays as the paper has it."""
    network = replace(
        recipe.transformer,
        width=config.get("hidden_size", 768),
        depth=config.get("num_hidden_layers", 12),
        heads=config.get("num_attention_heads", 12),
        feed_forward=config.get("intermediate_size", 3072),
        activation=ACTIVATIONS[config.get("hidden_act", "gelu")],
        dropout=float(config.get("hidden_dropout_prob", 0.1)),
        attention_dropout=float(config.get("attention_probs_dropout_prob", 0.1)),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        initial_range=float(config.get("initializer_range", 0.02)),
    )
    embedding = replace(
        recipe.embedding,
        width=config.get("embedding_size", network.width),
        segments=config.get("type_vocab_size", recipe.embedding.segments),
        dropout=network.dropout,
        epsilon=network.epsilon,
    )
    assert isinstance(recipe.positions, Learned)
    rows = config.get("max_position_embeddings", 512)
    positions = replace(recipe.positions, longest=rows - recipe.positions.offset)
    training = replace(recipe.training, length=min(recipe.training.length, positions.longest))
    return replace(recipe, size="imported", network=network, embedding=embedding, positions=positions, training=training)


def _to_config(recipe: Recipe) -> Config:
    return body_config(recipe) | {"max_position_embeddings": recipe.positions.longest}


def pooled_heads(stem: str, *, dropout: str = "classifier_dropout") -> tuple[TaskHead, ...]:
    """BERT's and ALBERT's: a text is labelled through the pooler."""
    return (
        text_head(f"{stem}ForSequenceClassification", pooler=True, dropout=(dropout,)),
        token_head(f"{stem}ForTokenClassification", dropout=(dropout,)),
        span_head(f"{stem}ForQuestionAnswering"),
        choice_head(f"{stem}ForMultipleChoice", pooler=True, dropout=(dropout,)),
    )


HF = Bridge(
    model_type="bert",
    architectures={"BertForPreTraining": ("masked_lm", "next_sentence"), "BertForMaskedLM": ("masked_lm",), "BertModel": ()},
    prefix="bert.",
    keys=KeyMap(
        rules=(
            *prefixed(BODY, "bert."),
            Rename("heads.masked_lm.dense", "cls.predictions.transform.dense"),
            Rename("heads.masked_lm.norm", "cls.predictions.transform.LayerNorm"),
            Rename("heads.masked_lm", "cls.predictions"),
            Rename("heads.next_sentence.output", "cls.seq_relationship"),
        ),
        copies=(
            ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
            ("cls.predictions.decoder.bias", "cls.predictions.bias"),
        ),
        ignored=("bert.embeddings.position_ids",),
    ),
    to_config=_to_config,
    from_config=lambda config: body_from_config(BERT, config),
    tasks=pooled_heads("Bert"),
)
