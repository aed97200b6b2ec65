"""Dialogue: what an assistant says next in a conversation."""

from plume.tuning.writing.dialogue import Dialogue

TASK = Dialogue(kind="dialogue", title="dialogue", metric="chrf")
