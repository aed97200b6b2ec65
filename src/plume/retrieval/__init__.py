"""Retrieval: encoders of questions and passages that learn from questions with their passages (DPR), and writers that read what was found (RAG)."""
