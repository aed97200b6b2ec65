"""Translation: the same text in another language."""

from plume.tuning.writing.text_to_text import TextToText

TASK = TextToText(kind="translation", title="a text in another language", metric="bleu")
