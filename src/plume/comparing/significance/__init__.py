"""What may be said about two models: resampled rows, seed variance, and the interval of a difference."""
