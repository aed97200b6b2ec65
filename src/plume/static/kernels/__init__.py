"""The compiled loops of word2vec, GloVe and fastText."""
