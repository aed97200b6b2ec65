"""Questions to a knowledge base: the thing that is asked about, and the path of relations to the answer."""

from plume.tuning.knowledge.task import KnowledgeQuestions

TASK = KnowledgeQuestions(kind="kbqa", title="questions to a knowledge base", metric="f1")
