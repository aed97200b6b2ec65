"""PEGASUS: an encoder–decoder trained for summaries: the sentences that say most of the rest are taken out, and it writes them.

Sentences are scored by ROUGE-1 against the rest of the document (in Chinese by character), and the best are asked for: close to what a
summary is. It needs documents of several sentences. Use it for summarising, above all with few examples. The published sizes are trained by
Adafactor.

Differs from the paper:

- the authors cut a document at 512 tokens and the target at 256; here rows go on through the document, and a target is as long as its
  sentences.
- every word counts in ROUGE but those that the tokenizer does not know; the authors leave out English stop words. Scores of the large size are
  disturbed evenly, as their README says; their code draws a normal noise.
- the base size of the paper's ablations is here that of gap sentences alone: masked tokens beside them helped it little and were left out of
  the large one (§6.1).
- first weights are normal; the authors' are uniform, by the sides of each matrix.
- the small sizes are trained by AdamW with a warm-up.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.sentences import DocumentSentences
from plume.model.bridge import Bridge
from plume.model.optimizers.adafactor import Adafactor
from plume.model.recipe import Training
from plume.model.schedule import HeldInverseSquareRoot
from plume.nn.block import Norm
from plume.noise.infilling import OneMask
from plume.noise.key_sentences import KeySentences
from plume.objectives.gap_sentences import gap_sentences
from plume.recipes._bart_like import FIXED_POSITIONS, body_config, body_keys
from plume.recipes._sizes import sized, with_small
from plume.recipes.transformer import TRANSFORMER
from plume.text.tokenizers import Unigram

PEGASUS = replace(
    TRANSFORMER,
    name="pegasus",
    title="encoder–decoder that writes a text's key sentences from the rest; made for summaries",
    paper="arXiv:1912.08777",
    tokenizer=Unigram(vocabulary=96103),
    format=replace(TRANSFORMER.format, mask="<mask_1>", segments=(), start="<pad>", order=("<pad>", "</s>", "<mask_1>")),
    embedding=replace(TRANSFORMER.embedding, width=768),
    network=replace(TRANSFORMER.transformer, width=768, depth=12, heads=12, feed_forward=3072, norm=Norm.PRE, attention_dropout=0.1),
    layout=DocumentSentences(least=2),
    objectives=(gap_sentences(),),
    # 1/√max(n, 10,000), over 500,000 steps (estimator_utils.py)
    training=Training(
        length=512, batch=256, peak=0.01, schedule=HeldInverseSquareRoot(hold=0.02), optimizer=Adafactor(), decay=0.0, clip=0.0
    ),
)

# The share of sentences is drawn for each text, their scores are disturbed, and one gap in ten is left as it was (README: mixed, stochastic).
_LARGE = sized(
    PEGASUS,
    "large",
    width=1024,
    depth=16,
    heads=16,
    objectives=(gap_sentences(select=KeySentences(ratio=0.45, lowest=0.15, noise=0.2), corrupt=OneMask(intact=0.1)),),
    training=replace(PEGASUS.training, batch=8192, schedule=HeldInverseSquareRoot(hold=0.0067)),  # over 1,500,000
)
SIZES = with_small(PEGASUS, _LARGE)
PARENT = "transformer"

HF = Bridge(
    model_type="pegasus",
    architectures={"PegasusForConditionalGeneration": ("gap_sentences",), "PegasusModel": ()},
    prefix="model.",
    keys=body_keys(ignored=FIXED_POSITIONS),
    config=body_config(PEGASUS),
)
