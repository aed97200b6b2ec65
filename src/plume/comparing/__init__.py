"""The families compared at an equal budget: the grid of runs, what they measured, and what may be said about it."""
