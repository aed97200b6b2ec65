"""Layouts: which stretches of the corpus stand together in one row."""
