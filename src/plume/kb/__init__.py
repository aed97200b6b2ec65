"""Knowledge bases: entities, names, triples, and where a text mentions them."""
