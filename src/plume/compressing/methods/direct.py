"""Control: the same student on the labels alone, with the same start, rows and number of steps, and no teacher."""

from plume.compressing.distilling.method import Distillation

METHOD = Distillation().as_control()
