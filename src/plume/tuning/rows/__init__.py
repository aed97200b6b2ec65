"""Examples as rows of tokens: framing, words, windows, languages, and what is asked about each row."""
