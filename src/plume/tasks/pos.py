"""Parts of speech: a tag for each word."""

from plume.tuning.tagging import Kind, Tagging

TASK = Tagging(kind="pos", title="a tag for each word", metric="accuracy", tags=Kind.PLAIN)
