"""The backend in a folder: sqlite for texts, metadata and words, a file of float32 for vectors, faiss to find among them."""
