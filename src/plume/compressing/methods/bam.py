"""BAM (arXiv:1907.04829): several models, each tuned for one task, teach one student all of them; the teachers fade as the labels take over.

The target is λ · label + (1 − λ) · teacher at T 1, λ being the share of the run that is done. Tasks take turns by their sizes to the power 0.75.
"""

from plume.compressing.distilling.comparisons import Gold, Logits, Weighing
from plume.compressing.distilling.many_tasks import ManyTasks

METHOD = ManyTasks(variant="bam", comparisons=(Gold(weighing=Weighing.RISING), Logits(weighing=Weighing.FALLING)))
