"""BiLSTM student (Tang et al., arXiv:1903.12136): a bidirectional LSTM over word vectors learns the teacher's raw scores by their squared distance.

150 a direction. The vectors are fastText's, trained here on the task's own texts and --text in seconds, or those of --student DIRECTORY; they stay
as they are. The paper alters each row twenty times: --augment masking --augment same-words --augment ngrams.
"""

from plume.compressing.distilling.word_student import OverWordVectors

METHOD = OverWordVectors()
