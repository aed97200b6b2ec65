"""Training: one loop for every family."""
