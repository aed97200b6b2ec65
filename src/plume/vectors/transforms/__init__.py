"""One file for each transform of sentence vectors; the folder is the registry."""
