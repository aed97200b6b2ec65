"""Ensemble (Hinton et al., arXiv:1503.02531 §4): several teachers of one task, of any families, teach one student by the mean of their scores."""

from plume.compressing.distilling.method import Distillation

METHOD = Distillation(variant="ensemble")
