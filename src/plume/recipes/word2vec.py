"""word2vec: a vector for each word, learned by predicting the words around it.

Skip-gram (each word around, alone) or CBOW (all of them together), with negative sampling or a hierarchical softmax; frequent words are
thinned out first, windows shrink at random, the rate falls. One vector a word, whatever its sentence: it trains in seconds, says which words
are alike, and is the baseline that a network must beat. Published vectors were trained on billions of words; settings are word2vec.c's.

Differs from the paper:

- A sentence ends where the text's does; word2vec.c knows line ends only. Both cut at 1,000 words. `</s>` is no word here.
- Noise words are drawn from their exact shares, not from a table of 1e8 places; the rate falls steadily, not every 10,000 words.
- Random numbers are a function of (seed, epoch, piece): one thread gives the same vectors twice.
- The tiny size has 50 dimensions, keeps words that occur twice, and reads the text ten times.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.static.recipe import Word2Vec

WORD2VEC = Word2Vec(title="a vector a word, from the words around it; skip-gram or CBOW")
# A small corpus has fewer words that occur five times, and is read more often.
SIZES = {"base": WORD2VEC, "tiny": replace(WORD2VEC, size="tiny", dimension=50, least=2, epochs=10)}
