"""Born-again networks (arXiv:1805.04770): a student as large as its teacher, and often better; each generation teaches the next.

It starts from the pre-trained model that the teacher was tuned from, where that is still there (as in BAM, arXiv:1907.04829 §3.1); not smaller, so
a teacher to distil afterwards rather than an end.
"""

from plume.compressing.distilling.generations import BornAgain

METHOD = BornAgain()
