"""ERNIE (Baidu): BERT, but first characters are hidden, then phrases, then entities: what is hidden teaches what belongs together.

A unit is hidden whole, so that it cannot be guessed from its own rest ("Harry P___" is easy, "___ wrote it" is not). Use it for Chinese,
where a character alone says little, or with a lexicon of your own field (--lexicon): names of products, drugs, places. Without one, phrases
are mined from the corpus, entities are Chinese names found by jieba and English phrases in capitals, and both are written to phrases.txt in
the run's folder.

Differs from the paper:

- Phrases are mined by how words stay together, and names are found by a tagger of words (precision about .55, recall .65 on Chinese news) or by
  capitals, in a sample of the corpus; then they are marked wherever they occur. The authors had tools of their own for both.
- Where no entity is known (text in small letters, a lexicon of phrases only), the third stage repeats the second, and the run says so.
- The three stages are alike long: the paper gives their order only.
- In the entity stage single characters and words are hidden outside entities, as in the phrase stage outside phrases.
- The dialogue objective (§3.3.2), which needs forum threads, is left out; next sentence stays in its place.
- ReLU, 18,000 tokens and 513 positions are those of the published ERNIE 1.0; rate, batch and schedule are BERT's.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.heads.token_prediction import TokenPrediction
from plume.model.config_map import FixedValue
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.activation import Activation
from plume.nn.positions.learned import Learned
from plume.objectives.entity_masking import entity_masking
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.objectives.phrase_masking import phrase_masking
from plume.recipes._bert_like import PRETRAINING_HEADS, bert_bridge, body_config, pooled_heads, pretraining
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT
from plume.text.tokenizers import WordPiece

_HEAD = TokenPrediction(activation=Activation.RELU)

# Chinese by characters, English by word pieces.
ERNIE = replace(
    BERT,
    name="ernie",
    title="BERT that hides characters, then phrases, then entities",
    paper="arXiv:1904.09223",
    tokenizer=WordPiece(vocabulary=18000),
    positions=Learned(longest=513),
    network=replace(BERT.transformer, activation=Activation.RELU),
    objectives=(
        replace(masked_lm(head=_HEAD), during=(0.0, 1 / 3)),
        phrase_masking(head=_HEAD, head_of="masked_lm", during=(1 / 3, 2 / 3)),
        entity_masking(head=_HEAD, head_of="masked_lm", during=(2 / 3, 1.0)),
        next_sentence(),
    ),
    training=Training(length=512, batch=256, peak=1e-4, schedule=Linear(warmup=0.01)),
)

SIZES = with_small(ERNIE)
PARENT = "bert"

# The names of transformers' Ernie classes are BERT's under another prefix.
HF = bert_bridge(
    "Ernie",
    *PRETRAINING_HEADS,
    classes=pretraining("next_sentence"),
    config=body_config(ERNIE, FixedValue("use_task_id", False)),
    tasks=pooled_heads("Ernie"),
)
