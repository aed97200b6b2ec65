"""Search: texts with metadata, vectors and words in one index; found by meaning, by words, or by both.

`index.py` is the face that users see; `backend.py` says what a store of passages must do; `embedded/` is the one that needs no server.
"""
