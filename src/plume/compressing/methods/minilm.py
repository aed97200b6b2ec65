"""MiniLM v2 (arXiv:2012.15828): relations among queries, keys and values of one layer; free in the student's depth, width and heads.

Differs from the paper, which distils relations on a corpus and tunes the student afterwards: on a task's rows answers are learned beside.
"""

from plume.compressing.distilling.comparisons import Gold, Logits
from plume.compressing.distilling.inner import Relations
from plume.compressing.distilling.method import Distillation

METHOD = Distillation(variant="minilm", comparisons=(Relations(), Gold(weight=0.5), Logits(weight=0.5, temperature=2.0)))
