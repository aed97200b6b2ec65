"""Entities and facts in a network: memories and linkers between its blocks, a second stream beside its tokens, and where a text mentions what."""
