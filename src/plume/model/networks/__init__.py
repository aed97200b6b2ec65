"""The networks that an assembly builds, one file a kind."""
