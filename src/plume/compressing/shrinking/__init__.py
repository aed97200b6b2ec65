"""A network with something taken out: the same recipe, smaller, and the weights that stay."""
