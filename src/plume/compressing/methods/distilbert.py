"""DistilBERT (arXiv:1910.01108 §3): every second layer of the teacher, 5 KL at T 2 + 2 of the labels + 1 cosine of the last states.

A model that is not tuned teaches on a corpus, as in the paper; a tuned one on its task, which the paper does not try.
"""

from plume.compressing.distilling.comparisons import Gold, Logits
from plume.compressing.distilling.inner import CosineDistance
from plume.compressing.distilling.method import Distillation

METHOD = Distillation(variant="distilbert", comparisons=(Logits(weight=5.0, temperature=2.0), Gold(weight=2.0), CosineDistance(weight=1.0)))
