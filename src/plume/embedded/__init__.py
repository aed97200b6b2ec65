"""Text and tasks to try plume on with nothing at hand."""
