"""Test rows: what each adds to a score, and how it reads."""
