"""The tasks, one file each. A file name is what users type."""
