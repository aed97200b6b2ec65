"""Named entities: which stretches of a text are names, and of what kind."""

from plume.tuning.kinds.tagging import Tagging

TASK = Tagging(kind="ner", title="names in a text and their kinds", metric="f1")
