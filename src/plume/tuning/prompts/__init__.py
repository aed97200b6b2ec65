"""Prompts: a template around the texts, words for the labels, and the model's own head that says how likely each word is in the blank."""
