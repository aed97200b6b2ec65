"""What a model knows without having been asked to learn it: facts as clozes, by relation (LAMA, arXiv:1909.01066)."""
