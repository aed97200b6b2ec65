"""fastText: word2vec whose words are made of their character n-grams, so that a word never seen has a vector too.

Each n-gram of 3 to 6 characters of "<word>" is hashed into a table of rows; a word is the mean of its own row and theirs. Use it where words are
inflected, compounded or misspelt. It costs a few times what word2vec does, and the table of n-grams takes most of the memory and disk: 800 MB
at 100 dimensions for the published two million rows, so the small size has 200,000.

Differs from the paper:

- `</s>`, which fastText puts at the end of each line, is no word here.
- Words are cut as the corpus says (jieba for Chinese), not at white space alone.
- The tiny size has 50 dimensions and 200,000 rows of n-grams, keeps words that occur twice, and reads the text ten times.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.static.recipe import FastText

FASTTEXT = FastText(title="word2vec over character n-grams; vectors for words never seen")
# Chinese words have one to four characters: n-grams from 1 on are then worth setting (--set shortest=1 --set longest=2).
SIZES = {"base": FASTTEXT, "tiny": replace(FASTTEXT, size="tiny", dimension=50, least=2, epochs=10, buckets=200_000)}
