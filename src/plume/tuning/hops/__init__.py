"""Questions whose answer takes several documents: a graph of pages that grows hop by hop, and is the explanation (CogQA)."""
