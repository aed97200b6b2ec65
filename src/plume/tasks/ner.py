"""Named entities: which stretches of a text are names, and of what kind."""

from plume.tuning.kinds.tagging import Tagging

TASK = Tagging(kind="ner", title="named entity recognition", metric="f1")
