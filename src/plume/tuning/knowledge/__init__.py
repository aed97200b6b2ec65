"""Questions to a knowledge base: what a question names, which path of relations it asks for, and where that leads."""
