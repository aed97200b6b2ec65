"""Labelled files of every kind, read as examples."""
