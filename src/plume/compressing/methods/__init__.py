"""One file for each way to make a model small; the folder is the registry."""
