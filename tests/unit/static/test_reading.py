import numpy as np

from plume.data.corpus import Corpus
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.static.reading import WORDS, read_text, read_vocabulary
from plume.text.word_level import WordLevel
from plume.text.words import Words


def test_text_without_sentence_ends_is_read_whole_in_word2vec_s_thousands(tmp_path):
    """What was cut for families that work on sentences is one to word vectors; sentences that end stay apart."""
    endless = " ".join(f"word{number % 50}" for number in range(5_000))
    (tmp_path / "a.txt").write_text(f"{endless}\n\nOne ends here. Two ends here.\n")
    corpus = Corpus(tmp_path / "a.txt")
    tokenizer = train_tokenizer(corpus, WordLevel(vocabulary=200, lowercase=True), WORDS)
    stores = build_stores(corpus, tokenizer, words=Words.SPACES, cache=tmp_path / "cache")
    text = read_text(stores.train, read_vocabulary(stores.train, tokenizer), tokenizer, tmp_path / "text.bin")
    held_out = len(stores.held_out.tokens) - 1
    assert held_out == 5_000 - 32 * 152  # the last pieces of the endless line
    assert np.diff(text.start).tolist() == [1_000] * 4 + [1_000 - held_out, 4, 4]
