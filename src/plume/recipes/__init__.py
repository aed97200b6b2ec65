"""The families, one file each: the declaration, its sizes, its bridge to Hugging Face. A file name is what users type."""
