"""Natural language inference: does the second text follow from the first, contradict it, or neither?"""

from plume.tasks.classification import Classification

TASK = Classification(kind="nli", title="natural language inference", metric="accuracy", texts=2)
