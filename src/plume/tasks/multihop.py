"""Multi-hop question answering: answers that take several documents, with the graph of how they were found."""

from plume.tuning.hops.answering import MultiHopAnswering

TASK = MultiHopAnswering(kind="multihop", title="questions over several documents", metric="f1")
