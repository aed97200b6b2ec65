"""Summarisation: what matters in a text, in few words."""

from plume.tuning.writing.text_to_text import TextToText

TASK = TextToText(kind="summarisation", title="summarisation", metric="rougeL")
