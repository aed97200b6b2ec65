"""How a text's vector is finished: transforms that are fitted once, saved beside a model and obeyed by every `embed`."""
