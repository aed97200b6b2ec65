"""Heads: parameters, loss and decoding, one file a head. Objectives that ask the same thing share one."""
