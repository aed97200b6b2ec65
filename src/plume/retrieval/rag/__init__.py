"""RAG: a writer that reads what a retriever found; both learn from answers (arXiv:2005.11401)."""
