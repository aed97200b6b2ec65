"""Texts of any length through short rows: they are cut into blocks, a judge says which matter, and only those are read together (CogLTX)."""
