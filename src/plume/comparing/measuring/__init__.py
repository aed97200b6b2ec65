"""What is measured of a single run: speed, sizes, probes, and its record."""
