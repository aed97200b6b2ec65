"""Hugging Face directories, in and out. The only place that imports transformers, and only to convert a foreign tokenizer."""
