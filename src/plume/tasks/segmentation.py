"""Word segmentation: where words begin and end in a text that is written without spaces."""

from plume.tuning.kinds.tagging import Tagging, TagKind

TASK = Tagging(kind="segmentation", title="word segmentation", metric="f1", tags=TagKind.WORDS)
