"""Parts of speech: a tag for each word."""

from plume.tuning.kinds.tagging import Tagging, TagKind

TASK = Tagging(kind="pos", title="part-of-speech tagging", metric="accuracy", tags=TagKind.PLAIN)
