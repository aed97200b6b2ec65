"""Answers of a model as it was pre-trained: clozes, entailment, perplexity."""
