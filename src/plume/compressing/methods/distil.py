"""Distillation of answers (Hinton et al., arXiv:1503.02531): the student learns the teacher's scores, softened, beside the labels."""

from plume.compressing.distilling.method import Distillation

METHOD = Distillation()
