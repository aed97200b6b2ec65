"""Static word vectors: word2vec, GloVe, fastText. One vector a word, whatever stands around it; trained by compiled kernels."""
