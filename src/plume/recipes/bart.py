"""BART: the Transformer as a denoising autoencoder; the encoder reads a spoilt text, the decoder writes it as it was.

Spans of any length, empty ones too, become one mask, and the sentences come in a random order; `denoising` takes other noise as well
(deletion, masks, rotation). The decoder writes the whole text, so it learns to copy first, which takes a small model a few thousand steps,
and then to repair. Use it for summaries, correction, and infilling.

Differs from the paper:

- No learning rate is in the paper: RoBERTa's are kept.
- Sentences are the corpus' own; fairseq knows a sentence's end only by a full stop.
- Dropout is not switched off for the last tenth of training.
- Only the noise of the final model is the default; the others of §2.2 are objectives of their own, to be mixed in by `denoising` or by
  name.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.model.bridge import Bridge
from plume.model.keymap import Rename
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.model.task_head import own_layer, span_head, text_head
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.objectives.denoising import denoising
from plume.recipes._bart_like import body_config, body_keys
from plume.recipes._sizes import sized, with_small
from plume.recipes.transformer import TRANSFORMER
from plume.text.format import ROBERTA as ROBERTA_FORMAT
from plume.text.tokenizers import ByteLevelBPE

# The base size is that of the paper's comparison (§4: 6 layers, 768, a batch of 256), the large one that of its final model (§5: a batch of 8000).
# As in fairseq's denoising task, rows end with their document.
BART = replace(
    TRANSFORMER,
    name="bart",
    title="denoising encoder–decoder: infills spans, reorders sentences, then generates or fills",
    paper="arXiv:1910.13461",
    tokenizer=ByteLevelBPE(vocabulary=50265),
    format=ROBERTA_FORMAT,
    embedding=Embedding(width=768, epsilon=1e-5),
    positions=Learned(longest=1024, offset=2),
    network=replace(TRANSFORMER.transformer, width=768, heads=12, feed_forward=3072, activation=Activation.GELU, attention_dropout=0.1),
    layout=FullSentences(across=False),
    objectives=(denoising(),),
    training=Training(length=512, batch=256, peak=6e-4, schedule=Linear(warmup=0.048), beta2=0.98, clip=0.0),
)

_LARGE = replace(BART.training, batch=8000, peak=4e-4, schedule=Linear(warmup=0.06))
SIZES = with_small(BART, sized(BART, "large", width=1024, depth=12, heads=16, training=_LARGE))
PARENT = "transformer"

HF = Bridge(
    model_type="bart",
    architectures={"BartForConditionalGeneration": ("denoising",), "BartModel": ()},
    prefix="model.",
    keys=body_keys(
        Rename("embedding.position.table", "model.encoder.embed_positions"),
        Rename("decoder_embedding.position.table", "model.decoder.embed_positions"),
    ),
    config=body_config(BART),
    # Both read the decoder, which reads the text once more (§3.1, §3.2); transformers has no class that labels BART's tokens.
    tasks=(
        text_head("BartForSequenceClassification", **own_layer("classification_head")),
        span_head("BartForQuestionAnswering"),
    ),
)
