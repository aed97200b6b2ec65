"""GloVe: word vectors whose products fit the logarithm of how often two words stand near each other.

Co-occurrences are counted once over the whole corpus, weighted by 1/distance, in bounded memory; then a weighted least-squares fit by
AdaGrad, which does not see the text again. Use it where the corpus is large and many vectors are to be made from one count. Settings are those of
glove.c; a small corpus wants a smaller x_max, as the authors' own demo has.

Differs from the paper:

- Windows end with the sentence; those of cooccur.c end with the line.
- Entries are shuffled once over all, where shuffle.c shuffles within what fits into memory.
- The tiny size has 50 dimensions, keeps words that occur twice, and x_max is 10, as in the authors' demo.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.static.recipe import GloVe

GLOVE = GloVe(title="vectors whose products are the logarithms of co-occurrence counts")
SIZES = {"base": GLOVE, "tiny": replace(GLOVE, size="tiny", dimension=50, least=2, x_max=10.0)}
