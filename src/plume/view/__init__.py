"""Looking inside a model: pages that open offline, and show themselves in a notebook."""
