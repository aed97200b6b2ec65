"""What is served: one record for each directory that was given, by its name; loaded on demand, unloaded under a memory limit."""
