"""Test rows: what all models are scored on, and where they are divided."""
