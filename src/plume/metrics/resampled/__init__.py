"""The same measures as sums over rows, so that a score on thousands of resamples is one matrix product."""
