"""Filters: read from text to a tree of conditions, which each backend turns into its own language. No text of a user reaches a database."""
