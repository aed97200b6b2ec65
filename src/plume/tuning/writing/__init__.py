"""Tasks answered by writing: the ways each kind of model writes, and answers in words."""
