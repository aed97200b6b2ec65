"""Make a model small: distil, replace, prune, quantise. A compression goes from model directories to a model directory."""
