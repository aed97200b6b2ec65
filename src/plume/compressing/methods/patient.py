"""Patient knowledge distillation (arXiv:1908.09355), PKD-skip: the first token's states of every k-th layer, beside answers and labels."""

from plume.compressing.distilling.comparisons import Gold, Logits
from plume.compressing.distilling.inner import Patient
from plume.compressing.distilling.method import Distillation

METHOD = Distillation(variant="patient", comparisons=(Gold(weight=0.5), Logits(weight=0.5, temperature=10.0), Patient(weight=100.0)))
