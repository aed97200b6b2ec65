"""TinyBERT (arXiv:1909.10351): first what the teacher computes inside, embedding, hidden states and attention scores; then its answers.

Stages are stretches of one run, each with a learning rate that rises and falls: ten epochs of thirteen in the paper's task stage, then three. T is 1
and, as in its code, labels are not looked at.
"""

from plume.compressing.distilling.comparisons import Logits
from plume.compressing.distilling.inner import HiddenDistance, Scores
from plume.compressing.distilling.method import Distillation

_INSIDE = 10 / 13

METHOD = Distillation(
    variant="tinybert",
    comparisons=(HiddenDistance(during=(0.0, _INSIDE)), Scores(during=(0.0, _INSIDE)), Logits(temperature=1.0, during=(_INSIDE, 1.0))),
)
