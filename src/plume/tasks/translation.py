"""Translation: the same text in another language."""

from plume.tuning.writing.text_to_text import TextToText

TASK = TextToText(kind="translation", title="translation", metric="bleu")
