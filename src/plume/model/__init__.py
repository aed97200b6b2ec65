"""Recipes made into networks: build, losses, checkpoints, generation."""
