"""Sequence-level distillation (Kim & Rush, arXiv:1606.07947): the teacher's own answers, texts that it writes above all, are what is learned.

Works for every task, and between any two vocabularies: nothing is compared. --text may be anything that the teacher reads.
"""

from plume.compressing.distilling.comparisons import Gold
from plume.compressing.distilling.feeding import Labelling
from plume.compressing.distilling.method import Distillation

METHOD = Distillation(variant="sequence", comparisons=(Gold(),), labelling=Labelling.TEACHER)
