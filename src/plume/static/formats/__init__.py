"""Word vector files of other tools, read and written."""
