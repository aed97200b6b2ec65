"""Text to text: any text to write for a text that is read."""

from plume.tuning.writing.text_to_text import TextToText

TASK = TextToText(kind="text-to-text", title="text-to-text generation", metric="chrf")
