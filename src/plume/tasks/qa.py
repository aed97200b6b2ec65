"""Extractive question answering: where in a text the answer to a question stands, or that it does not."""

from plume.tuning.kinds.answering import QuestionAnswering

TASK = QuestionAnswering(kind="qa", title="extractive question answering", metric="f1")
