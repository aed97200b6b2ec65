"""Text as tokens, words, sentences and languages. No torch."""
