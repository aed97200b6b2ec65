"""Heads and neurons taken out of a network: what each matters, which stay, and what is learned meanwhile."""
